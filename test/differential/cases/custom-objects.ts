/** Wrong custom objects beside right ones: the answers to creates and updates, and what is stored. */
import { type Case, get, patch, post, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

type Json = Readonly<Record<string, unknown>>;

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const string = { type: "string" };
const list = (items: Json, rest: Json = {}): Json => ({ type: "array", items, ...rest });
const embedded = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
};

/** The server takes a moment until it serves a new definition. */
const servedAfterMs = 4_000;

/** Every row is the spec of one object; each is sent with dryRun, so nothing stays. */
function rejected(plural: string, properties: Json, rows: readonly unknown[]): Case {
  const schema = object({ spec: object(properties) });
  const [kind, path] = namesOf(plural);
  return {
    name: plural,
    steps: [
      post(definitionsPath, definition(plural, [version("v1", schema)])),
      get(path, { waitMs: servedAfterMs }),
      ...rows.map((spec) =>
        post(`${path}?dryRun=All`, {
          apiVersion: "schema.example.com/v1",
          kind,
          metadata: { name: "one" },
          spec,
        }),
      ),
    ],
  };
}

function namesOf(plural: string): readonly [string, string] {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  return [kind, `/apis/schema.example.com/v1/namespaces/{ns}/${plural}`];
}

const scalars = rejected(
  "scalars",
  {
    text: { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-z]+$" },
    int: { type: "integer", minimum: 2, maximum: 10, multipleOf: 2 },
    int32: { type: "integer", format: "int32" },
    number: { type: "number", minimum: 0.5, exclusiveMinimum: true },
    choice: { type: "string", enum: ["a", "b"] },
    count: { type: "integer", enum: [1, 2] },
    flag: { type: "boolean" },
    mixed: { "x-kubernetes-int-or-string": true },
    maybe: { type: "string", nullable: true },
  },
  [
    { text: "abc", int: 4, number: 1, choice: "a", flag: true, mixed: "x", maybe: null },
    { text: 1 },
    { text: "a" },
    { text: "abcde" },
    { text: "ABC" },
    { text: null },
    { int: "4" },
    { int: 1 },
    { int: 11 },
    { int: 3 },
    { int: 1.5 },
    { int32: 3_000_000_000 },
    { number: 0.5 },
    { number: "1" },
    { choice: "c" },
    { count: 3 },
    { flag: "true" },
    { mixed: 1.5 },
    { mixed: true },
    "text",
    null,
    [],
  ],
);

const formats = rejected(
  "formats",
  Object.fromEntries(
    ["ipv4", "ipv6", "cidr", "date", "date-time", "duration", "uuid", "uri", "email", "byte"].map(
      (format) => [format.replace("-", ""), { type: "string", format }],
    ),
  ),
  [
    { ipv4: "1.2.3.4", ipv6: "::1", cidr: "10.0.0.0/8", date: "2024-02-29", duration: "1h30m" },
    { ipv4: "1.2.3" },
    { ipv6: "1.2.3.4" },
    { cidr: "10.0.0.0/33" },
    { date: "2023-02-29" },
    { datetime: "2024-01-01T00:00:00" },
    { duration: "long" },
    { uuid: "zz" },
    { uri: "example" },
    { email: "a@" },
    { byte: "a" },
  ],
);

const lists = rejected(
  "lists",
  {
    some: list(string, { minItems: 1, maxItems: 2 }),
    set: list(string, { "x-kubernetes-list-type": "set" }),
    keyed: list(object({ k: string, v: string }, { required: ["k"] }), {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    }),
    map: { type: "object", additionalProperties: string, minProperties: 1, maxProperties: 2 },
    needed: object({ a: string, b: string }, { required: ["a", "b"] }),
  },
  [
    { some: ["a"], set: ["a", "b"], keyed: [{ k: "a" }], map: { a: "b" } },
    { some: [] },
    { some: ["a", "b", "c"] },
    { some: ["a", 1] },
    { some: "a" },
    { set: ["a", "b", "a"] },
    { keyed: [{ k: "a" }, { k: "a" }] },
    { keyed: [{ v: "a" }] },
    { map: {} },
    { map: { a: "1", b: "2", c: "3" } },
    { map: { a: 1 } },
    { needed: { a: "x" } },
  ],
);

const junctors = rejected(
  "junctors",
  {
    any: { type: "string", anyOf: [{ minLength: 3 }, { enum: ["a"] }] },
    one: object({ a: string, b: string }, { oneOf: [{ required: ["a"] }, { required: ["b"] }] }),
    all: { type: "integer", allOf: [{ minimum: 3 }, { maximum: 5 }] },
    not: { type: "string", not: { enum: ["x"] } },
  },
  [
    { any: "a", one: { a: "x" }, all: 4, not: "y" },
    { any: "b" },
    { one: {} },
    { one: { a: "x", b: "y" } },
    { all: 2 },
    { all: 9 },
    { not: "x" },
  ],
);

const resources = rejected("resources", { one: embedded, many: list(embedded) }, [
  { one: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { x: 1 } } },
  { one: { kind: "Pod" } },
  { one: { apiVersion: "a/b/c", kind: "Pod" } },
  { one: { apiVersion: "v1", kind: "Po_d" } },
  { one: { apiVersion: 1, kind: "Pod" } },
  { one: { apiVersion: "v1", kind: "Pod", metadata: { name: "a/b" } } },
  { one: { apiVersion: "v1", kind: "Pod", metadata: { labels: { a: "b c" } } } },
  { one: { apiVersion: "v1", kind: "Pod", metadata: { labels: 1 } } },
  { one: { apiVersion: "v1", kind: "Pod", metadata: { other: 1 } } },
]);

const kept = object({
  a: { type: "string", default: "x" },
  inner: object({ b: { type: "integer", default: 1 } }, { default: {} }),
  free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  map: { type: "object", additionalProperties: object({ c: string }) },
});
const keepsPath = namesOf("keeps")[1];
const keep = (name: string, rest: Json, query = ""): ReturnType<typeof post> =>
  post(`${keepsPath}${query}`, {
    apiVersion: "schema.example.com/v1",
    kind: "Keep",
    metadata: { name },
    ...rest,
  });

const unknown = { spec: { z: 1, inner: { y: 1 }, free: { w: 1 }, map: { m: { c: "1", v: 2 } } } };
const pruning: Case = {
  name: "pruning and defaults",
  steps: [
    post(definitionsPath, definition("keeps", [version("v1", object({ spec: kept }))])),
    get(keepsPath, { waitMs: servedAfterMs }),
    keep("one", { spec: {} }),
    keep("two", unknown),
    keep("three", unknown, "?fieldValidation=Strict"),
    keep("four", unknown, "?fieldValidation=Ignore"),
    keep("five", { spec: { a: null, inner: null, map: null } }),
    keep("six", { spec: { a: "y" }, other: 1 }, "?fieldValidation=Strict"),
    post(`${keepsPath}?fieldValidation=Strict`, {
      apiVersion: "schema.example.com/v1",
      kind: "Keep",
      metadata: { name: "seven", unknown: 1 },
    }),
    post(keepsPath, {
      apiVersion: "schema.example.com/v1",
      kind: "Keep",
      metadata: { name: "eight", labels: 5 },
    }),
    post(keepsPath, {
      apiVersion: "schema.example.com/v1",
      kind: "Other",
      metadata: { name: "x" },
    }),
    post(keepsPath, { apiVersion: "other/v1", kind: "Keep", metadata: { name: "x" } }),
    keep("Bad_Name", { spec: {} }),
  ],
};

const loose = object({
  spec: object({ a: string, b: string, l: list(object({ k: string, v: string })) }),
});
const tight = object({
  spec: object({
    a: { type: "string", maxLength: 2 },
    b: { type: "string", maxLength: 2 },
    l: list(object({ k: string, v: { type: "string", maxLength: 1 } }, { required: ["k"] }), {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    }),
  }),
});
const ratchetsPath = namesOf("ratchets")[1];
const change = (spec: Json): ReturnType<typeof patch> =>
  patch("merge", `${ratchetsPath}/one?dryRun=All`, { spec });
const ratcheting: Case = {
  name: "ratcheting",
  steps: [
    post(definitionsPath, definition("ratchets", [version("v1", loose)])),
    get(ratchetsPath, { waitMs: servedAfterMs }),
    post(ratchetsPath, {
      apiVersion: "schema.example.com/v1",
      kind: "Ratchet",
      metadata: { name: "one" },
      spec: {
        a: "long text",
        b: "x",
        l: [
          { k: "a", v: "long" },
          { k: "b", v: "x" },
        ],
      },
    }),
    patch("merge", `${definitionsPath}/ratchets.schema.example.com`, {
      spec: { versions: [version("v1", tight)] },
    }),
    { ...change({ b: "y" }), waitMs: servedAfterMs },
    change({ b: "long text" }),
    change({ a: "other long text" }),
    change({
      l: [
        { k: "b", v: "y" },
        { k: "a", v: "long" },
      ],
    }),
    change({ l: [{ k: "a", v: "longer" }] }),
    change({
      l: [
        { k: "a", v: "long" },
        { k: "a", v: "x" },
      ],
    }),
  ],
};

export const customObjects: Suite = {
  name: "customobjects",
  cases: [scalars, formats, lists, junctors, resources, pruning, ratcheting],
};
