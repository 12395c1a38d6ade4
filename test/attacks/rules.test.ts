/** Rules of custom resources as an attacker would write them: each ends within its budget. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { trustStructural } from "#api/structural/structural.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import { definitionsResource } from "#extension/definitions/definition.ts";
import { rulesOf } from "#extension/definitions/rules/rules.ts";
import { findingsOf } from "#extension/expressions/written-expressions.ts";
import { cronTabDefinition } from "#extension/testing/plane.ts";

const int = { type: "integer" };
const list = { type: "array", items: int };
const rules = (...texts: readonly string[]): JsonObject => ({
  "x-kubernetes-validations": texts.map((rule) => ({ rule })),
});
const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...rest,
});

function messages(schema: JsonObject, value: JsonObject): readonly string[] {
  const { check } = rulesOf(trustStructural(schema));
  const { errors } = check(value as unknown as AnyObject, undefined);
  return errors.map(({ message }) => message);
}

const strategy = strategyFor(definitionsResource.group, definitionsResource.resource);

function refusals(schema: JsonObject): readonly string[] {
  const definition = cronTabDefinition({ schema: { openAPIV3Schema: schema } });
  const found = findingsOf(
    definitionsResource,
    strategy.prepareForCreate(definition),
    undefined,
    true,
  );
  return found
    .filter(({ field }) => field.includes("openAPIV3Schema"))
    .map(({ message }) => message);
}

test("a rule that never ends is stopped at the budget of a call, and no other is evaluated", () => {
  const endless = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
  const schema = object({ a: { ...list, ...rules(endless, "false") } });
  const [first = "", ...more] = messages(schema, { a: Array.from({ length: 1000 }, () => 1) });
  assert.match(first, /actual cost limit exceeded.*no further validation rules will be run/);
  assert.deepEqual(more, []);
});

test("many rules that are each cheap enough are stopped at the budget of the object", () => {
  const costly = "self.all(a, self.all(b, a + b >= 0))";
  const many = Array.from({ length: 100 }, () => costly);
  const schema = object({ a: { ...list, ...rules(...many) } });
  const found = messages(schema, { a: Array.from({ length: 250 }, () => 1) });
  assert.deepEqual(found.map((one) => /running out of cost budget/.test(one)), [true]); // prettier-ignore
});

test("an object of a hundred thousand items is judged item by item within the budget", () => {
  const items = { ...int, ...rules("self >= 0") };
  const value = { a: Array.from({ length: 100_000 }, () => 1) };
  assert.deepEqual(messages(object({ a: { type: "array", items } }), value), []);
});

test("ten thousand rules are compiled, and more text than a definition may have is refused unread", () => {
  const many = rules(...Array.from({ length: 10_000 }, (_, n) => `self > ${n - 10_001}`));
  assert.deepEqual(refusals(object({ a: { ...int, ...many } })), []);
  const long = rules(`self > 0 || ${"self > 1 || ".repeat(50_000)} true`);
  const found = refusals(object({ a: { ...int, ...long } }));
  assert.match(
    found.join(),
    /^Forbidden: expressions of x-kubernetes-validations may not have more than /,
  );
});

test("names of JavaScript's own are names like others", () => {
  const properties = JSON.parse(
    `{"__proto__": ${JSON.stringify({ ...int, ...rules("self > 1") })}}`,
  );
  const hostile = { ...object({ constructor: { ...int, ...rules("self > 1") } }) };
  const schema = object({ a: { type: "object", properties }, b: hostile });
  assert.deepEqual(refusals(schema), []);
  const value = JSON.parse('{"a": {"__proto__": 1}, "b": {"constructor": 1}}');
  assert.equal(messages(schema, value).length, 2);
  assert.deepEqual(messages(schema, { a: {}, b: {} }), []);
  const asked = object({ a: object({ x: int }, rules("has(self.__proto__)", "self.constructor == 1")) }); // prettier-ignore
  assert.equal(refusals(asked).filter((one) => one.includes("compilation failed")).length, 2);
});
