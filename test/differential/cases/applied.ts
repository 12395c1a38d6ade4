/** What server-side apply says of values that do not fit their schema, in custom objects and in built-in ones. */
import { type AnyStep, type Case, get, patch, post, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

type Json = Readonly<Record<string, unknown>>;

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/** The server takes a moment until it serves a new definition. */
const servedAfterMs = 4_000;

const string = { type: "string" };
const open = { "x-kubernetes-preserve-unknown-fields": true };
const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
const list = (items: Json, rest: Json = {}): Json => ({ type: "array", items, ...rest });

const properties: Json = {
  text: string,
  maybe: { ...string, nullable: true },
  filled: { ...string, default: "d" },
  count: { type: "integer" },
  flag: { type: "boolean" },
  time: { ...string, format: "date-time" },
  bytes: { ...string, format: "byte" },
  mixed: { "x-kubernetes-int-or-string": true },
  textual: { ...string, "x-kubernetes-int-or-string": true },
  whole: object({ a: string }, { "x-kubernetes-map-type": "atomic" }),
  map: { type: "object", additionalProperties: string },
  texts: list(string),
  objects: list(object({ a: string, inner: list(object({ z: string })) })),
  set: list(string, { "x-kubernetes-list-type": "set" }),
  keyed: list(object({ k: string, v: { type: "integer" } }, { required: ["k"] }), {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  }),
  free: { type: "object", ...open },
  half: object({ a: string, below: object({ b: string }) }, open),
  anything: open,
  openResource: { ...embedded, ...open },
  resource: { ...embedded, properties: { spec: object({ a: string }) } },
};

/** One thing is wrong with each: a stock server lists several in no order. */
const specs: readonly Json[] = [
  { text: null },
  { maybe: null },
  { filled: null },
  { text: 5 },
  { text: { b: { c: [1, "x", null, 1.5, true, {}] } } },
  { count: "x" },
  { count: 1.5 },
  { count: { a: 1 } },
  { count: [1] },
  { count: true },
  { flag: "yes" },
  { flag: { a: [1, "b"], c: null } },
  { time: 5 },
  { time: { a: "b" } },
  { bytes: 5 },
  { mixed: { a: "b" } },
  { mixed: true },
  { mixed: 1.5 },
  { textual: 5 },
  { textual: "x" },
  { whole: { a: 5 } },
  { whole: { b: 5 } },
  { whole: 5 },
  { map: { a: 5 } },
  { map: 5 },
  { map: { a: null } },
  { texts: [1] },
  { texts: 5 },
  { texts: [null] },
  { texts: { a: "b" } },
  { objects: [{ b: 1 }, { c: 1 }] },
  { objects: [{ a: "x", inner: [{ y: 1 }] }] },
  { objects: [5] },
  { set: ["a", "a"] },
  { set: [1] },
  { set: [{ a: "b" }] },
  { set: [["a"]] },
  { set: [null] },
  { keyed: [{ k: "a", v: "x" }] },
  { keyed: [{ k: "a" }, { v: 1 }, { k: "a" }] },
  { keyed: [{ k: "a" }, { k: "a", v: "x" }] },
  { keyed: [null] },
  { keyed: ["a"] },
  { free: { a: 1 } },
  { free: 5 },
  { free: [1] },
  { half: { a: 5 } },
  { half: { below: { c: 1 } } },
  { half: { x: { y: 1 }, below: { b: 5 } } },
  { anything: 5 },
  { anything: { a: 1 } },
  { openResource: { apiVersion: "v1", kind: "A", metadata: { name: 5 } } },
  { openResource: { apiVersion: "v1", kind: "A", metadata: { name: "a" }, x: 1 } },
  { resource: { apiVersion: "v1", kind: "A", spec: { a: 5 } } },
  { resource: { apiVersion: "v1", kind: "A", x: 5 } },
  { nothing: 1 },
];

const customPath = "/apis/schema.example.com/v1/namespaces/{ns}/applieds";

const custom: Case = {
  name: "custom objects",
  steps: [
    post(
      definitionsPath,
      definition("applieds", [version("v1", object({ spec: object(properties) }))]),
    ),
    get(customPath, { waitMs: servedAfterMs }),
    ...specs.map((spec) =>
      applied(customPath, { apiVersion: "schema.example.com/v1", kind: "Applied", spec }),
    ),
  ],
};

function applied(path: string, body: Json): AnyStep {
  const metadata = { name: "one", namespace: "{ns}" };
  return patch("apply", `${path}/one?fieldManager=me&dryRun=All`, { ...body, metadata });
}

const maps: readonly Json[] = [
  { data: { a: 5 } },
  { data: { a: [1] } },
  { data: { a: { x: "y" } } },
  { data: "x" },
  { data: [1] },
  { immutable: "yes" },
  { binaryData: { a: 5 } },
  { binaryData: { a: "!!!" } },
  { immutable: null },
];

const container = { name: "c", image: "i" };
const podSpec = (more: Json): Json => ({
  selector: { matchLabels: { a: "b" } },
  template: { metadata: { labels: { a: "b" } }, spec: { containers: [container], ...more } },
});
const limited = (limits: Json): Json =>
  podSpec({ containers: [{ ...container, resources: { limits } }] });

const deployments: readonly Json[] = [
  { replicas: "3" },
  { replicas: true },
  { selector: "x" },
  { selector: [1] },
  { selector: { matchLabels: { a: 1 } } },
  { minReadySeconds: { a: "b" } },
  { strategy: { rollingUpdate: { maxSurge: true } } },
  { strategy: { rollingUpdate: { maxSurge: { a: "b" } } } },
  { paused: 1 },
  { paused: { a: 1 } },
  { template: { spec: { containers: [{ name: 1 }] } } },
  { template: { spec: { tolerations: "x" } } },
  { template: { spec: { containers: [{}] } } },
  podSpec({ terminationGracePeriodSeconds: 1.5 }),
  podSpec({ terminationGracePeriodSeconds: 30 }),
  limited({ cpu: 1 }),
  limited({ cpu: 1.5 }),
  limited({ cpu: "abc" }),
  limited({ cpu: true }),
  limited({ cpu: [1] }),
  limited({ cpu: { a: "b" } }),
  limited({ memory: 1e3 }),
];

const mapsPath = "/api/v1/namespaces/{ns}/configmaps";
const deploymentsPath = "/apis/apps/v1/namespaces/{ns}/deployments";

const builtin: Case = {
  name: "built-in objects",
  steps: [
    ...maps.map((body) => applied(mapsPath, { apiVersion: "v1", kind: "ConfigMap", ...body })),
    ...deployments.map((spec) =>
      applied(deploymentsPath, { apiVersion: "apps/v1", kind: "Deployment", spec }),
    ),
  ],
};

export const appliedValues: Suite = { name: "applied", cases: [custom, builtin] };
