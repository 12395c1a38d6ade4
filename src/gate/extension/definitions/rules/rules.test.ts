/** Rules by example; a stock server's answers to many more are in test/differential, suite `rules`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject, JsonObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { trustStructural } from "#api/structural/structural.ts";
import { ask } from "#apiserver/testing/plane.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabs,
  define,
  definitionsPath,
  withCustomPlane,
} from "../../testing/plane.ts";
import { definitionRuleErrors } from "./definition-rules.ts";
import { evaluateRules } from "./evaluate.ts";
import { rulesOf } from "./rules.ts";
import { ruleTree } from "./tree.ts";

const int = { type: "integer" };
const text = { type: "string", maxLength: 20 };
const rules = (...list: readonly (string | JsonObject)[]): JsonObject => ({
  "x-kubernetes-validations": list.map((one) => (typeof one === "string" ? { rule: one } : one)),
});
const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...rest,
});

interface Found {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

function judge(schema: JsonObject, value: JsonObject, old?: JsonObject): Found {
  const { check } = rulesOf(trustStructural(schema));
  const found = check(value as unknown as AnyObject, old as unknown as AnyObject | undefined);
  const errors = found.errors.map((error) => `${error.field}: ${error.message}`);
  return { errors, warnings: found.warnings };
}

function definitionOf(schema: JsonObject): AnyObject {
  return cronTabDefinition({ schema: { openAPIV3Schema: schema } });
}

/** @param known what else was found. */
function findingsOf(
  schema: JsonObject,
  old?: JsonObject,
  known: readonly FieldError[] = [],
): readonly FieldError[] {
  const before = old === undefined ? undefined : definitionOf(old);
  return definitionRuleErrors(definitionOf(schema), before, known);
}

function refusals(schema: JsonObject, old?: JsonObject): readonly string[] {
  return findingsOf(schema, old).map((error) => `${error.field}: ${error.message}`);
}

describe("rules about objects", () => {
  test("a failed rule is told with its text, its message, or what its expression makes", () => {
    const schema = object({
      a: { ...int, ...rules("self > 1") },
      b: { ...int, ...rules({ rule: "self > 1", message: " too small " }) },
      c: { ...int, ...rules({ rule: "self > 1", messageExpression: "self == 1 ? 'one' : ''" }) },
    });
    assert.deepEqual(judge(schema, { a: 1, b: 1, c: 1 }).errors, [
      "a: Invalid value: 1: failed rule: self > 1",
      "b: Invalid value: 1: too small",
      "c: Invalid value: 1: one",
    ]);
    assert.deepEqual(judge(schema, { c: 0 }).errors, [
      "c: Invalid value: 0: failed rule: self > 1",
    ]);
  });

  test("an error of a rule is a finding of its own", () => {
    const schema = object({ a: { ...int, ...rules("1 / self > 0") } });
    const [error = ""] = judge(schema, { a: 0 }).errors;
    assert.match(
      error,
      /^a: Invalid value: "integer": div.* by zero evaluating rule: 1 \/ self > 0$/,
    );
  });

  test("reason and fieldPath say which finding it is, and where", () => {
    const refused = { rule: "self.a < 5", fieldPath: ".a", reason: "FieldValueForbidden" };
    const schema = object({ spec: object({ a: int }, rules({ ...refused, message: "no" })) });
    assert.deepEqual(judge(schema, { spec: { a: 5 } }).errors, ["spec.a: Forbidden: no"]);
  });

  test("transition rules need an old value; items of a keyed list find theirs by key", () => {
    const item = object({ k: text, v: int }, rules("self.v >= oldSelf.v"));
    const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
    const schema = object({ l: { type: "array", items: item, ...keyed } });
    const old = { l: [{ k: "a", v: 5 }] };
    assert.deepEqual(judge(schema, { l: [{ k: "a", v: 1 }] }).errors, []);
    const next = { l: [{ k: "b", v: 1 }, { k: "a", v: 4 }] }; // prettier-ignore
    assert.deepEqual(judge(schema, next, old).errors, [
      "l[1]: Invalid value: failed rule: self.v >= oldSelf.v",
    ]);
  });

  test("with optionalOldSelf a rule is evaluated without an old value too", () => {
    const rule = { rule: "oldSelf.hasValue() || self == 1", optionalOldSelf: true };
    const schema = object({ a: { ...int, ...rules(rule) } });
    assert.equal(judge(schema, { a: 2 }).errors.length, 1);
    assert.deepEqual(judge(schema, { a: 2 }, { a: 3 }).errors, []);
  });

  test("a value that was as wrong before is warned of, and does not hold the write back", () => {
    const schema = object({ a: { ...int, ...rules("self > 1") }, b: int });
    const found = judge(schema, { a: 1, b: 2 }, { a: 1, b: 1 });
    assert.deepEqual(found.errors, []);
    assert.deepEqual(found.warnings, ["a: Invalid value: 1: failed rule: self > 1"]);
    assert.equal(judge(schema, { a: 0 }, { a: 1 }).errors.length, 1);
  });

  test("null is not judged, and neither is a field whose type expressions cannot see", () => {
    const free = { "x-kubernetes-preserve-unknown-fields": true, ...rules("false") };
    const schema = object({ a: { ...int, nullable: true, ...rules("false") }, free });
    assert.deepEqual(judge(schema, { a: null, free: 1 }).errors, []);
  });

  test("rules of allOf are evaluated where another rule is declared", () => {
    const a = { ...int, allOf: [rules("self != 3")], ...rules("self != 4") };
    assert.deepEqual(judge(object({ a }), { a: 3 }).errors, [
      "a: Invalid value: 3: failed rule: self != 3",
    ]);
  });

  test("when the budget is spent, the rest is not evaluated and the object is refused", () => {
    const schema = object({ a: { ...int, ...rules("self < 9", "self < 8", "self < 7") } });
    const level = ruleTree(trustStructural(schema), true);
    assert.ok(level !== undefined);
    const { errors, costLeft } = evaluateRules(level, { a: 8 }, undefined, { costLeft: 3 });
    assert.equal(costLeft, -1);
    assert.deepEqual(errors.map(({ message }) => message), [
      'Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
    ]); // prettier-ignore
  });
});

describe("rules of definitions", () => {
  const at = "spec.validation.openAPIV3Schema.properties[a]";

  test("what does not compile is refused with its place", () => {
    const [error = ""] = refusals(object({ a: { ...text, ...rules("self.b") } }));
    assert.ok(
      error.startsWith(`${at}.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.b"`),
    );
    assert.match(error, /compilation failed: ERROR: <input>:1:5: /);
  });

  test("a rule is a bool and a message a string", () => {
    const wrong = { rule: "true", messageExpression: "1" };
    const found = refusals(object({ a: { ...text, ...rules("self", wrong) } }));
    assert.match(found[0] ?? "", /: cel expression must evaluate to a bool$/);
    assert.match(found[1] ?? "", /: messageExpression must evaluate to a string$/);
  });

  test("oldSelf may not stand where old and new cannot be told apart", () => {
    const list = { type: "array", maxItems: 2, items: { ...int, ...rules("self == oldSelf") } };
    assert.deepEqual(refusals(object({ a: list })), [
      `${at}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${at}`,
    ]);
  });

  const endless = { type: "array", items: { type: "string" } };
  const expensive = object({ a: { ...endless, ...rules("self.all(x, x.contains('abc'))") } });

  test("what may cost too much is refused, unless it is stored already", () => {
    const [error = ""] = refusals(expensive);
    assert.match(error, /^.*\.rule: Forbidden: estimated rule cost exceeds budget by factor of /);
    const again = refusals(expensive, expensive);
    assert.ok(again.every((one) => !one.includes("estimated rule cost exceeds")));
  });

  test("a default obeys the rules it stands under", () => {
    const found = refusals(object({ a: { ...int, default: 1, ...rules("self > 1") } }));
    assert.deepEqual(found, [`${at}.default: Invalid value: 1: failed rule: self > 1`]);
  });

  test("rules are not looked at where the schema itself is wrong", () => {
    const wrong = { reason: "FieldValueInvalid", field: `${at}.type`, message: "" } as const;
    const schema = object({
      a: { ...text, ...rules("self.b") },
      b: { ...text, ...rules("self.c") },
    });
    const found = findingsOf(schema, undefined, [wrong]);
    assert.deepEqual(
      found.map(({ field }) => field),
      ["spec.validation.openAPIV3Schema.properties[b].x-kubernetes-validations[0].rule"],
    );
  });
});

test("a served definition judges its objects, and tells what it lets pass", async () => {
  await withCustomPlane(async (plane) => {
    const spec = object({ cronSpec: text, replicas: { ...int, ...rules("self < 5") } });
    await define(plane, definitionOf(object({ spec })));
    const good = { cronSpec: "x", replicas: 1 };
    assert.equal((await ask(plane, "POST", cronTabs, { body: cronTab("a", good) })).status, 201);
    const bad = await ask(plane, "POST", cronTabs, { body: cronTab("b", { replicas: 5 }) });
    assert.equal(bad.status, 422);
    assert.match(bad.text, /spec\.replicas: Invalid value: 5: failed rule: self < 5/);
    const wrong = definitionOf(object({ spec: object({}, rules("self.nothing")) }));
    assert.equal((await ask(plane, "POST", definitionsPath, { body: wrong })).status, 422);
  });
});
