/** What webhooks are asked about every kind of operation (reviews.ts says which webhooks). */
import { patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";

type Rest = NonNullable<Parameters<typeof post>[2]>;

/** One name on both servers: an administrator's certificate and token say different things of their bearer. */
const reviewer: Rest = {
  headers: { "impersonate-user": "reviewer", "impersonate-group": "system:masters" },
};
const asReviewer = (step: Step): Step => ({
  ...step,
  headers: { ...reviewer.headers, ...step.headers },
});

const core = "/api/v1/namespaces/{ns}";
const maps = `${core}/configmaps`;
const pods = `${core}/pods`;
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const scalers = (version: string): string =>
  `/apis/autoscaling/${version}/namespaces/{ns}/horizontalpodautoscalers`;
const widgets = (version: string): string =>
  `/apis/reviews.example.com/${version}/namespaces/{ns}/widgets`;

const map = (name: string, data: object = { a: "1" }, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});
const pod = (name: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false },
});
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: { containers: [{ name: "c", image: "nginx" }] },
    },
  },
};
const scale = (replicas: number): object => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "d", namespace: "{ns}" },
  spec: { replicas },
});
const namespace = (name: string): object => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
});
const scaler = (version: string, metrics: object): object => ({
  apiVersion: `autoscaling/${version}`,
  kind: "HorizontalPodAutoscaler",
  metadata: { name: `h-${version}` },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
    maxReplicas: 3,
    ...metrics,
  },
});
const widget = (version: string, name: string, spec: object = { size: "m" }): object => ({
  apiVersion: `reviews.example.com/${version}`,
  kind: "Widget",
  metadata: { name },
  spec,
});
const deleteOptions = (more: object): object => ({
  apiVersion: "v1",
  kind: "DeleteOptions",
  ...more,
});

const written: Case = {
  name: "create, update, patches, delete",
  steps: [
    post(maps, map("m")),
    put(`${maps}/m`, map("m", { a: "2" })),
    patch("json", `${maps}/m`, [{ op: "add", path: "/data/b", value: "1" }]),
    patch("merge", `${maps}/m`, { data: { c: "1" } }),
    patch("strategic", `${maps}/m`, { metadata: { labels: { l: "1" } } }),
    patch("apply", `${maps}/m?fieldManager=applier`, map("m", { d: "1" })),
    patch("apply", `${maps}/m?fieldManager=applier&force=true`, map("m", { a: "3" })),
    patch("apply", `${maps}/fresh?fieldManager=applier`, map("fresh")),
    patch("merge", `${maps}/m`, {}),
    remove(`${maps}/m`),
    remove(`${maps}/absent`),
  ],
};

const optioned: Case = {
  name: "options",
  steps: [
    post(`${maps}?fieldManager=me&fieldValidation=Strict`, map("m")),
    post(`${maps}?dryRun=All`, map("dry")),
    post(`${maps}?pretty=true`, map("pretty")),
    put(`${maps}/m?fieldManager=me&fieldValidation=Ignore&dryRun=All`, map("m", { a: "2" })),
    patch("merge", `${maps}/m?fieldManager=you&fieldValidation=Warn`, { data: { x: "1" } }),
    patch("merge", `${maps}/m?dryRun=All`, { data: { x: "2" } }),
    patch("apply", `${maps}/m?fieldManager=a&force=false&dryRun=All`, map("m", { z: "1" })),
    post(maps, map("uid-kept"), { save: { uid: "metadata.uid", rv: "metadata.resourceVersion" } }),
    remove(`${maps}/uid-kept?dryRun=All&gracePeriodSeconds=0&propagationPolicy=Background`),
    remove(
      `${maps}/uid-kept`,
      deleteOptions({
        preconditions: { uid: "{uid}" },
        propagationPolicy: "Foreground",
        gracePeriodSeconds: 3,
      }),
    ),
    remove(`${maps}/pretty`, deleteOptions({ orphanDependents: true })),
    remove(`${maps}/m`, { kind: "DeleteOptions", apiVersion: "meta/v1", dryRun: ["All"] }),
  ],
};

const named: Case = {
  name: "names and labels",
  steps: [
    post(maps, { ...map(""), metadata: { generateName: "gen-" } }),
    post(maps, map("patched", { a: "1" }, { annotations: { "label-me": "yes" } })),
    patch("merge", `${maps}/patched`, { data: { b: "1" } }),
    remove(`${maps}?labelSelector=labelled%3Dyes&propagationPolicy=Orphan`),
    post(maps, map("one", {}, { labels: { many: "yes" } })),
    post(maps, map("two", {}, { labels: { many: "yes" } })),
    remove(`${maps}?labelSelector=many%3Dyes`, deleteOptions({ gracePeriodSeconds: 0 })),
    post(maps, map("held", {}, { finalizers: ["example.com/hold"] })),
    remove(`${maps}/held`),
    patch("merge", `${maps}/held`, { metadata: { finalizers: null } }),
  ],
};

const whole: Case = {
  name: "objects without a namespace, and namespaces",
  steps: [
    post("/api/v1/namespaces", namespace("{ns}-b")),
    patch("merge", "/api/v1/namespaces/{ns}-b", { metadata: { labels: { l: "1" } } }),
    put("/api/v1/namespaces/{ns}-b/status", { ...namespace("{ns}-b"), status: {} }),
    remove("/api/v1/namespaces/{ns}-b"),
    put("/api/v1/namespaces/{ns}-b/finalize", { ...namespace("{ns}-b"), spec: {} }),
    post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "{ns}" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    }),
    remove("/apis/rbac.authorization.k8s.io/v1/clusterroles/{ns}"),
    post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: "u", nonResourceAttributes: { path: "/", verb: "get" } },
    }),
    post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "{ns}" },
    }),
    remove("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{ns}"),
  ],
};

const subresources: Case = {
  name: "subresources",
  steps: [
    post(deployments, deployment),
    put(`${deployments}/d/scale`, scale(2)),
    patch("merge", `${deployments}/d/scale`, { spec: { replicas: 3 } }),
    patch("merge", `${deployments}/d/status`, { status: { replicas: 3 } }),
    post(`${core}/serviceaccounts/default/token`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: ["a"], expirationSeconds: 700 },
    }),
    post(`${core}/bindings`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "absent" },
      target: { kind: "Node", name: "n" },
    }),
    remove(`${deployments}/d`, deleteOptions({ propagationPolicy: "Foreground" })),
  ],
};

const ofPods: Case = {
  name: "pods and their subresources",
  steps: [
    post(pods, pod("p")),
    patch("strategic", `${pods}/p/status`, { status: { phase: "Pending" } }),
    patch("strategic", `${pods}/p/ephemeralcontainers`, {
      spec: { ephemeralContainers: [{ name: "e", image: "i" }] },
    }),
    patch("strategic", `${pods}/p/resize`, {
      spec: { containers: [{ name: "c", resources: { requests: { cpu: "1m" } } }] },
    }),
    post(`${pods}/p/eviction?dryRun=All`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "p", namespace: "{ns}" },
      deleteOptions: { gracePeriodSeconds: 5 },
    }),
    post(`${pods}/p/binding?fieldManager=binder`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "p", annotations: { a: "1" } },
      target: { kind: "Node", name: "n" },
    }),
    post(`${pods}/p/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "p", namespace: "{ns}" },
    }),
    post(pods, pod("q")),
    remove(`${pods}/q?gracePeriodSeconds=0`),
  ],
};

const connected: Case = {
  name: "connect",
  steps: [
    post(pods, pod("p")),
    post(`${pods}/p/exec?command=ls&command=-l&container=c&stdout=true&stderr=true`, ""),
    post(`${pods}/p/attach?container=c&stdin=true&tty=true`, ""),
    post(`${pods}/p/portforward?ports=80&ports=81`, ""),
    { method: "GET", path: `${pods}/p/proxy/a/b?c=d` },
    { method: "PUT", path: `${pods}/p:8080/proxy/`, body: "" },
    { method: "GET", path: "/api/v1/nodes/absent/proxy/metrics" },
    { method: "DELETE", path: `${core}/services/absent/proxy/x` },
  ],
};

const versions: Case = {
  name: "several versions",
  steps: [
    post(scalers("v1"), scaler("v1", { targetCPUUtilizationPercentage: 50 })),
    post(
      scalers("v2"),
      scaler("v2", {
        metrics: [
          {
            type: "Resource",
            resource: { name: "memory", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      }),
    ),
    patch("merge", `${scalers("v2")}/h-v2/status`, { status: { desiredReplicas: 2 } }),
    patch("merge", `${scalers("v2")}/h-v1`, { spec: { maxReplicas: 4 } }),
    remove(`${scalers("v2")}/h-v2`),
    post("/apis/events.k8s.io/v1/namespaces/{ns}/events", {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "a",
      reason: "r",
      type: "Normal",
    }),
  ],
};

const custom: Case = {
  name: "custom resources",
  steps: [
    post(widgets("v1"), widget("v1", "w")),
    post(widgets("v2"), widget("v2", "w2", { unknown: true })),
    patch("merge", `${widgets("v2")}/w/status?fieldManager=m`, { status: { replicas: 1 } }),
    patch("merge", `${widgets("v2")}/w`, { spec: { size: "l" } }),
    patch("json", `${widgets("v1")}/w2`, [{ op: "add", path: "/spec/size", value: "s" }]),
    patch("apply", `${widgets("v1")}/applied?fieldManager=a`, widget("v1", "applied")),
    patch(
      "apply",
      `${widgets("v2")}/applied?fieldManager=a`,
      widget("v2", "applied", { size: "x" }),
    ),
    patch("merge", `${widgets("v1")}/w/scale`, { spec: { replicas: 2 } }),
    patch("merge", `${widgets("v2")}/w/scale`, { spec: { replicas: 3 } }),
    remove(`${widgets("v2")}/w`, deleteOptions({ propagationPolicy: "Background" })),
    remove(`${widgets("v2")}?dryRun=All`),
  ],
};

const users: Case = {
  name: "users",
  steps: [
    post(maps, map("m"), {
      headers: {
        "impersonate-uid": "u-1",
        "impersonate-extra-scopes": "one",
        "impersonate-extra-example.com%2fteam": "two",
      },
    }),
    post(maps, map("n"), {
      headers: { "impersonate-user": "reviewer:other", "user-agent": "someone/1.0 (x)" },
    }),
    post(`${maps}?dryRun=All`, map("o"), { headers: { "user-agent": "" } }),
  ],
};

const cases = [
  written,
  optioned,
  named,
  whole,
  subresources,
  ofPods,
  connected,
  versions,
  custom,
  users,
].map(({ name, steps }) => ({ name, steps: steps.map((step) => asReviewer(step as Step)) }));

export const reviewed: Suite = { name: "reviews", cases, reviewed: true };
