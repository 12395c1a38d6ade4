/**
 * What a server says of fields that it does not know, and of those that stand twice: by every way to write, in JSON
 * and YAML, for a built-in kind, a custom one with a schema and one that keeps whatever it gets; under each
 * directive. Words and order count: a person reads them.
 */
import { type AnyStep, type Case, patch, post, type Step, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

type Json = Readonly<Record<string, unknown>>;

const directives = ["Strict", "Warn", "Ignore", ""] as const;

/** The same step under each directive. */
function each(make: (query: string, name: string) => Step): readonly Step[] {
  return directives.map((directive) =>
    make(
      `?fieldManager=m${directive === "" ? "" : `&fieldValidation=${directive}`}`,
      directive === "" ? "none" : directive.toLowerCase(),
    ),
  );
}

interface Written {
  readonly path: string;
  /** Texts with `NAME` for the object's name. */
  readonly good: string;
  readonly wrongJson: string;
  readonly wrongYaml: string;
  readonly wrongApply: string;
  readonly mergePatches: readonly string[];
  readonly jsonPatches: readonly string[];
  readonly strategicPatches: readonly string[];
}

const named = (text: string, name: string): string => text.replaceAll("NAME", name);

function whole(written: Written): readonly AnyStep[] {
  const { path, good, wrongJson, wrongYaml } = written;
  return [
    ...each((query, name) => post(`${path}${query}`, named(wrongJson, `json-${name}`))),
    ...each((query, name) => ({
      ...post(`${path}${query}`, named(wrongYaml, `yaml-${name}`)),
      type: "application/yaml",
    })),
    post(path, named(good, "put")),
    ...each((query) => put(`${path}/put${query}`, named(wrongJson, "put"), "application/json")),
    ...each((query) => put(`${path}/put${query}`, named(wrongYaml, "put"), "application/yaml")),
    ...each((query) => put(`${path}/put${query}`, named(wrongJson, "put"), "application/yaml")),
  ];
}

function put(path: string, body: string, type: string): Step {
  return { method: "PUT", path, body, type };
}

function patched(written: Written): readonly AnyStep[] {
  const { path, good, mergePatches, jsonPatches, strategicPatches } = written;
  const forms = [
    ["merge", mergePatches],
    ["json", jsonPatches],
    ["strategic", strategicPatches],
  ] as const;
  return [
    post(path, named(good, "patched")),
    ...forms.flatMap(([form, bodies]) =>
      bodies.flatMap((body) => each((query) => patch(form, `${path}/patched${query}`, body))),
    ),
  ];
}

/** Of fields that are not known, stock tells any: the map is gone through in no order. */
function applied({ path, good, wrongApply }: Written): readonly AnyStep[] {
  return [
    ...each((query, name) =>
      apply(`${path}/new-${name}${query}`, named(wrongApply, `new-${name}`)),
    ),
    apply(`${path}/old?fieldManager=m`, named(good, "old")),
    ...each((query) => apply(`${path}/old${query}`, named(wrongApply, "old"))),
  ];
}

function apply(path: string, body: string): Step {
  return patch("apply", path, body);
}

const template = `{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`;
const deployments: Written = {
  path: "/apis/apps/v1/namespaces/{ns}/deployments",
  good: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":${template}}}`,
  wrongJson: `{"apiVersion":"apps/v1","kind":"Deployment","madeUp":1,
 "metadata":{"name":"first","name":"NAME","wrongMeta":"m","labels":{"a":"1","a":"2"}},
 "spec":{"wrong":"1","wrongTwice":"1","wrongTwice":"2","paused":false,"paused":true,"selector":{"matchLabels":{"app":"a"}},
  "template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i","wrongNested":{"x":1,"x":2},
   "imagePullPolicy":"Always","imagePullPolicy":"Never","env":[{"name":"A","name":"B"},{"nome":"C"}]}]}}}}`,
  wrongYaml: `apiVersion: apps/v1
kind: Deployment
zzz: 1
metadata:
  name: first
  name: NAME
  wrongMeta: m
spec:
  wrong: 1
  wrongTwice: 1
  wrongTwice: 2
  paused: false
  paused: true
  selector:
    matchLabels:
      app: a
  template:
    metadata:
      labels:
        app: a
    spec:
      containers:
      - name: c
        image: i
        wrongNested: v
        imagePullPolicy: Always
        imagePullPolicy: Never
      - {name: d, image: i, aaa: 1, name: e}
`,
  wrongApply: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME"},
"spec":{"paused":false,"paused":true,"selector":{"matchLabels":{"app":"a"}},
"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i",
"imagePullPolicy":"Never","imagePullPolicy":"Always"}]}}}}`,
  mergePatches: [
    `{"spec":{"wrong":"1","wrongTwice":"1","wrongTwice":"2","paused":false,"paused":true,"template":{"spec":{"containers":[{"name":"c","image":"i","wrongNested":"v","imagePullPolicy":"Always","imagePullPolicy":"Never"}]}}}}`,
    `{"spec":{"wrong":{"a":1,"a":2},"template":{"spec":{"wrong":1}}},"metadata":{"wrong":{"b":1,"b":2}},"wrong":1,"wrong":2}`,
    `{"spec":{"paused":true},"metadata":{"annotations":{"b":"1","a":"1","b":"2"}}}`,
    `{"spec":{"wrong":null,"wrong":null}}`,
    `{"unknown":1,"spec":{"replicas":"x"}}`,
  ],
  jsonPatches: [
    `[{"op":"add","path":"/spec/wrong","value":"1","foo":"bar"},{"op":"add","path":"/spec/wrongTwice","value":"1"},{"op":"add","path":"/spec/wrongTwice","value":"2"},{"op":"replace","path":"/spec/paused","value":false},{"op":"replace","path":"/spec/paused","value":true},{"op":"add","path":"/spec/template/spec/containers/0/wrongNested","value":"v"},{"op":"add","path":"/spec/paused","path":"/spec/paused","value":true}]`,
    `[{"op":"add","path":"/metadata/annotations","value":{"a":"1","a":"2"}}]`,
    `[{"op":"add","path":"/spec/paused","value":false,"value":true,"Op":"remove","PATH":"/x"}]`,
    `[{"op":"add","path":"/spec/replicas","value":"x","foo":1}]`,
    `[{"op":"test","path":"/spec/replicas","value":7,"foo":1}]`,
    `[{"op":1,"path":"/spec/paused","value":true}]`,
    `[{"op":"add","path":2,"value":true}]`,
    `[{"op":"remove","path":"/spec/none","from":3}]`,
    `[null]`,
    `[1]`,
    `[[]]`,
    `{}`,
    `null`,
    `"x"`,
    `[{"op":"add","path":"/metadata/labels","value":{"x":"y"},"from":"","foo":{"a":1,"a":2}}]`,
  ],
  strategicPatches: [
    `{"spec":{"wrong":"1","wrongTwice":"1","wrongTwice":"2","paused":false,"paused":true,"template":{"spec":{"containers":[{"name":"c","image":"i","wrongNested":"v","imagePullPolicy":"Always","imagePullPolicy":"Never"}]}}}}`,
    `{"spec":{"wrong":{"a":1,"a":2}},"metadata":{"wrong":{"b":1,"b":2}},"wrong":1,"wrong":2}`,
    `{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"replace","image":"j","wrong":1}]}}}}`,
    `{"spec":{"template":{"spec":{"volumes":[{"name":"v","wrong":1,"emptyDir":{"wrong":2}}]}}}}`,
    `{"zz":1,"aa":1,"spec":{"zz":1,"aa":1}}`,
    `{"spec":{"replicas":"x","wrong":1}}`,
    `[]`,
    `null`,
    `"x"`,
  ],
};

const field = { type: "string" };
const ports = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["port"],
  items: object(
    { port: { type: "integer" }, name: field, host: { type: "integer" } },
    { required: ["port"] },
  ),
};
const embedded = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  properties: {
    apiVersion: field,
    kind: field,
    metadata: { type: "object" },
    spec: object({ a: field }),
  },
};
const known = {
  spec: object({
    known: field,
    ports,
    embedded,
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  }),
};
const open = { "x-kubernetes-preserve-unknown-fields": true };

function custom(plural: string, kind: string): Written {
  const head = `"apiVersion":"schema.example.com/v1","kind":"${kind}"`;
  const inner = `"apiVersion":"v1","kind":"ConfigMap"`;
  return {
    path: `/apis/schema.example.com/v1/namespaces/{ns}/${plural}`,
    good: `{${head},"metadata":{"name":"NAME"},"spec":{"known":"v","ports":[{"port":1,"name":"p"}],"embedded":{${inner},"metadata":{"name":"m"}}}}`,
    wrongJson: `{${head},"madeUp":1,"metadata":{"name":"first","name":"NAME","wrongMeta":"m"},
 "spec":{"wrong":"1","wrongTwice":"1","wrongTwice":"2","known":"1","known":"2",
 "ports":[{"port":1,"name":"p","host":1,"host":2,"wrongNested":"v"}],"free":{"x":1,"x":2},
 "embedded":{${inner},"extra":1,"metadata":{"name":"m","namespace":"n","wrongMeta":"x"},"spec":{"b":1}}}}`,
    wrongYaml: `apiVersion: schema.example.com/v1
kind: ${kind}
zzz: 1
metadata:
  name: first
  name: NAME
  wrongMeta: m
spec:
  wrong: 1
  wrongTwice: 1
  wrongTwice: 2
  known: one
  known: two
  ports:
  - port: 1
    name: p
    host: 1
    host: 2
    wrongNested: v
  embedded:
    apiVersion: v1
    kind: ConfigMap
    extra: 1
    metadata:
      name: m
      wrongMeta: x
`,
    wrongApply: `{${head},"metadata":{"name":"NAME"},
 "spec":{"known":"1","known":"2","ports":[{"port":1,"name":"p",
 "host":1,"host":2}],"embedded":{${inner},"metadata":{"name":"m"}}}}`,
    mergePatches: [
      `{"spec":{"wrong":"1","wrongTwice":"1","wrongTwice":"2","known":"1","known":"2","ports":[{"port":1,"host":1,"host":2,"wrongNested":"v"}]}}`,
      `{"wrong":{"a":1,"a":2},"metadata":{"wrong":1},"spec":{"embedded":{"metadata":{"wrong":1,"wrong":2}},"free":{"a":1,"a":2}}}`,
    ],
    jsonPatches: [
      `[{"op":"add","path":"/spec/wrong","value":"1","foo":"bar"},{"op":"add","path":"/spec/wrongTwice","value":"1"},{"op":"add","path":"/spec/wrongTwice","value":"2"},{"op":"replace","path":"/spec/known","value":"1"},{"op":"replace","path":"/spec/known","value":"2"},{"op":"add","path":"/spec/ports/0/wrongNested","value":"v"},{"op":"add","path":"/spec/known","path":"/spec/known","value":"3"}]`,
      `[{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"add","path":"/metadata/wrong","value":1}]`,
    ],
    strategicPatches: [`{"spec":{"wrong":1}}`],
  };
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const servedAfterMs = 4_000;

function customCase(name: string, plural: string, schema: Json): Case {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  const written = custom(plural, kind);
  const [first, ...rest] = whole(written) as readonly [Step, ...Step[]];
  return {
    name,
    steps: [
      post(definitions, definition(plural, [version("v1", schema)])),
      { ...first, waitMs: servedAfterMs },
      ...rest,
      ...patched(written),
      ...applied(written),
    ],
  };
}

const finalizers = (...names: readonly string[]): Json => ({
  apiVersion: "schema.example.com/v1",
  kind: "Finalized",
  metadata: { name: "f", finalizers: names },
});
const finalized = "/apis/schema.example.com/v1/namespaces/{ns}/finalizeds";
const finalizersOf: Case = {
  name: "finalizers of a custom object",
  steps: [
    post(definitions, definition("finalizeds", [version("v1", { type: "object", ...open })])),
    {
      ...apply(`${finalized}/f?fieldManager=m`, JSON.stringify(finalizers("bad"))),
      waitMs: servedAfterMs,
    },
    apply(`${finalized}/f?fieldManager=m`, JSON.stringify(finalizers("a.example.com/b"))),
    apply(`${finalized}/f?fieldManager=m`, JSON.stringify(finalizers("a.example.com"))),
    apply(`${finalized}/f?fieldManager=m`, JSON.stringify(finalizers("a.example.com/b", "?bad"))),
    apply(`${finalized}/f?fieldManager=m`, JSON.stringify(finalizers("c.example.com/d", "a/b"))),
    patch("merge", `${finalized}/f`, { metadata: { finalizers: ["x"] } }),
  ],
};

/** One mistake each, in bodies of kinds that are read in other ways. */
const maps = "/api/v1/namespaces/{ns}/configmaps";
const others: Case = {
  name: "other bodies",
  steps: [
    ...each((query, name) =>
      post(
        `${maps}${query}`,
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a-${name}"},"data":{"a":"1","a":"2","__proto__":"3","__proto__":"4"},"binaryData":{},"binaryData":{}}`,
      ),
    ),
    ...each((query, name) =>
      post(
        `${maps}${query}`,
        `{"metadata":{"name":"b-${name}","creationTimestamp":null,"creationTimestamp":null,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","uid":"v","wrong":1}]},"a.b":1,"a[0]":{"\\n":1},"\\u00e9\\"":1,"":1}`,
      ),
    ),
    ...each((query, name) => ({
      ...post(
        `${maps}${query}`,
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-${name}"},\n"data":{"a":"1",\n"a":"2"},"wrong":1,"wrong":2}`,
      ),
      type: "application/yaml",
    })),
    ...each((query, name) => ({
      ...post(
        `${maps}${query}`,
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d-${name}}\ndata: {1: a, 1: b, true: d, yes: e, a: f, 'a': g}\nwrong: {x: 1}\n`,
      ),
      type: "application/yaml",
    })),
    ...each((query) =>
      post(
        `/api/v1/namespaces/{ns}/pods/none/eviction${query}`,
        `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"none","name":"none","wrong":1},"wrong":1}`,
      ),
    ),
    ...each((query) =>
      post(
        `/api/v1/namespaces/{ns}/pods/none/binding${query}`,
        `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"none","wrong":1},"target":{"name":"n","name":"n","wrong":1}}`,
      ),
    ),
    ...each((query) =>
      post(
        `/api/v1/namespaces/{ns}/serviceaccounts/default/token${query}`,
        `{"spec":{"audiences":["a"],"expirationSeconds":600,"expirationSeconds":700,"wrong":1}}`,
      ),
    ),
    ...each((query) =>
      post(
        `/apis/authorization.k8s.io/v1/selfsubjectaccessreviews${query}`,
        `{"spec":{"resourceAttributes":{"verb":"get","verb":"list","wrong":1},"wrong":2}}`,
      ),
    ),
    ...each((query) =>
      put(
        `/apis/apps/v1/namespaces/{ns}/deployments/none/scale${query}`,
        `{"metadata":{"name":"none"},"spec":{"replicas":1,"replicas":2,"wrong":1}}`,
        "application/json",
      ),
    ),
    {
      method: "DELETE",
      path: `${maps}/none`,
      body: `{"kind":"DeleteOptions","apiVersion":"v1","wrong":1,"dryRun":[],"dryRun":[]}`,
    },
  ],
};

export const fieldValidation: Suite = {
  name: "fieldvalidation",
  cases: [
    { name: "a built-in kind, whole", steps: whole(deployments) },
    { name: "a built-in kind, patched", steps: patched(deployments) },
    { name: "a built-in kind, applied", steps: applied(deployments) },
    customCase("a custom kind with a schema", "schemeds", { type: "object", properties: known }),
    customCase("a custom kind without one", "schemalesses", { type: "object", ...open }),
    finalizersOf,
    others,
  ],
};
