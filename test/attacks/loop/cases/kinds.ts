/**
 * Objects just within what one may be built of, so that every step of a write sees them whole: checks,
 * defaults, managed fields, admission, validation, encodings, watches.
 */
import {
  type Attack,
  filled,
  json,
  keyedItemsMax,
  keysMax,
  listedObjectsMax,
  partsMax,
} from "../attack.ts";

interface Kind {
  readonly path: string;
  readonly head: string;
  readonly unit: (index: number) => string;
  readonly tail: string;
  /** What bounds the units: commas and brackets of one with its separator, or what each of them is. */
  readonly parts: number | "key" | "keyed item" | "listed object";
}

const core = "/api/v1/namespaces/default";

const kinds: Readonly<Record<string, Kind>> = {
  "unknown fields": {
    path: `${core}/configmaps?fieldValidation=Warn`,
    head: "",
    unit: (i) => `"f${i}":1`,
    tail: "",
    parts: "key",
  },
  "unknown empty arrays": {
    path: `${core}/configmaps`,
    head: `"x":[`,
    unit: () => "[]",
    tail: "]",
    parts: 2,
  },
  "unknown empty objects": {
    path: `${core}/configmaps`,
    head: `"x":[`,
    unit: () => "{}",
    tail: "]",
    parts: 2,
  },
  "a ConfigMap's keys": {
    path: `${core}/configmaps`,
    head: `"data":{`,
    unit: (i) => `"k${i}":""`,
    tail: "}",
    parts: "key",
  },
  "a ConfigMap's wrong keys": {
    path: `${core}/configmaps`,
    head: `"data":{`,
    unit: (i) => `"/${i}":""`,
    tail: "}",
    parts: "key",
  },
  "a Secret's keys": {
    path: `${core}/secrets`,
    head: `"data":{`,
    unit: (i) => `"k${i}":""`,
    tail: "}",
    parts: "key",
  },
  "a Secret's wrong values": {
    path: `${core}/secrets`,
    head: `"data":{`,
    unit: (i) => `"k${i}":"?"`,
    tail: "}",
    parts: "key",
  },
  containers: {
    path: `${core}/pods`,
    head: `"spec":{"containers":[`,
    unit: () => "{}",
    tail: "]}",
    parts: "keyed item",
  },
  "environment variables": {
    path: `${core}/pods`,
    head: `"spec":{"containers":[{"name":"c","image":"i","env":[`,
    unit: (i) => `{"name":"e${i}"}`,
    tail: "]}]}",
    parts: "keyed item",
  },
  "a pod's volumes": {
    path: `${core}/pods`,
    head: `"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[`,
    unit: (i) => `{"name":"v${i}"}`,
    tail: "]}",
    parts: "keyed item",
  },
  tolerations: {
    path: `${core}/pods`,
    head: `"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[`,
    unit: () => "{}",
    tail: "]}",
    parts: "listed object",
  },
  quantities: {
    path: `${core}/pods`,
    head: `"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{`,
    unit: (i) => `"a.b/c${i}":"1e3"`,
    tail: "}}}]}",
    parts: "key",
  },
  "a pod's node selector": {
    path: `${core}/pods`,
    head: `"spec":{"containers":[{"name":"c","image":"i"}],"nodeSelector":{`,
    unit: (i) => `"k${i}":""`,
    tail: "}}",
    parts: "key",
  },
  "an EndpointSlice's endpoints": {
    path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    head: `"addressType":"IPv4","ports":[],"endpoints":[`,
    unit: () => `{"addresses":["1.1.1.1"]}`,
    tail: "]",
    parts: "listed object",
  },
  "Endpoints' addresses": {
    path: `${core}/endpoints`,
    head: `"subsets":[{"ports":[{"port":1}],"addresses":[`,
    unit: (i) => `{"ip":"10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}"}`,
    tail: "]}]",
    parts: "listed object",
  },
  "Endpoints' subsets": {
    path: `${core}/endpoints`,
    head: `"subsets":[`,
    unit: (i) => `{"addresses":[{"ip":"1.1.1.1"}],"ports":[{"port":${i % 60_000}}]}`,
    tail: "]",
    parts: "listed object",
  },
  "a NetworkPolicy's rules": {
    path: "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
    head: `"spec":{"podSelector":{},"ingress":[`,
    unit: () => "{}",
    tail: "]}",
    parts: "listed object",
  },
  "an Ingress's paths": {
    path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    head: `"spec":{"rules":[{"http":{"paths":[`,
    unit: (i) =>
      `{"path":"/${i}","pathType":"Exact","backend":{"service":{"name":"a","port":{"number":1}}}}`,
    tail: "]}}]}",
    parts: 8,
  },
  "a Service's ports": {
    path: `${core}/services`,
    head: `"spec":{"ports":[`,
    unit: (i) => `{"name":"p${i}","port":${1 + (i % 65_000)}}`,
    tail: "]}",
    parts: "keyed item",
  },
  "a ControllerRevision's data": {
    path: "/apis/apps/v1/namespaces/default/controllerrevisions",
    head: `"revision":1,"data":{"x":[`,
    unit: () => "{}",
    tail: "]}",
    parts: 2,
  },
  "a ControllerRevision's keys": {
    path: "/apis/apps/v1/namespaces/default/controllerrevisions",
    head: `"revision":1,"data":{`,
    unit: (i) => `"${i}":{}`,
    tail: "}",
    parts: "key",
  },
};

const metadatas: Readonly<Record<string, Omit<Kind, "path">>> = {
  labels: { head: `"labels":{`, unit: (i) => `"l${i}":""`, tail: "}", parts: "key" },
  "wrong labels": { head: `"labels":{`, unit: (i) => `"/l${i}":"*"`, tail: "}", parts: "key" },
  annotations: { head: `"annotations":{`, unit: (i) => `"l${i}":""`, tail: "}", parts: "key" },
  "owner references": {
    head: `"ownerReferences":[`,
    unit: (i) => `{"apiVersion":"v1","kind":"Pod","name":"a${i}","uid":"u${i}"}`,
    tail: "]",
    parts: "keyed item",
  },
  finalizers: { head: `"finalizers":[`, unit: (i) => `"a${i}"`, tail: "]", parts: "keyed item" },
  "managedFields entries": {
    head: `"managedFields":[`,
    unit: (i) =>
      `{"manager":"m${i}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}`,
    tail: "]",
    parts: 7,
  },
  "managed fields": {
    head: `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{`,
    unit: (i) => `"f:${i}":{}`,
    tail: "}}}]",
    parts: "key",
  },
};

/** Room for the parts and keys around the units. */
const slack = 40;

function fitting({ head, unit, tail, parts }: Omit<Kind, "path">): string {
  return filled(head, unit, tail, { countMax: countMax(parts) });
}

function countMax(parts: Kind["parts"]): number {
  if (parts === "key") return keysMax - slack;
  if (parts === "keyed item") return keyedItemsMax - slack;
  // Addresses and ports are such objects, too.
  if (parts === "listed object") return Math.floor((listedObjectsMax - slack) / 2);
  return Math.floor((partsMax - slack) / parts);
}

const taken = [201, 400, 413, 422, 500];

export const kindAttacks: readonly Attack[] = [
  ...Object.entries(kinds).map(([name, kind], at): Attack => {
    const body = (): string => `{"metadata":{"name":"kind-${at}"},${fitting(kind)}}`;
    const request = { method: "POST", path: kind.path, contentType: json, body };
    return { name: `${name} within the limits`, requests: [request], expect: taken };
  }),
  ...Object.entries(metadatas).map(([name, kind], at): Attack => {
    const path = `${core}/configmaps`;
    const body = (): string => `{"metadata":{"name":"metadata-${at}",${fitting(kind)}}}`;
    const request = { method: "POST", path, contentType: json, body };
    return { name: `${name} within the limits`, requests: [request], expect: taken };
  }),
  {
    name: "a PUT of a ConfigMap whose keys all change",
    prepare: (plane) => plane.send({ ...putKeys("a"), method: "POST", path: `${core}/configmaps` }),
    requests: [putKeys("b"), { method: "GET", path: `${core}/configmaps/put` }],
    expect: 200,
  },
];

function putKeys(prefix: string): Attack["requests"][number] {
  const keys = { head: `"data":{`, unit: (i: number) => `"${prefix}${i}":""`, tail: "}" };
  return {
    method: "PUT",
    path: `${core}/configmaps/put`,
    contentType: json,
    body: () => `{"metadata":{"name":"put"},${fitting({ ...keys, parts: "key" })}}`,
  };
}
