/**
 * Server-side apply at its edges: what a configuration may leave out, what it may claim, how ownership begins
 * anew; and neighbours of each that are no applies: patches and puts that say the same.
 */
import { type AnyStep, type Case, get, patch, post, put, type Suite } from "../exchange.ts";

type Json = Readonly<Record<string, unknown>>;

const maps = "/api/v1/namespaces/{ns}/configmaps";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const daemonSets = "/apis/apps/v1/namespaces/{ns}/daemonsets";
const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

const map = (metadata: Json, data: Json = { k: "v" }): Json => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata,
  data,
});
const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
const spec = { selector: { matchLabels: { app: "a" } }, template };
const deployment = (metadata: Json, more: Json = {}): Json => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata,
  spec: { ...spec, ...more },
});
const daemonSet = (metadata: Json, more: Json = {}): Json => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata,
  spec: { ...spec, ...more },
});

const apply = (path: string, body: object | string, query = ""): AnyStep =>
  patch("apply", `${path}?fieldManager=m${query}`, body);
const other = (path: string, body: object | string, query = ""): AnyStep =>
  patch("apply", `${path}?fieldManager=n${query}`, body);

const names: Case = {
  name: "names and namespaces",
  steps: [
    apply(`${maps}/none`, map({})),
    apply(`${maps}/none`, { apiVersion: "v1", kind: "ConfigMap" }),
    apply(`${maps}/none`, map({ namespace: "{ns}" })),
    apply(`${maps}/none`, map({ name: "other" })),
    apply(`${maps}/none`, map({ name: "none", namespace: "default" })),
    apply(`${maps}/none`, map({ namespace: "default" })),
    apply(`${maps}/none`, map({ generateName: "none-" })),
    apply(`${maps}/a`, map({ name: "a" })),
    apply(`${maps}/a`, map({}, { k: "w" })),
    apply(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", data: { k: "x" } }),
    apply(`${maps}/a`, map({ name: "b" })),
    apply(`${maps}/a`, map({ name: "" })),
    apply(`${maps}/a`, map({ namespace: "default" })),
    apply(`${maps}/a`, map({ namespace: "" })),
    apply(`${maps}/a`, map({ name: null, namespace: null })),
    other(`${maps}/a`, map({}, { k: "y" })),
    other(`${maps}/a`, map({}, { k: "y" }), "&force=true"),
    apply(`${deployments}/d`, deployment({ name: "d" })),
    apply(`${deployments}/d`, { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 2 } }),
    apply(`${deployments}/d/status`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      status: { replicas: 3 },
    }),
    apply(`${deployments}/none/status`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      status: { replicas: 3 },
    }),
    patch("merge", `${maps}/a`, { metadata: { name: "b", namespace: "default" } }),
    patch("merge", `${maps}/a`, { metadata: { name: null } }),
    put(`${maps}/a`, map({ namespace: "default" })),
    put(`${maps}/a`, map({ namespace: "{ns}" })),
    apply(`${roles}/{ns}`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      rules: [],
    }),
    apply(`${roles}/{ns}?dryRun=All`.replace("?", "?x=1&"), {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "{ns}", namespace: "default" },
    }),
  ],
};

const identities: Case = {
  name: "identities",
  steps: [
    apply(`${maps}/a`, map({ name: "a", uid: "u" })),
    apply(`${maps}/a`, map({ uid: "u" })),
    apply(`${maps}/a`, map({ name: "a", uid: "" })),
    get(`${maps}/a`, { save: { uid: "metadata.uid", rv: "metadata.resourceVersion" } }),
    apply(`${maps}/a`, map({ uid: "{uid}" }, { k: "w" })),
    apply(`${maps}/a`, map({ uid: "other" })),
    apply(`${maps}/a`, map({ resourceVersion: "1" })),
    apply(`${maps}/a`, map({ resourceVersion: "{rv}" })),
    apply(`${maps}/a`, map({ resourceVersion: "none" })),
    apply(`${maps}/a`, map({ creationTimestamp: "2020-01-01T00:00:00Z" })),
    apply(`${maps}/a`, map({ generation: 7, selfLink: "x" })),
    apply(`${maps}/b`, map({ name: "b", resourceVersion: "7" })),
    apply(`${maps}/c`, map({ name: "c", resourceVersion: "none" })),
    patch("merge", `${maps}/a`, { metadata: { uid: "other" } }),
    patch("merge", `${maps}/a`, { metadata: { resourceVersion: "none" } }),
    put(`${maps}/a`, map({ name: "a", resourceVersion: "none" })),
    put(`${maps}/a`, map({ name: "a", uid: "other" })),
    put(`${maps}/missing`, map({ name: "missing", uid: "other" })),
    post(maps, map({ name: "p1", resourceVersion: "none" })),
    post(maps, map({ name: "p2", resourceVersion: "-1" })),
    post(maps, map({ name: "p3", resourceVersion: "1.5" })),
    post(maps, map({ name: "p4", resourceVersion: "0" })),
    post(maps, map({ name: "p5", resourceVersion: "00" })),
    post(maps, map({ name: "p6", resourceVersion: "7" })),
    post(maps, map({ name: "p7", resourceVersion: "18446744073709551616" })),
    post(maps, map({ name: "p8", resourceVersion: "none" }), {}),
    post(maps, map({ name: "p10", uid: "mine" })),
    get(`${maps}/p1`),
  ],
};

const types: Case = {
  name: "types",
  steps: [
    post(maps, { ...map({ name: "p" }), apiVersion: "/v1" }),
    post(maps, { ...map({ name: "p2" }), apiVersion: "v1/" }),
    post(maps, { ...map({ name: "p3" }), apiVersion: "/" }),
    post(maps, { ...map({ name: "p4" }), apiVersion: "//v1" }),
    post(maps, { ...map({ name: "p5" }), apiVersion: "a/b/c" }),
    post(maps, { ...map({ name: "p6" }), apiVersion: " v1" }),
    post(maps, { ...map({ name: "p7" }), apiVersion: 1 }),
    post(maps, { ...map({ name: "p8" }), apiVersion: null, kind: null }),
    post(maps, { ...map({ name: "p9" }), kind: 1 }),
    post(deployments, { ...deployment({ name: "p1" }), apiVersion: "apps/" }),
    post(deployments, { ...deployment({ name: "p2" }), apiVersion: "apps" }),
    post(deployments, { ...deployment({ name: "p3" }), apiVersion: "/v1" }),
    post(deployments, { ...deployment({ name: "p4" }), apiVersion: "apps/v1/" }),
    put(`${maps}/p`, { ...map({ name: "p" }, { k: "w" }), apiVersion: "/v1" }),
    patch("merge", `${maps}/p`, { apiVersion: "/v1" }),
    patch("strategic", `${maps}/p`, { apiVersion: "/v1" }),
    patch("json", `${maps}/p`, [{ op: "replace", path: "/apiVersion", value: "/v1" }]),
    patch("merge", `${maps}/p`, { apiVersion: "v2" }),
    patch("strategic", `${maps}/p`, { apiVersion: "v2" }),
    patch("merge", `${maps}/p`, { kind: "Secret" }),
    patch("strategic", `${maps}/p`, { kind: "Secret" }),
    apply(`${maps}/a`, { ...map({ name: "a" }), apiVersion: "/v1" }),
    get(`${maps}/a`),
    apply(`${maps}/a`, { ...map({}), apiVersion: "v1/" }),
    apply(`${maps}/a`, { ...map({}), apiVersion: "a/b/c" }),
    apply(`${maps}/a`, { ...map({}), apiVersion: 1 }),
    apply(`${maps}/a`, { ...map({}), apiVersion: null }),
    apply(`${maps}/a`, { ...map({}), kind: 5 }),
    apply(`${maps}/a`, { ...map({}), kind: "configmap" }),
    apply(`${maps}/a`, { metadata: {} }),
    apply(`${maps}/a`, {}),
    apply(`${maps}/a`, "[]"),
    apply(`${maps}/a`, '"text"'),
    apply(`${maps}/a`, "5"),
    apply(`${maps}/a`, "true"),
    apply(`${maps}/a`, "null"),
    apply(`${maps}/a`, ""),
    apply(`${deployments}/d`, { ...deployment({ name: "d" }), apiVersion: "apps/" }),
    apply(`${deployments}/d`, { ...deployment({ name: "d" }), apiVersion: "apps/v1beta1" }),
    apply(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", metadata: "x" }),
    apply(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", metadata: [] }),
    apply(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", metadata: null }),
    apply(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: null } }),
  ],
};

const steps = (path: string, body: (metadata: Json) => Json): readonly AnyStep[] => [
  apply(`${path}/a`, body({ name: "a", managedFields: [] })),
  apply(`${path}/a`, body({ name: "a", managedFields: [{}] })),
  apply(`${path}/a`, body({ name: "a", managedFields: {} })),
  apply(`${path}/a`, body({ name: "a", managedFields: null })),
  put(`${path}/a`, body({ name: "a", managedFields: [] })),
  put(`${path}/a`, body({ name: "a", labels: { a: "b" } })),
  apply(`${path}/a`, body({ name: "a", labels: { a: "c" } })),
  apply(`${path}/a`, body({ name: "a", labels: { a: "c" } }), "&force=true"),
  put(`${path}/a`, body({ name: "a", labels: { a: "c" }, managedFields: [{}] })),
  apply(`${path}/a`, body({ name: "a" })),
  patch("merge", `${path}/a`, { metadata: { managedFields: [] } }),
  apply(`${path}/a`, body({ name: "a" })),
  patch("json", `${path}/a`, [{ op: "replace", path: "/metadata/managedFields", value: [] }]),
  apply(`${path}/a`, body({ name: "a" })),
  patch("json", `${path}/a`, [{ op: "replace", path: "/metadata/managedFields", value: [{}] }]),
  apply(`${path}/a`, body({ name: "a" })),
  patch("json", `${path}/a`, [{ op: "remove", path: "/metadata/managedFields" }]),
  patch("merge", `${path}/a`, { metadata: { managedFields: null } }),
  put(`${path}/a`, body({ name: "a", managedFields: null })),
  put(`${path}/a`, body({ name: "a", managedFields: [{}, {}] })),
  put(`${path}/a`, body({ name: "a", managedFields: [{ manager: "x" }] })),
  patch("merge", `${path}/a`, {
    metadata: {
      labels: { merged: "yes" },
      managedFields: [{ manager: "x", operation: "Replace" }],
    },
  }),
  post(path, body({ name: "b", managedFields: [] })),
  post(path, body({ name: "c", managedFields: [{}] })),
  post(path, body({ name: "d", managedFields: [{ manager: "x" }] })),
  get(`${path}/a`),
];

const ownership: Case = {
  name: "ownership begins anew",
  steps: [
    ...steps(maps, (metadata) => map(metadata)),
    patch("strategic", `${maps}/a`, { metadata: { managedFields: [] } }),
    apply(`${maps}/a`, map({ name: "a" })),
    patch("strategic", `${maps}/a`, { metadata: { managedFields: [{}] } }),
  ],
};

const inSubresource: Case = {
  name: "ownership in a subresource",
  steps: [
    apply(`${deployments}/d`, deployment({ name: "d" }, { replicas: 1 })),
    patch("merge", `${deployments}/d/status`, {
      metadata: { managedFields: [] },
      status: { replicas: 1 },
    }),
    put(`${deployments}/d/status`, {
      ...deployment({ name: "d", managedFields: [] }),
      status: { replicas: 2 },
    }),
    post(
      deployments,
      deployment(
        { name: "e" },
        {
          template: { ...template, metadata: { labels: { app: "a" }, managedFields: [] } },
        },
      ),
    ),
  ],
};

const generation = "deprecated.daemonset.template.generation";
const changed = { ...template, metadata: { labels: { app: "a", b: "c" } } };
const owned: Case = {
  name: "a DaemonSet's counter has an owner",
  steps: [
    post(daemonSets, daemonSet({ name: "d" })),
    post(daemonSets, daemonSet({ name: "given", annotations: { [generation]: "7" } })),
    post(daemonSets, daemonSet({ name: "other", annotations: { a: "b" } })),
    post(daemonSets, daemonSet({ name: "bad", annotations: { [generation]: "x" } })),
    post(
      daemonSets,
      daemonSet({ name: "long", annotations: { [generation]: "92233720368547758070" } }),
    ),
    put(`${daemonSets}/d?fieldManager=p`, daemonSet({ name: "d" })),
    put(`${daemonSets}/d?fieldManager=q`, daemonSet({ name: "d" }, { template: changed })),
    put(
      `${daemonSets}/d?fieldManager=r`,
      daemonSet({ name: "d", annotations: { [generation]: "2" } }),
    ),
    patch("merge", `${daemonSets}/d?fieldManager=s`, {
      metadata: { annotations: { [generation]: null } },
    }),
    patch("merge", `${daemonSets}/d?fieldManager=t`, {
      metadata: { annotations: { [generation]: "x" } },
    }),
    patch("strategic", `${daemonSets}/d?fieldManager=u`, {
      spec: { template: { metadata: { labels: { b: "d" } } } },
    }),
    apply(`${daemonSets}/e`, daemonSet({ name: "e" })),
    apply(`${daemonSets}/e`, daemonSet({ name: "e" }, { template: changed })),
    other(
      `${daemonSets}/e`,
      daemonSet({ name: "e", annotations: { [generation]: "9" } }, { template: changed }),
    ),
    put(`${daemonSets}/e?fieldManager=v`, daemonSet({ name: "e" }, { template: changed })),
    apply(`${daemonSets}/d`, daemonSet({ name: "d" }), "&force=true"),
  ],
};

const owner = (more: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  name: "p",
  uid: "u",
  ...more,
});
const twice = [owner(), owner()];
const owners: Case = {
  name: "owners named twice",
  steps: [
    post(maps, map({ name: "a", ownerReferences: [...twice, owner()] })),
    post(maps, map({ name: "b", ownerReferences: [owner(), owner({ controller: true })] })),
    post(maps, map({ name: "c", ownerReferences: [owner({ controller: false }), owner()] })),
    post(
      maps,
      map({
        name: "d",
        ownerReferences: [owner(), owner({ uid: "w" }), owner(), owner({ uid: "w" })],
      }),
    ),
    put(`${maps}/a`, map({ name: "a", ownerReferences: twice })),
    patch("json", `${maps}/a`, [
      { op: "add", path: "/metadata/ownerReferences/-", value: owner() },
    ]),
    patch("merge", `${maps}/a`, { metadata: { ownerReferences: twice } }),
    patch("strategic", `${maps}/a`, { metadata: { ownerReferences: twice } }),
    apply(`${maps}/a`, map({ ownerReferences: twice }), "&force=true"),
    put(`${maps}/missing`, map({ name: "missing", ownerReferences: twice })),
  ],
};

const conflicting = (manager: string, replicas: number, query = ""): AnyStep =>
  patch(
    "apply",
    `${deployments}/d?fieldManager=${manager}${query}`,
    deployment({ name: "d" }, { replicas }),
  );
const conflicts: Case = {
  name: "conflicts in order",
  steps: [
    conflicting("one", 1),
    conflicting("two", 1, "&force=true"),
    patch("merge", `${deployments}/d?fieldManager=one`, { spec: { replicas: 2, paused: true } }),
    conflicting("three", 3),
    patch("apply", `${deployments}/e?fieldManager=one`, deployment({ name: "e" }, { replicas: 1 })),
    // One owner: of several a stock server tells in no order.
    patch("apply", `${deployments}/e?fieldManager=three`, {
      ...deployment(
        { name: "e", labels: { x: "y" } },
        {
          replicas: 5,
          minReadySeconds: 4,
          template: {
            metadata: { labels: { app: "b" } },
            spec: { containers: [{ name: "c", image: "other" }] },
          },
        },
      ),
    }),
    patch("merge", `${deployments}/d/status?fieldManager=one`, { status: { replicas: 1 } }),
    patch("apply", `${deployments}/d/status?fieldManager=three`, {
      ...deployment({ name: "d" }),
      status: { replicas: 7 },
    }),
    post(
      maps,
      map(
        { name: "m", labels: { z: "1", a: "1", "k.io/a": "1" } },
        { b: "1", a: "1", "0": "1", Z: "1" },
      ),
    ),
    other(
      `${maps}/m`,
      map({ labels: { z: "2", a: "2", "k.io/a": "2" } }, { b: "2", a: "2", "0": "2", Z: "2" }),
    ),
    // One of each: Go goes through a map in no order.
    put(
      `${maps}/m`,
      map({ name: "m", labels: { "-": "x" }, annotations: { "!": "z" } }, { "a b": "1" }),
    ),
    post(maps, map({ name: "M", labels: { a: "?" }, finalizers: ["x"] }, { "": "1" })),
    post(deployments, {
      ...deployment(
        { name: "f", labels: { "": "x" } },
        { replicas: -1, minReadySeconds: -1, selector: {} },
      ),
    }),
    put(
      `${deployments}/d`,
      deployment({ name: "d" }, { replicas: -1, selector: { matchLabels: { b: "c" } } }),
    ),
  ],
};

export const applies: Suite = {
  name: "applies",
  cases: [names, identities, types, ownership, inSubresource, owned, owners, conflicts],
};
