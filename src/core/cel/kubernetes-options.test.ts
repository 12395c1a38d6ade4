/**
 * The options of Kubernetes' CEL environment, one by one, as upstream's environment/base.go and environment.go list
 * them by version. New expressions have those of 1.35, stored ones those of 1.36: `since` above 1.35 would be seen here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Environment } from "./environment.ts";
import { estimateCost } from "./estimate.ts";
import { jsonValue } from "./json-values.ts";
import { schemaSizes } from "./schema-sizes.ts";
import { type Schema, schemaNode, schemaTypes } from "./schema-types.ts";

/** Every keyword of the language as a field, and a field whose name has to be escaped. */
const keywords =
  `as break const continue else for function if import let loop package namespace return
  var void while`.split(/\s+/);
const text: Schema = { type: "string" };
const properties = Object.fromEntries([...keywords, "a-b", "__x__"].map((name) => [name, text]));
const object: Schema = { type: "object", properties };
const node = schemaNode(
  { type: "object", properties: { x: object, l: listOf(object) } },
  "selfType",
);
const values = Object.fromEntries(Object.keys(properties).map((name) => [name, `of ${name}`]));
const self = { x: values, l: [values, {}] };

function listOf(items: Schema): Schema {
  return { type: "array", items };
}

interface Option {
  /** As upstream names it. */
  readonly name: string;
  readonly since: number;
  readonly expression: string;
  /** What it evaluates to; a text: the error of the compilation. */
  readonly gives: boolean | string;
}

const options: readonly Option[] = [
  {
    name: "HomogeneousAggregateLiterals",
    since: 0,
    expression: "[1, 'a'].size() == 2",
    gives: "expected type 'int' but found 'string'",
  },
  {
    name: "DefaultUTCTimeZone",
    since: 0,
    expression: "timestamp('2020-01-01T00:00:00Z').getHours() == 0",
    gives: true,
  },
  { name: "URLs", since: 0, expression: "isURL('https://a')", gives: true },
  { name: "Regex", since: 0, expression: "'ab'.find('b') == 'b'", gives: true },
  { name: "Lists", since: 0, expression: "[1, 2].isSorted()", gives: true },
  { name: "Strings 0", since: 0, expression: "'a,b'.split(',') == ['a', 'b']", gives: true },
  { name: "CrossTypeNumericComparisons", since: 28, expression: "1 < 1.5", gives: true },
  { name: "OptionalTypes", since: 28, expression: "!optional.none().hasValue()", gives: true },
  { name: "OptionalTypes, selects", since: 28, expression: "self.?x.hasValue()", gives: true },
  { name: "Quantity", since: 28, expression: "isQuantity('1Ki')", gives: true },
  {
    name: "ValidateDurationLiterals",
    since: 29,
    expression: "duration('x') == duration('1s')",
    gives: "invalid duration argument",
  },
  {
    name: "ValidateTimestampLiterals",
    since: 29,
    expression: "timestamp('x') == timestamp('y')",
    gives: "invalid timestamp argument",
  },
  {
    name: "ValidateRegexLiterals",
    since: 29,
    expression: "'a'.matches('(')",
    gives: "invalid matches argument",
  },
  { name: "Strings 2, format", since: 29, expression: "'%d'.format([1]) == '1'", gives: true },
  { name: "Strings 2, quote", since: 29, expression: "strings.quote('a') == '\"a\"'", gives: true },
  {
    name: "Strings 3 is not on",
    since: 0,
    expression: "'ab'.reverse() == 'ba'",
    gives: "found no matching overload for 'reverse'",
  },
  { name: "Sets", since: 29, expression: "sets.contains([1, 2], [1])", gives: true },
  { name: "IP", since: 30, expression: "isIP('1.2.3.4')", gives: true },
  { name: "CIDR", since: 30, expression: "isCIDR('1.2.3.0/24')", gives: true },
  {
    name: "Format",
    since: 31,
    expression: "!format.dns1123Label().validate('a').hasValue()",
    gives: true,
  },
  {
    name: "SetRecognizeKeywordAsFieldName",
    since: 31,
    expression: "self.x.namespace == 'of namespace'",
    gives: true,
  },
  {
    name: "TwoVarComprehensions",
    since: 32,
    expression: "[1, 2].all(index, value, value == index + 1)",
    gives: true,
  },
  { name: "Semver 1", since: 33, expression: "isSemver('v1.0', true)", gives: true },
  { name: "Lists 3", since: 34, expression: "[[1], [2]].flatten() == [1, 2]", gives: true },
  { name: "Lists 3, range", since: 34, expression: "lists.range(2) == [0, 1]", gives: true },
  {
    name: "EnableIdentifierEscapeSyntax is not on",
    since: 0,
    expression: "self.x.`a-b` == 'of a-b'",
    gives: "unsupported syntax: '`'",
  },
  {
    name: "math is not on",
    since: 0,
    expression: "math.greatest(1, 2) == 2",
    gives: "undeclared reference to 'math'",
  },
  {
    name: "encoders are not on",
    since: 0,
    expression: "base64.encode(b'a') == ''",
    gives: "undeclared reference to 'base64'",
  },
];

function environment(minor: number): Environment {
  assert.ok(node !== undefined);
  const variables = new Map([["self", node.type]]);
  return new Environment({ variables, types: schemaTypes([node]), minor });
}

function evaluated(expression: string, minor: number): unknown {
  const compiled = environment(minor).compile(expression);
  if (compiled.kind === "errors") return compiled.message;
  assert.ok(node !== undefined);
  const outcome = compiled.program.evaluate(new Map([["self", jsonValue(self, node)]]));
  return outcome.kind === "value" ? outcome.value : outcome.message;
}

for (const { name, since, expression, gives } of options) {
  test(`${name} is as in Kubernetes`, () => {
    assert.ok(since <= 35, "new expressions may not use it yet");
    for (const minor of [35, 36]) {
      const answer = evaluated(expression, minor);
      if (typeof gives === "string") assert.ok(String(answer).includes(gives), String(answer));
      else assert.equal(answer, gives, String(answer));
    }
  });
}

const selects: readonly (readonly [expression: string, gives: unknown])[] = [
  ...keywords.flatMap((name): (readonly [string, unknown])[] => [
    [`self.x.${name} == 'of ${name}'`, true],
    [`self.x.__${name}__ == self.x.${name}`, true],
    [`has(self.x.${name}) && !has(self.l[1].${name})`, true],
    [`self.l.exists(e, has(e.${name}) && e.${name} == 'of ${name}')`, true],
    [`self.x.?${name}.hasValue() && !self.l[1].?${name}.hasValue()`, true],
  ]),
  ["self.x.a__dash__b == 'of a-b'", true],
  ["self.x.__underscores__x__underscores__ == 'of __x__'", true],
];

test("a field that is called as a keyword is read by its keyword and by its escaped name", () => {
  for (const [expression, gives] of selects) {
    assert.equal(evaluated(expression, 35), gives, expression);
  }
});

test("a keyword is no variable and no function", () => {
  for (const name of keywords) {
    assert.match(
      String(evaluated(`${name} == 'a'`, 35)),
      new RegExp(`reserved identifier: ${name}`),
    );
    assert.match(String(evaluated(`${name}(1)`, 35)), new RegExp(`reserved identifier: ${name}`));
  }
});

/** Upstream looks sizes up by the escaped names alone. */
test("a field read by its keyword has no declared size", () => {
  assert.ok(node !== undefined);
  const root = node;
  const costs = ["__namespace__", "namespace"].map((name) => {
    const compiled = environment(35).compile(`self.x.${name}.contains('a')`);
    assert.ok(compiled.kind === "program");
    return estimateCost(compiled.program.checked, schemaSizes(root)).max;
  });
  assert.deepEqual(
    costs.map((max) => max > 1e15),
    [false, true],
    costs.join(),
  );
});
