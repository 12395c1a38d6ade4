/** Structural schemas by example: what is compiled, pruned, filled and coerced. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../object.ts";
import { structuralApplyTypes } from "./apply-types.ts";
import { coerceMetadata } from "./coerce.ts";
import { applyStructuralDefaults, dropNulls } from "./default.ts";
import { formatCheck } from "./formats.ts";
import { goFloat } from "./go-number.ts";
import { definitionWarnings } from "../validation/definitions.ts";
import { compilePattern } from "./patterns.ts";
import { prune } from "./prune.ts";
import {
  compileStructural,
  nonStructuralCondition,
  type Structural,
  trustStructural,
} from "./structural.ts";
import { validateCustomObject, validateCustomStatus } from "./validate.ts";

const string = { type: "string" };
const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...rest,
});
const node = (properties: JsonObject, rest: JsonObject = {}): Structural =>
  trustStructural(object(properties, rest));
const preserved = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const embedded = { ...preserved, "x-kubernetes-embedded-resource": true };

test("a schema that is not structural compiles to findings with the path it was given", () => {
  const { structural, errors } = compileStructural(object({ a: {} }), "spec.x");
  assert.equal(structural, undefined);
  assert.deepEqual(errors, [
    {
      reason: "FieldValueRequired",
      field: "spec.x.properties[a].type",
      message: "Required value: must not be empty for specified object fields",
    },
  ]);
});

test("two asks for one property give one node", () => {
  const root = node({ a: string });
  assert.equal(root.property("a"), root.property("a"));
  assert.equal(root.property("constructor"), undefined);
});

test("fields below preserved ones are kept, specified ones among them are pruned", () => {
  const root = node({ free: { ...preserved, properties: { known: object({ a: string }) } } });
  const value = { free: { x: { y: 1 }, known: { a: "1", b: 2 } }, z: 1 };
  const { object: kept, unknownFields } = prune(value, root, true);
  assert.deepEqual(kept, { free: { x: { y: 1 }, known: { a: "1" } } });
  assert.deepEqual(unknownFields, ["free.known.b", "z"]);
});

test("values of any kind below additionalProperties: true keep no fields", () => {
  const root = node({ m: { type: "object", additionalProperties: true } });
  assert.deepEqual(prune({ m: { a: 1, b: { c: 1 } } }, root, true).object, { m: { a: 1, b: {} } });
});

test("apiVersion, kind and metadata of a resource are never pruned", () => {
  const value = { apiVersion: "v1", kind: "A", metadata: { name: "a", x: 1 }, z: 1 };
  const { object: kept } = prune(value, node({}), true);
  assert.deepEqual(kept, { apiVersion: "v1", kind: "A", metadata: { name: "a", x: 1 } });
});

test("an object with nothing to prune or to fill is returned as it is", () => {
  const value = { a: "x" };
  assert.equal(prune(value, node({ a: string }), true).object, value);
  assert.equal(applyStructuralDefaults(value, node({ a: { ...string, default: "y" } })), value);
});

test("a default of an object is filled from the defaults below it", () => {
  const inner = object({ b: { type: "integer", default: 1 } }, { default: {} });
  assert.deepEqual(applyStructuralDefaults({}, node({ a: inner })), { a: { b: 1 } });
});

test("a null is replaced by the default, kept where it may be, and dropped elsewhere", () => {
  const root = node({
    a: { ...string, default: "x" },
    b: { ...string, nullable: true, default: "x" },
    c: string,
  });
  assert.deepEqual(
    applyStructuralDefaults(dropNulls({ a: null, b: null, c: null, d: null }, root), root),
    {
      a: "x",
      b: null,
      d: null,
    },
  );
});

test("unknown fields of metadata are dropped and told, at the root and where resources are embedded", () => {
  const value = { metadata: { name: "a", x: 1 }, r: { kind: "A", metadata: { y: 1 } } };
  const options = { dropInvalid: false, isResourceRoot: true };
  const coerced = coerceMetadata(value, node({ r: embedded }), options);
  assert.deepEqual(coerced.object, { metadata: { name: "a" }, r: { kind: "A", metadata: {} } });
  assert.deepEqual(coerced.unknownFields, ["metadata.x", "r.metadata.y"]);
});

test("metadata of a wrong type is refused on a write and dropped field by field on a read", () => {
  const value = { kind: 1, metadata: { name: "a", labels: 1 } };
  const write = coerceMetadata(value, node({}), { dropInvalid: false, isResourceRoot: true });
  assert.equal(write.error?.field, "kind");
  const read = coerceMetadata(value, node({}), { dropInvalid: true, isResourceRoot: true });
  assert.deepEqual(read.object, { metadata: { name: "a" } });
});

test("findings of a status write begin at the status", () => {
  const root = node({ status: object({ n: { type: "integer" } }) });
  const [found] = validateCustomStatus({ status: { n: "x" } }, root, { status: { n: 1 } });
  assert.equal(found?.field, "status.n");
  assert.equal(
    found?.message,
    'Invalid value: "string": n in body must be of type integer: "string"',
  );
});

test("lengths are counted in code points", () => {
  const root = node({ a: { ...string, maxLength: 2 } });
  assert.deepEqual(validateCustomObject({ a: "😀😀" }, root), []);
  assert.equal(validateCustomObject({ a: "😀😀a" }, root).length, 1);
});

test("a keyed list that only changed its order keeps what was invalid in it", () => {
  const item = object({ k: string, v: { ...string, maxLength: 1 } });
  const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
  const root = node({ l: { type: "array", items: item, ...keyed } });
  const long = { k: "a", v: "long" };
  const old = { l: [long, { k: "b", v: "x" }] };
  assert.deepEqual(validateCustomObject({ l: [{ k: "c", v: "y" }, long] }, root, old), []);
  const changed = validateCustomObject({ l: [{ k: "a", v: "longer" }] }, root, old);
  assert.deepEqual(
    changed.map(({ field }) => field),
    ["l[0].v"],
  );
});

test("what two parts of a schema find alike is reported once", () => {
  const root = node({
    a: { ...string, minLength: 3, allOf: [{ minLength: 3 }, { minLength: 3 }] },
  });
  assert.deepEqual(
    validateCustomObject({ a: "x" }, root).map(({ message }) => message),
    [
      'Invalid value: "x": a in body should be at least 3 chars long',
      'Invalid value: "": "a" must validate all the schemas (allOf). None validated',
    ],
  );
});

test("an item of a list without keys is judged anew", () => {
  const root = node({ l: { type: "array", items: { ...string, maxLength: 1 } } });
  assert.deepEqual(validateCustomObject({ l: ["long"] }, root, { l: ["long"] }), []);
  assert.equal(validateCustomObject({ l: ["long", "x"] }, root, { l: ["long"] }).length, 1);
});

test("lists, maps and structs have the shapes that apply needs", () => {
  const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
  const root = node({
    plain: { type: "array", items: string },
    set: { type: "array", items: string, "x-kubernetes-list-type": "set" },
    keyed: { type: "array", items: object({ k: { ...string, default: "x" } }), ...keyed },
    map: { type: "object", additionalProperties: string },
    whole: object({ a: string }, { "x-kubernetes-map-type": "atomic" }),
    free: preserved,
  });
  const types = structuralApplyTypes({ structural: () => root, convert: (one) => one });
  const shape = types.shape("x/v1");
  const kinds = ["plain", "set", "keyed", "map", "whole", "free", "metadata", "other"].map(
    (name) => shape?.field(name)?.kind,
  );
  assert.deepEqual(kinds, ["leaf", "set", "list", "map", "leaf", "map", "struct", undefined]);
  const list = shape?.field("keyed");
  assert.deepEqual(list?.kind === "list" ? { ...list.keyDefaults } : undefined, { k: "x" });
});

test("the condition of a schema that is not structural names version and field", () => {
  const version = (name: string, schema: JsonObject): JsonObject => ({
    name,
    schema: { openAPIV3Schema: schema },
  });
  const spec = { versions: [version("v1", object({})), version("v2", object({ a: {} }))] };
  assert.deepEqual(nonStructuralCondition({ spec }), {
    status: "True",
    reason: "Violations",
    message:
      "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
  });
  const good = { spec: { versions: [version("v1", object({}))] } };
  assert.equal(nonStructuralCondition(good), undefined);
});

const good: Readonly<Record<string, readonly string[]>> = {
  ipv4: ["1.2.3.4", "01.2.3.4"],
  ipv6: ["::1", "2001:db8::1"],
  cidr: ["10.0.0.0/8", "::/0"],
  mac: ["00:00:5e:00:53:01", "0000.5e00.5301"],
  uuid: ["123E4567-e89b-12d3-a456-426614174000"],
  uri: ["/a", "https://example.com/a?b", "mailto:x"],
  email: ["a@example.com", "A <a@example.com>"],
  hostname: ["example.com", "localhost"],
  "date-time": ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+01:00"],
  duration: ["1h", "3 days", "-5s"],
  isbn: ["0321751043", "978-0321751041"],
  creditcard: ["4111 1111 1111 1111"],
  rgbcolor: ["rgb(0, 12, 255)"],
  "k8s-short-name": ["a-b"],
  "k8s-long-name": ["a.b-c"],
};
const bad: Readonly<Record<string, readonly string[]>> = {
  ipv4: ["1.2.3", "::1", "1.2.3.256"],
  ipv6: ["1.2.3.4", "::g"],
  cidr: ["10.0.0.0", "10.0.0.0/33"],
  mac: ["00:00", "00-00:5e:00:53:01"],
  uuid: ["123e4567"],
  uri: ["a", "", "//%zz", ":a"],
  email: ["a", "a@", "@a"],
  hostname: ["-a", "a..b", "a_b"],
  "date-time": ["2024-01-01", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z"],
  duration: ["", "x", "5"],
  isbn: ["0321751044"],
  creditcard: ["4111 1111 1111 1112"],
  rgbcolor: ["rgb(0,0,256)"],
  "k8s-short-name": ["A", "a.b", "a".repeat(64)],
  "k8s-long-name": ["A", "a..b"],
};

test("formats take what Go takes and refuse what it refuses", () => {
  for (const [format, texts] of Object.entries(good)) {
    for (const text of texts) assert.ok(formatCheck(format)?.(text), `${format} ${text}`);
  }
  for (const [format, texts] of Object.entries(bad)) {
    for (const text of texts) assert.ok(!formatCheck(format)?.(text), `${format} ${text}`);
  }
  assert.equal(formatCheck("other"), undefined);
});

test("a pattern that does not compile tells Go's reason", () => {
  assert.equal(compilePattern("a(").error, "error parsing regexp: missing closing ): `a(`");
  const trailing = "error parsing regexp: trailing backslash at end of expression: ``";
  assert.equal(compilePattern("a\\").error, trailing);
});

test("numbers are printed as Go prints them", () => {
  const texts = [1, 0.5, 1e21, 0.00001, -1.5e-7].map(goFloat);
  assert.deepEqual(texts, ["1", "0.5", "1e+21", "1e-05", "-1.5e-07"]);
});

test("formats that mean nothing are warned of once, and not again on an update", () => {
  const withFormats = (...formats: readonly string[]): JsonObject => {
    const fields = formats.map((format, at) => [`f${at}`, { ...string, format }]);
    const openAPIV3Schema = object(Object.fromEntries(fields) as JsonObject);
    return { spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] } };
  };
  const next = withFormats("nope", "nope", "ipv4", "other");
  assert.deepEqual(definitionWarnings(next, undefined), [
    'unrecognized format "nope"',
    'unrecognized format "other"',
  ]);
  assert.deepEqual(definitionWarnings(next, withFormats("nope")), ['unrecognized format "other"']);
});

const wrongMetadata: readonly (readonly [JsonObject, string])[] = [
  [
    { labels: { a: 1 }, annotations: { b: true } },
    "json: cannot unmarshal bool into Go struct field ObjectMeta.annotations of type string",
  ],
  [
    { name: "a", labels: { z: "x", b: 1, a: [] } },
    "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type string",
  ],
];

test("of several wrong values in metadata the first by name is told, as Go writes the map before it reads it", () => {
  for (const [metadata, message] of wrongMetadata) {
    const options = { dropInvalid: false, isResourceRoot: true };
    const own = coerceMetadata({ metadata }, undefined, options);
    assert.equal(own.message, message);
    const inner = coerceMetadata({ e: { metadata } }, node({ e: embedded }), options);
    const first = Object.keys(metadata).sort()[0] ?? "";
    assert.ok(inner.message?.startsWith(`e.metadata: Invalid value: {"${first}":`), first);
  }
});
