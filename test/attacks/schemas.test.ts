/**
 * Hostile definitions and custom objects: each is refused, or accepted, within the work a schema may take.
 * The limits of a whole object (depth, parts) are the rim's and come first; these get past them.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { objectLimits } from "#api/json/object-limits.ts";
import { applyStructuralDefaults } from "#api/structural/default.ts";
import { prune } from "#api/structural/prune.ts";
import { compileStructural, trustStructural } from "#api/structural/structural.ts";
import { validateCustomObject } from "#api/structural/validate.ts";
import { validateDefinition } from "#api/validation/definitions.ts";

const string: JsonObject = { type: "string" };

function definitionOf(schema: JsonObject): JsonObject {
  return {
    metadata: { name: "as.x.example" },
    spec: {
      group: "x.example",
      scope: "Cluster",
      names: { plural: "as", singular: "a", kind: "A", listKind: "AList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
    status: { storedVersions: ["v1"] },
  };
}

function nested(depth: number, wrap: (inner: JsonObject) => JsonObject): JsonObject {
  let schema: JsonObject = string;
  for (let at = 0; at < depth; at++) schema = wrap(schema);
  return schema;
}

const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...rest,
});

/** Half of the levels a decoder lets through are names of properties. */
const depthMax = Math.floor(objectLimits.depthMax / 2);

describe("hostile schemas", () => {
  test("as deep as a request may be, a schema is compiled, and its objects are walked", () => {
    const schema = nested(depthMax, (inner) => object({ a: inner }));
    assert.deepEqual(validateDefinition(definitionOf(schema)), []);
    let value: JsonValue = "x";
    for (let at = 0; at < depthMax; at++) value = { a: value, unknown: 1 };
    const node = trustStructural(schema);
    const pruned = prune(value as JsonObject, node, false);
    assert.equal(pruned.unknownFields.length, depthMax);
    assert.deepEqual(validateCustomObject(pruned.object, node), []);
    assert.equal(applyStructuralDefaults(pruned.object, node), pruned.object);
  });

  test("a schema of as many properties as a request may hold is walked once", () => {
    const properties: { [name: string]: JsonObject } = {};
    for (let at = 0; at < objectLimits.keysMax; at++) properties[`p${at}`] = string;
    const schema = object(properties);
    assert.deepEqual(validateDefinition(definitionOf(schema)), []);
    const wrong = Object.fromEntries(Object.keys(properties).map((name) => [name, 1]));
    const found = validateCustomObject(wrong, trustStructural(schema));
    assert.ok(found.length >= 1_000 && found.length <= 2_000, `${found.length} findings`);
  });

  test("alternatives that multiply with the items of a list end with a finding", () => {
    const clause: JsonObject = { not: { minLength: 1 }, pattern: "z" };
    const anyOf = Array.from({ length: 1_000 }, () => clause);
    const schema = object({ l: { type: "array", items: { type: "string", anyOf } } });
    assert.deepEqual(validateDefinition(definitionOf(schema)), []);
    const node = trustStructural(schema);
    const list = Array.from({ length: 30_000 }, () => "x");
    const found = validateCustomObject({ l: list }, node);
    assert.equal(found.length, 1);
    assert.match(found[0]?.message ?? "", /takes more work to validate than is allowed/);
  });

  test("a long text beside a long pattern counts as the work it is", () => {
    const pattern = `(${"a?".repeat(400)}){20}b`;
    const schema = object({ a: { type: "array", items: { type: "string", pattern } } });
    const node = compileStructural(schema).structural;
    if (node === undefined) return; // refused at once is as good
    const found = validateCustomObject({ a: Array(40).fill("a".repeat(65_536)) }, node);
    assert.match(found[0]?.message ?? "", /takes more work to validate than is allowed/);
  });

  test("a pattern that is too long, and too many patterns, are refused unread", () => {
    const long = object({ a: { type: "string", pattern: "a".repeat(17_000) } });
    const [tooLong] = validateDefinition(definitionOf(long));
    assert.match(tooLong?.message ?? "", /expression too large/);
    const many: { [name: string]: JsonObject } = {};
    for (let at = 0; at < 2_000; at++) {
      many[`p${at}`] = { type: "string", pattern: `${at}${"(a|b)".repeat(40)}` };
    }
    const found = validateDefinition(definitionOf(object(many)));
    assert.match(found[0]?.message ?? "", /the patterns of one schema have more than 49152/);
  });

  test("nested quantifiers and nests of groups are Go's to refuse, and are", () => {
    for (const pattern of ["(((a{100}){100}){100})", `${"(".repeat(2_000)}${")".repeat(2_000)}`]) {
      const [found] = validateDefinition(definitionOf(object({ a: { type: "string", pattern } })));
      assert.match(found?.message ?? "", /must be a valid regular expression, but isn't/);
    }
  });

  test("names of the prototype are names like any other", () => {
    for (const name of ["constructor", "toString", "hasOwnProperty"]) {
      const node = trustStructural(object({ a: string }));
      assert.deepEqual(prune({ [name]: 1 }, node, false).unknownFields, [name]);
      const required = trustStructural(object({}, { required: [name] }));
      assert.equal(validateCustomObject({}, required).length, 1);
    }
    const own = JSON.parse('{"__proto__": {"b": 1}, "a": "x"}') as JsonObject;
    const pruned = prune(own, trustStructural(object({ a: string })), false);
    assert.deepEqual(pruned.unknownFields, ["__proto__"]);
    assert.equal(Object.getPrototypeOf(pruned.object), Object.prototype);
  });

  test("schemas of wrong types below items do not fail the check", () => {
    for (const items of [5, "x", [5], { type: 5 }, { required: "x", anyOf: 1 }]) {
      const schema = object({ a: { type: "array", items: items as JsonValue } });
      assert.ok(validateDefinition(definitionOf(schema)).length > 0, JSON.stringify(items));
    }
  });

  test("defaults as large as the schema, at every level, share one allowance of work", () => {
    let value: JsonValue = Array(500).fill({});
    let schema: JsonObject = { type: "array", items: { type: "object" }, default: value };
    for (let at = 0; at < 50; at++) {
      value = { a: value };
      schema = object(
        { a: schema },
        { default: value, anyOf: Array(200).fill({ minProperties: 1 }) },
      );
    }
    const found = validateDefinition(definitionOf(object({ spec: schema })));
    assert.ok(found.length <= 1_000);
  });

  test("findings about a huge object are as many as one answer holds", () => {
    const item = object({ a: { type: "integer" } }, { required: ["b"] });
    const node = trustStructural(object({ l: { type: "array", items: item } }));
    const list = Array.from({ length: 20_000 }, () => ({ a: "x" }));
    assert.ok(validateCustomObject({ l: list }, node).length <= 2_000);
  });
});
