/**
 * Every resource and subresource with every patch type: first all of them at an object that is not there, so that
 * the answer tells whether the type is taken at all; then those that change something, at objects that are.
 */
import { builtinResources } from "#api/schema/resources.ts";
import { type AnyStep, type Case, get, patch, post, put, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

type Json = Readonly<Record<string, unknown>>;

const types: Readonly<Record<string, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
  cbor: "application/apply-patch+cbor",
  jsonObject: "application/json",
  yaml: "application/yaml",
};

const forms: Readonly<Record<string, string>> = { json: "[]", cbor: "\u0000" };

/** Versions that a stock server serves without being asked to. */
const isServed = ({ version: name }: { readonly version: string }): boolean => /^v\d+$/.test(name);

function pathOf(group: string, name: string, resource: string, isNamespaced: boolean): string {
  const root = group === "" ? `/api/${name}` : `/apis/${group}/${name}`;
  return `${root}/${isNamespaced ? "namespaces/{ns}/" : ""}${resource}/none`;
}

const patchable = builtinResources().filter(
  (info) => isServed(info) && info.verbs.includes("patch"),
);
/** By resource and group, in its newest version: answers are kept by the name of a case. */
const newest = new Map(patchable.map((info) => [`${info.resource}.${info.group}`, info]));

const gone = [...newest.values()].map((info): Case => {
  const { group, version: name, resource, kind, subresources } = info;
  const path = pathOf(group, name, resource, info.namespaced);
  const own = { group, version: name, kind };
  const parts = [
    { suffix: "", gvk: own },
    ...subresources.map((part) => ({
      suffix: `/${part.name}`,
      gvk: {
        ...own,
        kind: part.kind,
        ...(part.group === undefined ? {} : { group: part.group, version: part.version ?? "" }),
      },
    })),
  ].filter(({ suffix }) => !/\/(?:proxy|exec|attach|portforward)$/.test(suffix));
  const steps = parts.flatMap(({ suffix, gvk }) => patches(`${path}${suffix}`, gvk));
  return { name: `${resource}.${group} that is not there`, steps };
});

interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

function patches(path: string, { group, version: served, kind }: Gvk): readonly AnyStep[] {
  const apiVersion = group === "" ? served : `${group}/${served}`;
  // Of the object itself an apply would create it.
  const name = path.endsWith("/none") ? "other" : "none";
  const configuration = JSON.stringify({ apiVersion, kind, metadata: { name } });
  return Object.entries(types).map(([type, mediaType]) => ({
    method: "PATCH",
    path: `${path}?fieldManager=m`,
    body: forms[type] ?? (type === "apply" ? configuration : "{}"),
    type: mediaType,
  }));
}

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
const spec = { replicas: 1, selector: { matchLabels: { app: "a" } }, template };
const scale = (replicas: number | undefined, more: Json = {}): Json => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  ...(replicas === undefined ? {} : { spec: { replicas } }),
  ...more,
});

function scaled(path: string, made: Json): readonly AnyStep[] {
  const at = `${path}/s/scale`;
  const apply = (manager: string, body: object | string, query = ""): AnyStep =>
    patch("apply", `${at}?fieldManager=${manager}${query}`, body);
  return [
    post(`${path}?fieldManager=maker`, made),
    apply("m", scale(1)),
    get(`${path}/s`, { save: { uid: "metadata.uid", rv: "metadata.resourceVersion" } }),
    apply("m", scale(2)),
    apply("m", scale(2), "&force=true"),
    get(`${path}/s`),
    apply("m", scale(2)),
    apply("m", scale(3)),
    apply("n", scale(3)),
    apply("n", scale(4)),
    apply("n", scale(4), "&force=true&dryRun=All"),
    apply("n", scale(4), "&force=true"),
    get(`${path}/s`),
    apply("n", scale(undefined)),
    get(`${path}/s`),
    apply("n", scale(5, { metadata: { name: "s", namespace: "{ns}" } })),
    apply("n", scale(5, { metadata: { name: "other" } })),
    apply("n", scale(5, { metadata: { namespace: "default" } })),
    apply("n", scale(5, { metadata: { uid: "{uid}" } })),
    apply("n", scale(5, { metadata: { uid: "other" } })),
    apply("n", scale(5, { metadata: { resourceVersion: "{rv}" } })),
    apply("n", scale(5, { metadata: { resourceVersion: "none" } })),
    apply("n", scale(5, { metadata: { labels: { a: "b" } } })),
    apply("n", scale(6, { status: { replicas: 9, selector: "x=y" } })),
    apply("n", scale(-1)),
    apply("n", scale(1.5)),
    apply("n", scale(2147483648)),
    apply("n", { ...scale(1), spec: { replicas: "x" } }),
    apply("n", { ...scale(1), spec: { replicas: null } }),
    apply("n", { ...scale(1), spec: { unknown: 1 } }),
    apply("n", { ...scale(1), unknown: 1 }, "&fieldValidation=Strict"),
    apply(
      "n",
      "apiVersion: autoscaling/v1\nkind: Scale\nspec:\n  replicas: 1\n  replicas: 7\n",
      "&fieldValidation=Strict",
    ),
    apply("n", "apiVersion: autoscaling/v1\nkind: Scale\nspec:\n  replicas: 1\n  replicas: 7\n"),
    apply("n", { ...scale(1), apiVersion: "apps/v1" }),
    apply("n", { ...scale(1), kind: "Deployment" }),
    apply("n", {}),
    apply("n", scale(1, { metadata: { managedFields: [] } })),
    patch("apply", at, scale(1)),
    patch("apply", `${path}/none/scale?fieldManager=n`, scale(1)),
    patch("merge", `${at}?fieldManager=n&force=true`, { spec: { replicas: 8 } }),
    patch("merge", `${at}?fieldManager=o`, { spec: { replicas: 8 } }),
    patch("json", `${at}?fieldManager=p`, [{ op: "replace", path: "/spec/replicas", value: 9 }]),
    patch("strategic", `${at}?fieldManager=q`, { spec: { replicas: 10 } }),
    put(`${at}?fieldManager=r`, scale(11, { metadata: { name: "s", uid: "other" } })),
    put(`${at}?fieldManager=r`, scale(11, { metadata: { name: "s" } })),
    get(`${path}/s`),
    patch("apply", `${path}/s?fieldManager=maker`, { ...made, spec: { replicas: 11 } }),
    apply("m", scale(12)),
    apply("m", scale(12), "&force=true"),
    get(`${path}/s`),
  ];
}

const inNamespace = (group: string, resource: string): string =>
  group === ""
    ? `/api/v1/namespaces/{ns}/${resource}`
    : `/apis/${group}/namespaces/{ns}/${resource}`;

const made = (apiVersion: string, kind: string, own: Json): Json => ({
  apiVersion,
  kind,
  metadata: { name: "s" },
  spec: own,
});

const scales: readonly Case[] = [
  {
    name: "scale of a Deployment",
    steps: scaled(inNamespace("apps/v1", "deployments"), made("apps/v1", "Deployment", spec)),
  },
  {
    name: "scale of a ReplicaSet",
    steps: scaled(inNamespace("apps/v1", "replicasets"), made("apps/v1", "ReplicaSet", spec)),
  },
  {
    name: "scale of a StatefulSet",
    steps: scaled(
      inNamespace("apps/v1", "statefulsets"),
      made("apps/v1", "StatefulSet", { ...spec, serviceName: "x" }),
    ),
  },
  {
    name: "scale of a ReplicationController",
    steps: scaled(
      inNamespace("", "replicationcontrollers"),
      made("v1", "ReplicationController", { replicas: 1, selector: { app: "a" }, template }),
    ),
  },
];

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const servedAfterMs = 4_000;
const scaledSchema = object({
  spec: object({ size: { type: "integer" }, text: { type: "string" } }),
  status: object({ size: { type: "integer" }, selector: { type: "string" } }),
});
const subresources = {
  status: {},
  scale: {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.size",
    labelSelectorPath: ".status.selector",
  },
};
const custom = "/apis/schema.example.com/v1/namespaces/{ns}/sizeds";
const sized: Json = { apiVersion: "schema.example.com/v1", kind: "Sized" };
const customScale: Case = {
  name: "scale of a custom object",
  steps: [
    post(
      definitionsPath,
      definition("sizeds", [
        version("v1", scaledSchema, { subresources }),
        version("v2", scaledSchema),
      ]),
    ),
    {
      ...get(custom),
      waitMs: servedAfterMs,
    },
    post(custom, { ...sized, metadata: { name: "s" }, spec: { size: 1 } }),
    // A stock server fails at an apply that changes something: it asks for a custom object called Scale.
    patch("apply", `${custom}/s/scale?fieldManager=n`, scale(1)),
    get(`${custom}/s`),
    put(`${custom}/s/scale`, scale(2, { metadata: { name: "s", uid: "other" } })),
    patch("merge", `${custom}/s/scale`, { metadata: { uid: "other" }, spec: { replicas: 1 } }),
    ...["", "/status", "/scale"].flatMap((part) =>
      patches(
        `${custom}/none${part}`,
        part === "/scale"
          ? { group: "autoscaling", version: "v1", kind: "Scale" }
          : { group: "schema.example.com", version: "v1", kind: "Sized" },
      ),
    ),
  ],
};

const pods = inNamespace("", "pods");
const pod: Json = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
const ephemeral = { name: "e", image: "busybox", terminationMessagePolicy: "File" };
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const own: Case = {
  name: "other parts of objects that are there",
  steps: [
    post(pods, pod),
    patch("apply", `${pods}/p/status?fieldManager=m`, {
      apiVersion: "v1",
      kind: "Pod",
      status: { phase: "Running" },
    }),
    patch("apply", `${pods}/p/status?fieldManager=n`, {
      apiVersion: "v1",
      kind: "Pod",
      status: { phase: "Failed" },
    }),
    patch("apply", `${pods}/p/ephemeralcontainers?fieldManager=m`, {
      apiVersion: "v1",
      kind: "Pod",
      spec: { ephemeralContainers: [ephemeral] },
    }),
    patch("json", `${pods}/p/ephemeralcontainers?fieldManager=m`, [
      { op: "add", path: "/spec/ephemeralContainers/-", value: { ...ephemeral, name: "f" } },
    ]),
    patch("strategic", `${pods}/p/ephemeralcontainers?fieldManager=m`, {
      spec: { ephemeralContainers: [{ ...ephemeral, name: "g" }] },
    }),
    patch("merge", `${pods}/p/ephemeralcontainers?fieldManager=m`, {
      spec: { ephemeralContainers: [] },
    }),
    patch("apply", `${pods}/p/resize?fieldManager=m`, {
      apiVersion: "v1",
      kind: "Pod",
      spec: { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
    }),
    patch("merge", `${requests}/none/approval`, { status: {} }),
    patch("apply", `/api/v1/namespaces/{ns}/status?fieldManager=m`, {
      apiVersion: "v1",
      kind: "Namespace",
      status: { phase: "Active" },
    }),
    patch("merge", `/api/v1/namespaces/{ns}/finalize`, { spec: {} }),
    get(`${pods}/p`),
  ],
};

export const patchedParts: Suite = {
  name: "patchedparts",
  cases: [...gone, ...scales, customScale, own],
};
