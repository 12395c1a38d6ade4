/** status, scale, eviction, binding, token, approval, finalize and namespaces on their way out. */
import { given } from "#base/given.ts";
import { get, patch, post, put, remove, type Case, type Suite } from "../exchange.ts";

const pods = "/api/v1/namespaces/{ns}/pods";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const pod = (name: string, spec: object = {}, labels: object = { app: "a" }): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: { containers: [{ name: "c", image: "nginx" }], ...spec },
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
const scale = (replicas: unknown, more: object = {}): object => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "d", namespace: "{ns}", ...more },
  spec: { replicas },
});
const eviction = (name: string, deleteOptions?: object): object => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name, namespace: "{ns}" },
  ...given({ deleteOptions }),
});
const binding = (node: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name: "p", ...more },
  target: { kind: "Node", name: node },
});
const budget = (name: string, spec: object): object => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec: { selector: { matchLabels: { app: "a" } }, ...spec },
});
const budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets";
const ready = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const tokens = "/api/v1/namespaces/{ns}/serviceaccounts/default/token";
const tokenRequest = (spec: object): object => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  spec,
});

const cases: readonly Case[] = [
  {
    name: "status",
    steps: [
      post(deployments, deployment, { save: { rv: "metadata.resourceVersion" } }),
      put(`${deployments}/d/status`, {
        ...deployment,
        spec: { ...deployment.spec, replicas: 9 },
        status: { replicas: 3, readyReplicas: 2, observedGeneration: 1 },
      }),
      put(`${deployments}/d/status`, { ...deployment, status: { replicas: -1 } }),
      put(`${deployments}/d/status`, {
        ...deployment,
        metadata: { name: "d", resourceVersion: "{rv}" },
        status: {},
      }),
      put(`${deployments}/d`, { ...deployment, status: { replicas: 8 } }),
      patch("strategic", `${deployments}/d/status`, {
        status: { conditions: [{ type: "Available", status: "True" }] },
      }),
      patch("strategic", `${deployments}/d/status`, { metadata: { labels: { a: "b" } } }),
      get(`${deployments}/d/status`),
      get(`${deployments}/missing/status`),
      put(`${deployments}/missing/status`, { ...deployment, metadata: { name: "missing" } }),
      post(pods, { ...pod("p"), status: { phase: "Running" } }),
      patch("merge", `${pods}/p/status`, {
        status: {
          phase: "Running",
          podIP: "10.0.0.1",
          containerStatuses: [
            {
              name: "c",
              image: "i",
              imageID: "x",
              ready: true,
              restartCount: 0,
              state: { running: {} },
            },
          ],
        },
      }),
      patch("merge", `${pods}/p/status`, { status: { podIP: "bad" } }),
      patch("merge", `${pods}/p`, { status: { phase: "Failed" } }),
      get(`${pods}/p/status`),
    ],
  },
  {
    name: "scale",
    steps: [
      post(deployments, deployment),
      get(`${deployments}/d/scale`, { save: { rv: "metadata.resourceVersion" } }),
      put(`${deployments}/d/scale`, scale(4)),
      put(`${deployments}/d/scale`, scale(5, { resourceVersion: "{rv}" })),
      put(`${deployments}/d/scale`, scale(-1)),
      put(`${deployments}/d/scale`, scale("x")),
      put(`${deployments}/d/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "other" },
        spec: {},
      }),
      put(`${deployments}/d/scale`, { apiVersion: "apps/v1", kind: "Deployment" }),
      patch("merge", `${deployments}/d/scale`, { spec: { replicas: 6 } }),
      patch("strategic", `${deployments}/d/scale`, { spec: { replicas: 7 } }),
      patch("json", `${deployments}/d/scale`, [
        { op: "replace", path: "/spec/replicas", value: 8 },
      ]),
      patch("merge", `${deployments}/d/scale`, { spec: { replicas: -6 } }),
      get(`${deployments}/d`),
      get(`${deployments}/missing/scale`),
      put(`${deployments}/missing/scale`, { ...scale(4), metadata: { name: "missing" } }),
      get("/api/v1/namespaces/{ns}/replicationcontrollers/missing/scale"),
      get(`${deployments}/d/scale`, {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" },
      }),
    ],
  },
  {
    name: "binding",
    steps: [
      post(pods, pod("p")),
      post(`${pods}/p/binding`, binding("")),
      post(`${pods}/p/binding`, { ...binding("n"), target: { kind: "Pod", name: "n" } }),
      post(`${pods}/p/binding`, binding("n", { name: "other" })),
      post(`${pods}/p/binding`, binding("n", { uid: "other" })),
      post(`${pods}/p/binding?dryRun=All`, binding("n")),
      post(`${pods}/p/binding`, binding("n", { annotations: { a: "b" } })),
      post(`${pods}/p/binding`, binding("m")),
      get(`${pods}/p`),
      post(`${pods}/missing/binding`, binding("n", { name: "missing" })),
      post(pods, pod("q")),
      post("/api/v1/namespaces/{ns}/bindings", binding("n", { name: "q" })),
      post(pods, pod("g", { schedulingGates: [{ name: "a.b/c" }] })),
      post(`${pods}/g/binding`, binding("n", { name: "g" })),
    ],
  },
  {
    name: "eviction",
    steps: [
      post(pods, pod("p", { nodeName: "n" })),
      post(`${pods}/p/eviction`, eviction("p", { dryRun: ["All"] })),
      post(`${pods}/p/eviction?dryRun=All`, eviction("p")),
      post(`${pods}/p/eviction`, eviction("other")),
      post(budgets, budget("b", { minAvailable: 1 })),
      post(`${pods}/p/eviction`, eviction("p", { gracePeriodSeconds: 0, dryRun: ["All"] })),
      patch("merge", `${pods}/p/status`, ready),
      post(`${pods}/p/eviction`, eviction("p")),
      patch("merge", `${budgets}/b/status`, {
        status: {
          observedGeneration: 1,
          disruptionsAllowed: 0,
          currentHealthy: 1,
          desiredHealthy: 1,
          expectedPods: 1,
        },
      }),
      post(`${pods}/p/eviction`, eviction("p")),
      patch("merge", `${budgets}/b/status`, {
        status: {
          observedGeneration: 1,
          disruptionsAllowed: 1,
          currentHealthy: 1,
          desiredHealthy: 0,
          expectedPods: 1,
        },
      }),
      post(budgets, budget("c", { maxUnavailable: 1 })),
      post(`${pods}/p/eviction`, eviction("p")),
      remove(`${budgets}/c`),
      post(`${pods}/p/eviction`, eviction("p", { preconditions: { uid: "other" } })),
      post(`${pods}/p/eviction`, eviction("p", { gracePeriodSeconds: 3 })),
      get(`${pods}/p`),
      get(`${budgets}/b`),
      post(`${pods}/missing/eviction`, eviction("missing")),
      post(`${pods}/p/eviction`, {
        apiVersion: "policy/v1beta1",
        kind: "Eviction",
        metadata: { name: "p" },
      }),
      post(`${pods}/p/eviction`, {}),
    ],
  },
  {
    name: "tokens",
    steps: [
      post(tokens, tokenRequest({})),
      post(tokens, tokenRequest({ expirationSeconds: 3600, audiences: ["x"] })),
      post(tokens, tokenRequest({ expirationSeconds: 5 })),
      post(tokens, tokenRequest({ expirationSeconds: 4294967297 })),
      post(
        tokens,
        tokenRequest({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "missing" } }),
      ),
      post(
        tokens,
        tokenRequest({ boundObjectRef: { kind: "Foo", apiVersion: "v1", name: "missing" } }),
      ),
      post("/api/v1/namespaces/{ns}/serviceaccounts/missing/token", tokenRequest({})),
      post(tokens, { ...tokenRequest({}), metadata: { name: "other" } }),
      post(`${tokens}?dryRun=All`, tokenRequest({})),
    ],
  },
  {
    name: "certificate requests",
    steps: [
      post(requests, {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: "{ns}" },
        spec: {
          request: "e30=",
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      }),
      post(
        requests,
        {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { name: "{ns}" },
          spec: {
            request: csr(),
            signerName: "example.com/s",
            usages: ["client auth", "digital signature"],
            username: "me",
          },
        },
        { headers: { "impersonate-user": "alice", "impersonate-group": "system:masters" } },
      ),
      put(`${requests}/{ns}/approval`, {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: "{ns}" },
        spec: {
          request: csr(),
          signerName: "example.com/s",
          usages: ["client auth", "digital signature"],
        },
        status: { conditions: [{ type: "Approved", status: "True", reason: "r", message: "m" }] },
      }),
      patch("merge", `${requests}/{ns}/approval`, {
        status: {
          conditions: [
            { type: "Approved", status: "True", reason: "r" },
            { type: "Denied", status: "True", reason: "r" },
          ],
        },
      }),
      patch("merge", `${requests}/{ns}/status`, { status: { certificate: "eA==" } }),
      // Changes nothing, the managers' times included.
      patch(
        "merge",
        `${requests}/{ns}`,
        { spec: { signerName: "example.com/other" } },
        { waitMs: 1_100 },
      ),
      get(`${requests}/{ns}/approval`),
      remove(`${requests}/{ns}`),
    ],
  },
  {
    name: "namespaces on their way out",
    steps: [
      post("/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "{ns}-x" },
      }),
      remove("/api/v1/namespaces/{ns}-x"),
      get("/api/v1/namespaces/{ns}-x"),
      remove("/api/v1/namespaces/{ns}-x"),
      post("/api/v1/namespaces/{ns}-x/configmaps", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a" },
      }),
      put("/api/v1/namespaces/{ns}-x/finalize", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "{ns}-x" },
        spec: { finalizers: ["kubernetes"] },
      }),
      put("/api/v1/namespaces/{ns}-x/finalize", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "{ns}-x" },
        spec: {},
      }),
      get("/api/v1/namespaces/{ns}-x"),
      remove("/api/v1/namespaces/default"),
      remove("/api/v1/namespaces/kube-system?dryRun=All"),
      post("/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "Bad_Name" },
      }),
      post("/api/v1/namespaces?dryRun=All", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { generateName: "gen-", labels: { a: "b" } },
      }),
      patch("merge", "/api/v1/namespaces/{ns}", {
        metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
      }),
      post(pods, pod("bad")),
      patch("merge", "/api/v1/namespaces/{ns}", {
        metadata: { labels: { "pod-security.kubernetes.io/enforce": "nope" } },
      }),
      patch("merge", "/api/v1/namespaces/{ns}", {
        metadata: {
          labels: {
            "pod-security.kubernetes.io/enforce": null,
            "pod-security.kubernetes.io/warn": "baseline",
          },
        },
      }),
      post(pods, pod("warned", { hostNetwork: true })),
      post(deployments, {
        ...deployment,
        spec: {
          ...deployment.spec,
          template: {
            ...deployment.spec.template,
            spec: {
              hostPID: true,
              containers: [{ name: "c", image: "i", securityContext: { privileged: true } }],
            },
          },
        },
      }),
    ],
  },
  {
    name: "containers that cannot be reached",
    steps: [
      post(pods, pod("p")),
      get(`${pods}/p/log`),
      get(`${pods}/missing/log`),
      get(`${pods}/p/log?container=nope`),
      get(`${pods}/p/log?tailLines=-1`),
      get(`${pods}/p/log?sinceSeconds=abc`),
      get(`${pods}/missing/exec?command=a`),
      post(
        pods,
        pod("two", {
          containers: [
            { name: "a", image: "i" },
            { name: "b", image: "i" },
          ],
        }),
      ),
      get(`${pods}/two/log`),
      get(`${pods}/p/ephemeralcontainers`),
      patch("strategic", `${pods}/p/ephemeralcontainers`, {
        spec: { ephemeralContainers: [{ name: "d", image: "i" }] },
      }),
      patch("strategic", `${pods}/p/ephemeralcontainers`, {
        spec: { ephemeralContainers: [{ name: "d", image: "j" }] },
      }),
      patch("strategic", `${pods}/p/resize`, {
        spec: { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
      }),
    ],
  },
  {
    name: "quota and limits",
    steps: [
      post("/api/v1/namespaces/{ns}/limitranges", {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "l" },
        spec: {
          limits: [
            {
              type: "Container",
              default: { cpu: "500m" },
              defaultRequest: { cpu: "100m" },
              max: { cpu: "1" },
              min: { cpu: "50m" },
            },
          ],
        },
      }),
      post(pods, pod("a")),
      post(
        pods,
        pod("b", { containers: [{ name: "c", image: "i", resources: { limits: { cpu: "2" } } }] }),
      ),
      post(
        pods,
        pod("c", {
          containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1m" } } }],
        }),
      ),
      post("/api/v1/namespaces/{ns}/resourcequotas", {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "q" },
        spec: { hard: { "count/configmaps": "1", pods: "2", "requests.cpu": "1" } },
      }),
      patch("merge", "/api/v1/namespaces/{ns}/resourcequotas/q/status", {
        status: {
          hard: { "count/configmaps": "1", pods: "2", "requests.cpu": "1" },
          used: { "count/configmaps": "1", pods: "1", "requests.cpu": "100m" },
        },
      }),
      post("/api/v1/namespaces/{ns}/configmaps", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "over" },
      }),
      post(
        pods,
        pod("over", {
          containers: [
            {
              name: "c",
              image: "i",
              resources: { requests: { cpu: "950m" }, limits: { cpu: "1" } },
            },
          ],
        }),
      ),
      post(pods, pod("fits")),
      get("/api/v1/namespaces/{ns}/resourcequotas/q"),
      post(pods, pod("x", { priorityClassName: "missing" })),
      post(pods, pod("x", { serviceAccountName: "missing" })),
      post(pods, pod("x", { runtimeClassName: "missing" })),
    ],
  },
];

/** A real request for CN=x, made once. */
function csr(): string {
  return "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCSW5xZkdtOURNZ3pHMTZkMDIvejRFeEFHUzg3QTl5MmE1SnB6bXFCaHlacDd4MTBGRVZZM1FLODQwYkNPcTM2CkpzU2pBajNtQityS2tXMUUzc2xyZEVDZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQUhPRW54bzhpUzJIVEgKakRNek13L0s0TTZRck1jRVJtZ2xkb3RxM3Z1VWZBSWdJRFFnTmlBc29Sb1k3MGdDQU45dC9LTE14clRXVFVCYwoyKzFrK2YycWp5az0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
}

export const subresources: Suite = { name: "subresources", cases };
