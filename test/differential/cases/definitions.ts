/** Wrong and hostile definitions of custom resources: the answers to creates and updates. */
import { type AnyStep, type Case, get, patch, post, type Suite } from "../exchange.ts";

type Json = Readonly<Record<string, unknown>>;

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const object = (properties: Json, rest: Json = {}): Json => ({
  type: "object",
  properties,
  ...rest,
});
const spec = (properties: Json, rest: Json = {}): Json =>
  object({ spec: object(properties, rest) });
const string = { type: "string" };

export function version(name: string, schema: Json, rest: Json = {}): Json {
  return {
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: schema },
    ...rest,
  };
}

export function definition(plural: string, versions: readonly Json[], rest: Json = {}): Json {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.schema.example.com` },
    spec: {
      group: "schema.example.com",
      scope: "Namespaced",
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions,
      ...rest,
    },
  };
}

const create = (body: Json): AnyStep => post(`${path}?dryRun=All`, body);
const schemas = (name: string, rows: readonly Json[]): Case => ({
  name,
  steps: rows.map((schema) => create(definition("widgets", [version("v1", schema)]))),
});
const versions = (name: string, rows: readonly (readonly Json[])[]): Case => ({
  name,
  steps: rows.map((row) => create(definition("widgets", row))),
});
const specs = (name: string, rows: readonly Json[]): Case => ({
  name,
  steps: rows.map((row) =>
    create(definition("widgets", [version("v1", spec({ a: string }))], row)),
  ),
});

const structural = schemas("structural schemas", [
  {},
  { type: "string" },
  { type: "object", properties: { spec: {} } },
  { type: "object", properties: { spec: { type: "array" } } },
  { type: "object", properties: { spec: { type: "array", items: {} } } },
  { type: "object", additionalProperties: string },
  spec({ a: string }, { additionalProperties: string }),
  spec({ a: string }, { anyOf: [{ properties: { b: { minLength: 1 } } }] }),
  spec({ a: string }, { anyOf: [{ properties: { a: string } }] }),
  spec({ a: string }, { allOf: [{ description: "d" }] }),
  spec({ a: string }, { not: { nullable: true } }),
  spec({ a: string }, { oneOf: [{ required: ["a"], title: "t" }] }),
  spec({ a: { type: "string", anyOf: [{ default: "x" }] } }),
  spec({
    a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
  }),
  spec({ a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }] } }),
  spec({
    a: { "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true },
  }),
  spec({ a: { "x-kubernetes-embedded-resource": true } }),
  spec({ a: { type: "object", "x-kubernetes-embedded-resource": true } }),
  spec({
    a: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      additionalProperties: string,
      "x-kubernetes-preserve-unknown-fields": true,
    },
  }),
  object({ metadata: object({ labels: { type: "object" } }) }),
  object({ metadata: object({ name: { type: "string", maxLength: 3 } }) }),
  object({ metadata: string }),
  object({ kind: { type: "integer" } }),
  spec({ a: { type: "object", anyOf: [{ properties: { metadata: { required: ["x"] } } }] } }),
  spec({ a: { type: "string", pattern: "a(" } }),
  spec({ a: { type: "string", pattern: "(?=x)" } }),
  spec({ a: { type: "number", multipleOf: -1 } }),
]);

const forbidden = schemas("what schemas may not have", [
  spec({ a: { type: "text" } }),
  spec({ a: { type: "null" } }),
  spec({ a: { type: "string", $ref: "#/x" } }),
  spec({ a: { type: "string", id: "x" } }),
  spec({ a: { type: "object", definitions: { x: string } } }),
  spec({ a: { type: "object", patternProperties: { x: string } } }),
  spec({ a: { type: "array", items: [string] } }),
  spec({ a: { type: "array", items: string, additionalItems: true } }),
  spec({ a: { type: "array", items: string, uniqueItems: true } }),
  spec({ a: { type: "object", dependencies: { x: ["y"] } } }),
  spec({ a: { type: "object", "x-kubernetes-preserve-unknown-fields": false } }),
  { type: "object", nullable: true },
  spec({ a: { type: "string", format: "nope" } }),
  object({ spec: { type: "object" } }, { "x-kubernetes-map-type": "other" }),
]);

const item = (rest: Json, more: Json = {}): Json =>
  spec({
    a: {
      type: "array",
      items: object({ k: string, v: string }, { required: ["k"], ...more }),
      ...rest,
    },
  });
const lists = schemas("list and map types", [
  spec({ a: { type: "string", "x-kubernetes-list-type": "set" } }),
  spec({ a: { "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-list-type": "atomic" } }),
  item({ "x-kubernetes-list-type": "other" }),
  item({ "x-kubernetes-list-type": "set" }),
  item({ "x-kubernetes-list-type": "map" }),
  item({ "x-kubernetes-list-map-keys": ["k"] }),
  item({ "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["k"] }),
  item({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z"] }),
  item({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "k"] }),
  item({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["v"] }),
  item(
    { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
    { nullable: true },
  ),
  spec({
    a: {
      type: "array",
      items: { type: "array", items: string, "x-kubernetes-list-type": "set" },
      "x-kubernetes-list-type": "set",
    },
  }),
  spec({
    a: {
      type: "array",
      items: string,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    },
  }),
  item(
    { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["o"] },
    { properties: { o: { type: "object" } }, required: ["o"] },
  ),
]);

const defaults = schemas("defaults", [
  spec({ a: { type: "integer", default: "x" } }),
  spec({ a: { type: "string", minLength: 3, default: "x" } }),
  spec({ a: object({ b: string }, { default: { b: "x", c: 1 } }) }),
  spec({ a: object({ b: string }, { default: {}, required: ["b"] }) }),
  spec({ a: { type: "string", enum: ["x"], default: "y" } }),
  object({ metadata: { type: "object", default: {} } }),
  object({ apiVersion: { type: "string", default: "v1" } }),
  spec({ a: { type: "array", items: { type: "integer" }, default: [1, "x"] } }),
  spec({
    a: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
      default: { kind: "A" },
    },
  }),
  spec({
    a: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { metadata: object({ name: { type: "string", default: "a/b" } }) },
    },
  }),
  spec({ a: { type: "string", default: null } }),
]);

const rules = schemas("the form of rules", [
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: " " }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", message: " " }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", message: "a\nb" }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true\n&& true" }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", messageExpression: " " }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", reason: "Other" }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", fieldPath: ".b" }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", fieldPath: "a" }] }),
  spec({ a: string }, { "x-kubernetes-validations": [{ rule: "true", fieldPath: "['a']" }] }),
  spec({ a: { type: "string", allOf: [{ "x-kubernetes-validations": [{ rule: "true" }] }] } }),
]);

const status = { subresources: { status: {} } };
const scale = (rest: Json): Json => ({
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", ...rest },
  },
});
const plain = spec({ a: string });
const ofVersions = versions("versions and their parts", [
  [],
  [version("v1", plain), version("v1", plain)],
  [version("v2", plain)],
  [version("V1", plain, { storage: true })],
  [version("v1", plain), version("v2", spec({ b: { type: "text" } }))],
  [{ name: "v1", served: true, storage: true }],
  [version("v1", plain), { name: "v2", served: true, storage: false }],
  [version("v1", plain, { deprecationWarning: "old" })],
  [version("v1", plain, { deprecated: true, deprecationWarning: "" })],
  [version("v1", plain, { deprecated: true, deprecationWarning: "a\nb" })],
  [version("v1", { ...plain, minProperties: 1 }, status)],
  [version("v1", plain, scale({ specReplicasPath: ".status.replicas" }))],
  [version("v1", plain, scale({ specReplicasPath: "spec.replicas" }))],
  [version("v1", plain, scale({ statusReplicasPath: "" }))],
  [version("v1", plain, scale({ labelSelectorPath: ".metadata.x" }))],
  [version("v1", plain, { additionalPrinterColumns: [{ name: "", type: "x", jsonPath: "a" }] })],
  [
    version("v1", plain, {
      additionalPrinterColumns: [{ name: "a", type: "string", format: "f", jsonPath: "" }],
    }),
  ],
  [version("v1", plain, { selectableFields: [{ jsonPath: ".spec.b" }, { jsonPath: "spec" }] })],
  [version("v1", plain, { selectableFields: [{ jsonPath: ".spec" }, { jsonPath: "" }] })],
  [version("v1", plain, { selectableFields: [{ jsonPath: ".spec.a" }, { jsonPath: ".spec.a" }] })],
  [version("v1", plain, { selectableFields: [{ jsonPath: ".spec['a']" }] })],
]);

const names = (change: Json): Json => ({
  names: {
    plural: "widgets",
    singular: "widget",
    kind: "Widget",
    listKind: "WidgetList",
    ...change,
  },
});
const webhook = (change: Json): Json => ({
  conversion: {
    strategy: "Webhook",
    webhook: {
      conversionReviewVersions: ["v1"],
      clientConfig: { url: "https://127.0.0.1/x" },
      ...change,
    },
  },
});
const ofSpecs = specs("specs", [
  { group: "example" },
  { group: "Example.com" },
  { scope: "Other" },
  { scope: "" },
  names({ plural: "others" }),
  names({ kind: "Wid_get" }),
  names({ listKind: "Widget" }),
  names({ shortNames: ["W"], categories: ["all", "A"] }),
  { preserveUnknownFields: true },
  { conversion: { strategy: "Other" } },
  { conversion: { strategy: "Webhook" } },
  { conversion: { strategy: "None", webhook: { conversionReviewVersions: ["v1"] } } },
  webhook({ conversionReviewVersions: [] }),
  webhook({ conversionReviewVersions: ["v9", "v9"] }),
  webhook({ conversionReviewVersions: ["V1"] }),
  webhook({ clientConfig: { url: "http://127.0.0.1/x" } }),
  webhook({ clientConfig: {} }),
  webhook({ clientConfig: { service: { name: "", namespace: "n", port: 70_000 } } }),
]);

const grown = (change: Json): AnyStep =>
  patch("merge", `${path}/gadgets.schema.example.com?dryRun=All`, { spec: change });
const updates: Case = {
  name: "updates",
  steps: [
    post(path, definition("gadgets", [version("v1", plain)])),
    grown({ versions: [version("v1", spec({ a: { type: "text" } }))] }),
    grown({ versions: [version("v2", plain, { storage: true })] }),
    grown({
      versions: [version("v1", plain, { storage: false }), version("v2", plain, { storage: true })],
    }),
    grown({ group: "other.example.com" }),
    grown({ names: { plural: "others" } }),
    grown({ preserveUnknownFields: true }),
    grown({ versions: [] }),
    get(`${path}/missing.schema.example.com`),
  ],
};

const approval: Case = {
  name: "protected groups",
  steps: [undefined, "", "unapproved, a test", "https://example.com/pull/1", "yes"].map((value) => {
    const body = definition("widgets", [version("v1", plain)], { group: "schema.k8s.io" });
    const annotations = value === undefined ? {} : { "api-approved.kubernetes.io": value };
    return create({ ...body, metadata: { name: "widgets.schema.k8s.io", annotations } });
  }),
};

export const definitions: Suite = {
  name: "definitions",
  cases: [structural, forbidden, lists, defaults, rules, ofVersions, ofSpecs, updates, approval],
};
