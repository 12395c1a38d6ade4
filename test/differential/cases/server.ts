/** Discovery, health, version, unknown paths and methods, who may, and reviews. */
import { get, post, put, remove, patch, type Case, type Suite } from "../exchange.ts";

const maps = "/api/v1/namespaces/{ns}/configmaps";
const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const alice = { "impersonate-user": "alice" };
const groups = [
  "/api/v1",
  "/apis/apps/v1",
  "/apis/batch/v1",
  "/apis/autoscaling/v1",
  "/apis/autoscaling/v2",
  "/apis/policy/v1",
  "/apis/networking.k8s.io/v1",
  "/apis/rbac.authorization.k8s.io/v1",
  "/apis/storage.k8s.io/v1",
  "/apis/coordination.k8s.io/v1",
  "/apis/discovery.k8s.io/v1",
  "/apis/events.k8s.io/v1",
  "/apis/scheduling.k8s.io/v1",
  "/apis/node.k8s.io/v1",
  "/apis/certificates.k8s.io/v1",
  "/apis/admissionregistration.k8s.io/v1",
  "/apis/apiextensions.k8s.io/v1",
  "/apis/apiregistration.k8s.io/v1",
  "/apis/authentication.k8s.io/v1",
  "/apis/authorization.k8s.io/v1",
  "/apis/flowcontrol.apiserver.k8s.io/v1",
  "/apis/resource.k8s.io/v1",
];

const documents: readonly Case[] = [
  {
    name: "discovery",
    steps: [
      get("/api"),
      get("/apis"),
      get("/api/"),
      get("/apis/"),
      ...groups.map((path) => get(path)),
      ...groups
        .filter((path) => path.startsWith("/apis"))
        .map((path) => get(path.split("/").slice(0, 3).join("/"))),
      get("/apis/nothing.example.com"),
      get("/apis/nothing.example.com/v1"),
      get("/apis/apps/v9"),
      get("/api/v2"),
      get("/api", { headers: { accept: `${v2},application/json` } }),
      get("/apis", { headers: { accept: `${v2},application/json` } }),
      get("/apis", {
        headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList" },
      }),
      get("/apis", {
        headers: {
          accept:
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
        },
      }),
      get("/apis", { headers: { accept: "text/html" } }),
      get("/apis/apps/v1", { headers: { accept: "application/yaml" } }),
      post("/apis", {}),
      get("/openapi/v3", { headers: { accept: "text/html" } }),
      get("/openapi/v3/apis/nothing/v1"),
      get("/openapi/v4"),
      get("/apis/apps/v9"),
      get("/api/v9"),
      get("/apis/nothing/v1"),
      get("/openapi/v3", { headers: { accept: "application/vnd.kubernetes.protobuf" } }),
    ],
  },
  {
    name: "health and other paths",
    steps: [
      get("/healthz"),
      get("/livez"),
      get("/readyz"),
      get("/healthz/ping"),
      get("/healthz/nothing"),
      get("/readyz/ping?verbose"),
      get("/healthz?exclude=ping"),
      get("/nowhere"),
      get("/nowhere/else"),
      get("/api/v1/nothings"),
      get("/api/v1/namespaces/{ns}/nothings"),
      get("/api/v1/namespaces/{ns}/nothings/a"),
      get("/apis/apps/v1/nothings"),
      get("/apis/apps/v1/namespaces/{ns}/nothings/a"),
      get("/apis/apps/v1/pods"),
      get("/api/v1/namespaces/{ns}/nodes"),
      get("/api/v1/nodes/missing-{ns}/nothing"),
      get("/api/v1/namespaces/missing-{ns}"),
      get("/api/v1/namespaces/missing-{ns}/pods"),
      get("/api/v1/namespaces/missing-{ns}/pods/a"),
      get("/api/v1/pods/a"),
      get("/api//v1/pods"),
      get("/api/v1/namespaces/{ns}/pods/"),
      get("/api/v1/namespaces//pods"),
      get("/api/v1/namespaces/{ns}/pods/%2e%2e"),
      get("/api/v1/namespaces/{ns}/pods/a%2Fb"),
      get("/api/v1/namespaces/{ns}/pods/a?%zz"),
      get("/swagger.json"),
      get("/.well-known/nothing"),
      get("/ui"),
      get("/logs"),
      get("/debug/nothing"),
      post("/healthz", {}),
      post("/version", {}),
      post("/nowhere", {}),
    ],
  },
  {
    name: "methods",
    steps: [
      { method: "HEAD", path: maps },
      { method: "HEAD", path: `${maps}/missing` },
      { method: "HEAD", path: "/healthz" },
      { method: "OPTIONS", path: maps },
      { method: "OPTIONS", path: "/" },
      { method: "TRACE", path: maps },
      put(maps, {}),
      patch("merge", maps, {}),
      post(`${maps}/a`, {}),
      { method: "FOO", path: maps },
      post("/api/v1/componentstatuses", {}),
      remove("/api/v1/componentstatuses/a"),
      get("/api/v1/namespaces/{ns}/bindings"),
      get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
      put("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}),
      get("/apis/authentication.k8s.io/v1/tokenreviews/a"),
      post("/api/v1/namespaces/{ns}/status", {}),
      remove("/api/v1/namespaces/{ns}/pods/a/status"),
      post("/apis/apps/v1/namespaces/{ns}/deployments/a/scale", {}),
      get("/api/v1/namespaces/{ns}/pods/a/eviction"),
      get("/api/v1/namespaces/{ns}/serviceaccounts/default/token"),
    ],
  },
];

const access: readonly Case[] = [
  {
    name: "who may",
    steps: [
      get(maps, { headers: alice }),
      get(`${maps}/a`, { headers: alice }),
      get("/api/v1/nodes", { headers: alice }),
      get("/api/v1/nodes/n", { headers: alice }),
      get("/apis/apps/v1/deployments", { headers: alice }),
      get("/apis/apps/v1/namespaces/{ns}/deployments/d/status", { headers: alice }),
      get(`${maps}?watch=1`, { headers: alice }),
      post(maps, {}, { headers: alice }),
      put(`${maps}/a`, {}, { headers: alice }),
      patch("merge", `${maps}/a`, {}, { headers: alice }),
      patch("apply", `${maps}/a?fieldManager=x`, {}, { headers: alice }),
      remove(`${maps}/a`, undefined, { headers: alice }),
      remove(maps, undefined, { headers: alice }),
      get("/metrics", { headers: alice }),
      get("/version", { headers: { "impersonate-user": "alice", "user-agent": "x" } }),
      get("/nowhere", { headers: alice }),
      get("/healthz", {
        headers: {
          "impersonate-user": "system:anonymous",
          "impersonate-group": "system:unauthenticated",
        },
      }),
      get("/api", {
        headers: {
          "impersonate-user": "system:anonymous",
          "impersonate-group": "system:unauthenticated",
        },
      }),
      get("/api", { headers: alice }),
      get(maps, { headers: { "impersonate-group": "x" } }),
      get(maps, { headers: { "impersonate-extra-a": "x" } }),
      get(maps, { headers: { "impersonate-uid": "x" } }),
      get(maps, { headers: { ...alice, "impersonate-group": "system:masters" } }),
      get(maps, { headers: { "impersonate-user": "system:serviceaccount:{ns}:default" } }),
      post(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        {
          headers: {
            "impersonate-user": "alice",
            "impersonate-group": "dev",
            "impersonate-uid": "7",
            "impersonate-extra-scope": "a",
          },
        },
      ),
      post(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        { headers: { "impersonate-user": "system:serviceaccount:{ns}:default" } },
      ),
      get(maps, {
        headers: { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" },
      }),
      get("/api/v1/namespaces/{ns}/secrets/x", {
        headers: { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" },
      }),
      post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "r" },
        rules: [
          {
            apiGroups: [""],
            resources: ["configmaps", "roles"],
            verbs: ["get", "list", "create", "impersonate"],
          },
          {
            apiGroups: ["rbac.authorization.k8s.io"],
            resources: ["roles", "rolebindings"],
            verbs: ["create"],
          },
        ],
      }),
      post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "r" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "bob-{ns}", apiGroup: "rbac.authorization.k8s.io" }],
      }),
    ],
  },
  {
    name: "escalation",
    steps: [
      post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "r" },
        rules: [
          { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
          {
            apiGroups: ["rbac.authorization.k8s.io"],
            resources: ["roles", "rolebindings"],
            verbs: ["create", "get"],
          },
        ],
      }),
      post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "r" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "bob", apiGroup: "rbac.authorization.k8s.io" }],
      }),
      post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "bob",
          resourceAttributes: { namespace: "{ns}", verb: "get", resource: "configmaps" },
        },
      }),
      post(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "Role",
          metadata: { name: "s" },
          rules: [
            { apiGroups: ["", "apps"], resources: ["secrets", "pods"], verbs: ["get", "list"] },
          ],
        },
        { headers: { "impersonate-user": "bob" } },
      ),
      post(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "Role",
          metadata: { name: "t" },
          rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
        },
        { headers: { "impersonate-user": "bob" } },
      ),
      post(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "RoleBinding",
          metadata: { name: "s" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
          subjects: [],
        },
        { headers: { "impersonate-user": "bob" } },
      ),
      get(`${maps}`, { headers: { "impersonate-user": "bob" } }),
      get(`${maps}/a`, { headers: { "impersonate-user": "bob" } }),
      remove(`${maps}/a`, undefined, { headers: { "impersonate-user": "bob" } }),
    ],
  },
  {
    name: "reviews",
    steps: [
      ...[
        { resourceAttributes: { namespace: "{ns}", verb: "get", resource: "pods" } },
        { nonResourceAttributes: { path: "/healthz", verb: "get" } },
        {
          resourceAttributes: { verb: "get", resource: "pods" },
          nonResourceAttributes: { path: "/", verb: "get" },
        },
        {},
      ].flatMap((spec) => [
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec,
        }),
        post(
          "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec },
          { headers: alice },
        ),
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { ...spec, user: "alice" },
        }),
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { ...spec, groups: ["system:masters"] },
        }),
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec,
        }),
        post("/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "LocalSubjectAccessReview",
          spec: { ...spec, user: "alice" },
        }),
      ]),
      post("/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "LocalSubjectAccessReview",
        metadata: { namespace: "{ns}" },
        spec: {
          user: "alice",
          resourceAttributes: { namespace: "{ns}", verb: "get", resource: "pods" },
        },
      }),
      post("/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "LocalSubjectAccessReview",
        spec: {
          user: "alice",
          resourceAttributes: { namespace: "other", verb: "get", resource: "pods" },
        },
      }),
      post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectRulesReview",
          spec: { namespace: "{ns}" },
        },
        { headers: alice },
      ),
      post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: {},
      }),
      post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "bad" },
      }),
      post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: {},
      }),
      post("/apis/authentication.k8s.io/v1/tokenreviews?dryRun=All", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "bad" },
      }),
      post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: { name: "x" },
        spec: { user: "a", resourceAttributes: { verb: "get", resource: "pods" } },
      }),
      post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "a",
          resourceAttributes: {
            verb: "list",
            resource: "pods",
            labelSelector: { requirements: [{ key: "a", operator: "Bad" }] },
            fieldSelector: {
              rawSelector: "a=b",
              requirements: [{ key: "a", operator: "In", values: ["b"] }],
            },
          },
        },
      }),
    ],
  },
  {
    name: "bootstrap",
    steps: [
      get("/api/v1/namespaces/default"),
      get("/api/v1/namespaces/kube-system"),
      get("/api/v1/namespaces/default/services/kubernetes"),
      get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication?x", {
        headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
      }),
      get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"),
      get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"),
      get("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"),
      get(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults",
      ),
      get(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults",
      ),
      get("/apis/rbac.authorization.k8s.io/v1/roles"),
      get(
        "/apis/rbac.authorization.k8s.io/v1/rolebindings?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults",
      ),
      get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps"),
      get("/apis/apiregistration.k8s.io/v1/apiservices/v1."),
      get("/api/v1/componentstatuses/etcd-0"),
      get("/api/v1/componentstatuses/nope"),
      get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes"),
    ],
  },
];

export const server: Suite = { name: "server", cases: [...documents, ...access] };
