/** Custom resources: definitions, their objects by every verb, and what is refused. A group per case. */
import { get, patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        cronSpec: { type: "string", pattern: "^[0-9* ]+$" },
        image: { type: "string", default: "busybox" },
        replicas: { type: "integer", minimum: 0 },
        mode: { type: "string", enum: ["a", "b"] },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port"],
          items: {
            type: "object",
            required: ["port"],
            properties: { port: { type: "integer" }, name: { type: "string" } },
          },
        },
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: {
      type: "object",
      properties: { replicas: { type: "integer" }, selector: { type: "string" } },
    },
  },
};
const subresources = {
  status: {},
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
};
const names = { plural: "crontabs", singular: "crontab", kind: "CronTab", shortNames: ["ct"] };

const as = (path: string, accept: string): Step => get(path, { headers: { accept } });

interface Given {
  readonly version?: object;
  readonly versions?: readonly object[];
  readonly names?: { readonly plural: string };
  readonly scope?: string;
}

function definition(group: string, given: Given = {}): object {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  const versions = given.versions ?? [{ ...version, ...given.version }];
  const own = given.names ?? names;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${own.plural}.${group}` },
    spec: { group, scope: given.scope ?? "Namespaced", names: own, versions },
  };
}

function object(group: string, name: string, spec: object = {}): Record<string, unknown> {
  return {
    apiVersion: `${group}/v1`,
    kind: "CronTab",
    metadata: { name },
    spec: { cronSpec: "* * *", ...spec },
  };
}

/** Stock waits two seconds after a definition is established before it takes the first object. */
function defined(name: string, given: Given, steps: (group: string, path: string) => Step[]): Case {
  const group = `${name.replaceAll(" ", "-")}.example.com`;
  const [first, ...rest] = steps(group, `/apis/${group}/v1/namespaces/{ns}/crontabs`);
  const begun = first === undefined ? [] : [{ ...first, waitMs: 3_500 }];
  return { name, steps: [post(definitions, definition(group, given)), ...begun, ...rest] };
}

const cases: readonly Case[] = [
  defined("definition", { version: { subresources } }, (group) => [
    get(`${definitions}/crontabs.${group}`),
    get(`/apis/${group}`),
    get(`/apis/${group}/v1`),
    get(`/apis/${group}/v2`),
    get(`${definitions}/crontabs.${group}/status`),
    post(definitions, definition(group)),
    patch("merge", `${definitions}/crontabs.${group}`, { metadata: { labels: { a: "b" } } }),
    patch("merge", `${definitions}/crontabs.${group}`, { spec: { group: "other.example.com" } }),
    patch("merge", `${definitions}/crontabs.${group}/status`, {
      status: { acceptedNames: { plural: "x", kind: "X" } },
    }),
  ]),
  defined("crud", {}, (group, path) => [
    post(path, object(group, "a", { replicas: 1 })),
    post(path, object(group, "a")),
    get(`${path}/a`),
    get(path),
    get(`/apis/${group}/v1/crontabs`),
    put(`${path}/a`, object(group, "a")),
    get(`${path}/a`, { save: { rv: "metadata.resourceVersion" } }),
    put(`${path}/a`, {
      ...object(group, "a", { replicas: 2 }),
      metadata: { name: "a", resourceVersion: "{rv}" },
    }),
    put(`${path}/a`, {
      ...object(group, "a", { replicas: 3 }),
      metadata: { name: "a", resourceVersion: "1" },
    }),
    put(`${path}/b`, object(group, "b")),
    put(`${path}/b`, object(group, "c")),
    post(`${path}?dryRun=All`, object(group, "dry")),
    post(path, { ...object(group, ""), metadata: { generateName: "made-" } }),
    post(path, { ...object(group, "Bad_Name") }),
    post(path, { ...object(group, "x"), metadata: {} }),
    remove(`${path}/a?dryRun=All`),
    remove(`${path}/a`),
    get(`${path}/a`),
    remove(`${path}/a`),
    remove(path),
    get(path),
  ]),
  defined("patches", {}, (group, path) => [
    post(path, object(group, "a", { ports: [{ port: 1 }, { port: 2, name: "b" }] })),
    patch("merge", `${path}/a`, { spec: { replicas: 3, image: null } }),
    patch("merge", `${path}/a`, { spec: { replicas: 3 } }),
    patch("json", `${path}/a`, [{ op: "replace", path: "/spec/replicas", value: 4 }]),
    patch("json", `${path}/a`, [{ op: "test", path: "/spec/replicas", value: 5 }]),
    patch("json", `${path}/a`, [{ op: "remove", path: "/spec/nope" }]),
    patch("strategic", `${path}/a`, { spec: { replicas: 3 } }),
    patch("merge", `${path}/a`, { spec: { replicas: "x" } }),
    patch("merge", `${path}/a`, { spec: { replicas: -1 } }),
    patch("merge", `${path}/a`, { kind: "Other" }),
    patch("merge", `${path}/a`, { metadata: { name: "b" } }),
    patch("merge", `${path}/none`, { spec: {} }),
    patch(
      "apply",
      `${path}/a?fieldManager=me`,
      object(group, "a", { ports: [{ port: 2, name: "c" }] }),
    ),
    patch(
      "apply",
      `${path}/a?fieldManager=me&force=true`,
      object(group, "a", { ports: [{ port: 2, name: "c" }] }),
    ),
    patch(
      "apply",
      `${path}/a?fieldManager=me&force=true`,
      object(group, "a", { ports: [{ port: 2, name: "c" }] }),
    ),
    patch("apply", `${path}/n?fieldManager=me`, object(group, "n", { any: { x: { y: 1 } } })),
    patch("apply", `${path}/n?fieldManager=me`, object(group, "n", { unknown: 1 })),
    patch("apply", `${path}/n?fieldManager=me`, { ...object(group, "n"), kind: "Other" }),
    patch("apply", `${path}/n`, object(group, "n")),
  ]),
  defined("scale", { version: { subresources } }, (group, path) => [
    post(path, object(group, "none")),
    get(`${path}/none/scale`),
    patch("merge", `${path}/none/scale`, { metadata: { labels: { a: "b" } } }),
    post(path, object(group, "a", { replicas: 2 })),
    get(`${path}/a/scale`),
    put(`${path}/a/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas: 5 },
    }),
    patch("merge", `${path}/a/scale`, { spec: { replicas: 7 } }),
    patch("strategic", `${path}/a/scale`, { spec: { replicas: 7 } }),
    patch("merge", `${path}/a/scale`, { spec: { replicas: -7 } }),
    get(`${path}/a`),
    remove(`${path}/a/scale`),
    patch("merge", `${path}/a/status`, { status: { selector: "a=b", replicas: 3 } }),
    get(`${path}/a/scale`),
  ]),
  defined("status", { version: { subresources: { status: {} } } }, (group, path) => [
    post(path, { ...object(group, "a"), status: { replicas: 1 } }),
    patch("merge", `${path}/a`, { status: { replicas: 2 } }),
    patch("merge", `${path}/a/status`, {
      metadata: { labels: { a: "b" } },
      spec: { replicas: 5 },
      status: { replicas: 2 },
    }),
    patch("merge", `${path}/a/status`, { status: { replicas: "x" } }),
    get(`${path}/a/status`),
    patch("apply", `${path}/a/status?fieldManager=s`, {
      ...object(group, "a"),
      status: { replicas: 9 },
    }),
    get(`${path}/a`),
    get(`${path}/a/scale`),
    put(`${path}/a/status`, object(group, "a")),
    patch("merge", `${path}/a`, { metadata: { annotations: { x: "y" } } }),
  ]),
  defined(
    "tables",
    {
      version: {
        additionalPrinterColumns: [
          { name: "Spec", type: "string", jsonPath: ".spec.cronSpec", description: "The spec" },
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
          { name: "Made", type: "date", jsonPath: ".metadata.creationTimestamp" },
          { name: "Bad", type: "date", jsonPath: ".spec.cronSpec" },
          { name: "Any", type: "string", jsonPath: ".spec.any" },
          { name: "Port", type: "number", jsonPath: ".spec.ports[0].port", format: "int32" },
        ],
      },
    },
    (group, path) => [
      post(path, object(group, "a", { replicas: 1, any: { b: 1 }, ports: [{ port: 80 }] })),
      post(path, object(group, "b")),
      as(path, table),
      as(`${path}/a`, table),
      as(`${path}?includeObject=Object`, table),
      as(`${path}?includeObject=None`, table),
      as(`${path}/a`, partial),
      as(path, partialList),
      as(path, partial),
      as(`${path}/a`, protobuf),
      as(`${path}/a`, `${protobuf},application/json`),
      get(`${path}?limit=1`),
      post(path, "kind: CronTab\nmetadata: {name: yy}\nspec: {replicas: 1}\n", { type: yaml }),
    ],
  ),
  defined("default tables", {}, (group, path) => [post(path, object(group, "a")), as(path, table)]),
  defined(
    "selectors",
    {
      version: { selectableFields: [{ jsonPath: ".spec.image" }, { jsonPath: ".spec.replicas" }] },
    },
    (group, path) => [
      post(path, object(group, "a", { image: "red", replicas: 2 })),
      post(path, object(group, "b", { image: "blue" })),
      get(`${path}?fieldSelector=spec.image%3Dred`),
      get(`${path}?fieldSelector=spec.replicas%3D2`),
      get(`${path}?fieldSelector=spec.image!%3Dred`),
      get(`${path}?fieldSelector=metadata.name%3Db`),
      get(`${path}?fieldSelector=spec.cronSpec%3Dx`),
      get(`${path}?labelSelector=a%3Db`),
      get(`${path}?watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector=spec.image%3Dblue`),
      as(`${path}?watch=1&timeoutSeconds=1&resourceVersion=0`, table),
      as(`${path}?watch=1&timeoutSeconds=1&resourceVersion=0`, protobuf),
    ],
  ),
  defined(
    "versions",
    {
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } },
        {
          name: "v1beta1",
          served: true,
          storage: false,
          deprecated: true,
          schema: { openAPIV3Schema: { ...schema, properties: {} } },
        },
        {
          name: "v1alpha1",
          served: true,
          storage: false,
          deprecated: true,
          deprecationWarning: "do not use this",
          schema: { openAPIV3Schema: schema },
        },
        { name: "v0", served: false, storage: false, schema: { openAPIV3Schema: schema } },
      ],
    },
    (group, path) => [
      post(path, object(group, "a")),
      get(path.replace("/v1/", "/v1beta1/")),
      get(`${path.replace("/v1/", "/v1beta1/")}/a`),
      get(`${path.replace("/v1/", "/v1alpha1/")}/a`),
      get(`${path.replace("/v1/", "/v0/")}/a`),
      post(path.replace("/v1/", "/v1alpha1/"), {
        ...object(group, "b"),
        apiVersion: `${group}/v1alpha1`,
      }),
      post(path.replace("/v1/", "/v1alpha1/"), object(group, "c")),
      get(`${path}/b`),
      get(`/apis/${group}`),
      get(`/apis/${group}/v1beta1`),
    ],
  ),
  defined("decoding", {}, (group, path) => [
    post(path, {}),
    post(path, ""),
    post(path, "[]"),
    post(path, "{"),
    post(path, { ...object(group, "a"), kind: "Other" }),
    post(path, { ...object(group, "a"), kind: "" }),
    post(path, { ...object(group, "a"), apiVersion: "" }),
    post(path, { ...object(group, "a"), apiVersion: "v1" }),
    post(path, { ...object(group, "a"), metadata: { name: "a", namespace: "other" } }),
    post(path, { ...object(group, "a"), metadata: { name: "a", labels: { a: 1 } } }),
    post(path, { ...object(group, "a"), metadata: { name: "a", unknown: 1 } }),
    post(path, { ...object(group, "a"), metadata: "x" }),
    post(path, object(group, "b", { unknown: 1 })),
    post(`${path}?fieldValidation=Strict`, object(group, "c", { unknown: 1 })),
    post(`${path}?fieldValidation=Ignore`, object(group, "d", { unknown: 1 })),
    post(path, object(group, "e", { cronSpec: "x" })),
    post(path, object(group, "e", { replicas: 1.5 })),
    post(path, object(group, "e", { mode: "c" })),
    post(path, object(group, "e", { ports: [{}] })),
    post(path, object(group, "f", { ports: [{ port: 1 }, { port: 1 }] })),
    post(path, object(group, "g", { image: null, any: null })),
    post(path, { ...object(group, "h"), spec: "x" }),
    post(path, {
      ...object(group, "i"),
      metadata: { name: "i", finalizers: ["x", "a.b/c", "a.b"] },
    }),
    post(
      `${path}?fieldValidation=Strict`,
      `{"apiVersion":"${group}/v1","kind":"CronTab","metadata":{"name":"j"},"spec":{"replicas":1,"replicas":2,"nope":1}}`,
    ),
  ]),
  defined("paths", {}, (group, path) => [
    post(path, object(group, "first")),
    get(`/apis/${group}/v1/crontabs/a`),
    post(`/apis/${group}/v1/crontabs`, object(group, "a")),
    get(`${path}/a/nope`),
    put(path, object(group, "a")),
    get(`/apis/${group}/v1/watch/namespaces/{ns}/crontabs?timeoutSeconds=1`),
    get(`/apis/${group}/v1/namespaces/{ns}/others`),
    post(`${path}/a`, object(group, "a")),
  ]),
  defined("cluster", { scope: "Cluster" }, (group, path) => [
    post(`/apis/${group}/v1/crontabs`, object(group, "a")),
    get(`/apis/${group}/v1/crontabs/a`),
    get(`${path}/a`),
    get(path),
    post(`/apis/${group}/v1/crontabs`, {
      ...object(group, "b"),
      metadata: { name: "b", namespace: "default" },
    }),
  ]),
  defined("names", {}, (group) => [
    post(
      definitions,
      definition(group, { names: { ...names, plural: "others", singular: "other" } as never }),
    ),
    { ...get(`${definitions}/others.${group}`), waitMs: 1_000 },
    get(`/apis/${group}/v1/namespaces/{ns}/others`),
    get(`/apis/${group}/v1`),
  ]),
  defined("end", {}, (group, path) => [
    post(path, { ...object(group, "held"), metadata: { name: "held", finalizers: ["a.b/c"] } }),
    post(path, object(group, "free")),
    remove(`${definitions}/crontabs.${group}`),
    { ...get(`${definitions}/crontabs.${group}`), waitMs: 1_000 },
    get(`/apis/${group}/v1`),
    get(path),
    post(path, object(group, "new")),
    patch("apply", `${path}/applied?fieldManager=me`, object(group, "applied")),
    patch("merge", `${path}/held`, { spec: { replicas: 1 } }),
    patch("merge", `${path}/held`, { metadata: { finalizers: null } }),
    { ...get(`${definitions}/crontabs.${group}`), waitMs: 6_500 },
    get(path),
    get(`/apis/${group}/v1`),
  ]),
];

export const customResources: Suite = { name: "customresources", cases };
