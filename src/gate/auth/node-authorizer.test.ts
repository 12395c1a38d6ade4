/** What a kubelet may do, against pods that are its own and pods that are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapClusterRoleRules } from "./bootstrap-policy.ts";
import { NodeAuthorizer } from "./node-authorizer.ts";
import { attributes, FakeLookup } from "./testing.ts";

const pod = (name: string, nodeName: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns" },
  spec: { nodeName, ...spec },
});

const lookup = new FakeLookup([
  pod("mine", "n1", {
    serviceAccountName: "app",
    imagePullSecrets: [{ name: "pull" }],
    volumes: [
      { name: "a", secret: { secretName: "tls" } },
      { name: "b", projected: { sources: [{ configMap: { name: "root-ca" } }] } },
      { name: "c", persistentVolumeClaim: { claimName: "data" } },
      { name: "d", ephemeral: {} },
      { name: "e", csi: { driver: "x", nodePublishSecretRef: { name: "csi" } } },
    ],
    containers: [{ env: [{ valueFrom: { secretKeyRef: { name: "env" } } }] }],
  }),
  {
    ...pod("mirror", "n1", {
      serviceAccountName: "admin",
      volumes: [{ name: "a", secret: { secretName: "crown" } }],
      containers: [{ envFrom: [{ configMapRef: { name: "crown" } }] }],
      resourceClaims: [{ name: "r", resourceClaimName: "crown" }],
    }),
    metadata: {
      name: "mirror",
      namespace: "ns",
      annotations: { "kubernetes.io/config.mirror": "x" },
    },
  },
  pod("theirs", "n2", { volumes: [{ name: "a", secret: { secretName: "other" } }] }),
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv1" },
    spec: {
      claimRef: { namespace: "ns", name: "data" },
      csi: { driver: "d", nodeStageSecretRef: { namespace: "storage", name: "stage" } },
    },
  },
  {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "s1" },
    spec: { nodeName: "n1" },
  },
  {
    apiVersion: "certificates.k8s.io/v1beta1",
    kind: "PodCertificateRequest",
    metadata: { name: "r1", namespace: "ns" },
    spec: { nodeName: "n1" },
  },
]);
const authorizer = new NodeAuthorizer({ lookup, rules: bootstrapClusterRoleRules("system:node") });
const kubelet = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const ask = (over: object) => authorizer.authorize(attributes(kubelet, over));
const may = (over: object): boolean => ask(over).allowed;

test("users that are not nodes get no opinion", () => {
  const jane = { name: "jane", groups: [] };
  const decision = { allowed: false, denied: false, reason: "" };
  assert.deepEqual(authorizer.authorize(attributes(jane)), decision);
  const poser = { name: "system:node:n1", groups: [] };
  assert.deepEqual(authorizer.authorize(attributes(poser)), decision);
});

test("a node reads its own Node and no other", () => {
  const node = { namespace: "", resource: "nodes" };
  assert.ok(may({ ...node, name: "n1" }));
  assert.ok(may({ ...node, name: "n1", verb: "patch", subresource: "status" }));
  assert.equal(
    ask({ ...node, name: "n2" }).reason,
    "node 'n1' cannot read 'n2', only its own Node object",
  );
  assert.ok(!may({ ...node, name: "", verb: "list" }));
  assert.ok(!may({ ...node, name: "n1", verb: "delete" }));
});

test("a node lists pods only by its own name", () => {
  const list = { verb: "list", name: "", namespace: "" };
  const by = (value: string) => ({
    ...list,
    fieldSelector: { requirements: [{ field: "spec.nodeName", operator: "=", value }] },
  });
  assert.ok(may(by("n1")));
  assert.ok(!may(by("n2")));
  assert.equal(ask(list).reason, "can only list/watch pods with spec.nodeName field selector");
  assert.ok(may({ name: "mine" }));
  assert.ok(!may({ name: "theirs" }));
  assert.ok(may({ name: "theirs", verb: "patch", subresource: "status" }), "admission's to refuse");
});

test("a node reads what its pods refer to", () => {
  for (const name of ["tls", "pull", "env", "csi"])
    assert.ok(may({ resource: "secrets", name }), name);
  assert.ok(may({ resource: "configmaps", name: "root-ca", verb: "watch" }));
  assert.ok(may({ resource: "persistentvolumeclaims", name: "data" }));
  assert.ok(may({ resource: "persistentvolumeclaims", name: "mine-d" }));
  assert.ok(may({ resource: "persistentvolumes", name: "pv1", namespace: "" }));
  assert.equal(
    ask({ resource: "secrets", name: "other" }).reason,
    "no relationship found between node 'n1' and this object",
  );
  assert.equal(ask({ resource: "secrets", name: "", verb: "list" }).reason, "No Object name found");
  assert.ok(!may({ resource: "secrets", name: "tls", verb: "update" }));
});

test("a mirror pod gives its node nothing but itself", () => {
  assert.ok(may({ name: "mirror" }));
  for (const resource of ["secrets", "configmaps"]) assert.ok(!may({ resource, name: "crown" }));
  assert.ok(!may({ group: "resource.k8s.io", resource: "resourceclaims", name: "crown" }));
  assert.ok(
    !may({ resource: "serviceaccounts", subresource: "token", verb: "create", name: "admin" }),
  );
});

test("a node reads the secrets of the volumes its pods use", () => {
  assert.ok(may({ resource: "secrets", namespace: "storage", name: "stage" }));
  assert.ok(!may({ resource: "secrets", namespace: "ns", name: "stage" }));
});

test("a node has the slices and certificate requests that name it", () => {
  const slices = { group: "resource.k8s.io", resource: "resourceslices", namespace: "" };
  const requests = { group: "certificates.k8s.io", resource: "podcertificaterequests" };
  const selector = (value: string) => ({
    fieldSelector: { requirements: [{ field: "spec.nodeName", operator: "=", value }] },
  });
  for (const verb of ["get", "update", "patch", "delete"]) {
    assert.ok(may({ ...slices, verb, name: "s1" }), verb);
    assert.ok(!may({ ...slices, verb, name: "s2" }), verb);
  }
  for (const verb of ["list", "watch", "deletecollection"]) {
    assert.ok(may({ ...slices, verb, name: "", ...selector("n1") }), verb);
    assert.ok(!may({ ...slices, verb, name: "", ...selector("n2") }), verb);
    assert.ok(!may({ ...slices, verb, name: "" }), verb);
  }
  assert.ok(!may({ ...slices, verb: "update", name: "s1", subresource: "status" }));
  assert.ok(may({ ...requests, name: "r1" }));
  assert.ok(!may({ ...requests, verb: "delete", name: "r1" }));
  assert.ok(!may({ ...requests, verb: "update", name: "r1", subresource: "status" }));
  assert.ok(may({ ...requests, verb: "watch", name: "", ...selector("n1") }));
  assert.ok(!may({ ...requests, verb: "watch", name: "" }));
});

test("a node asks for tokens of its pods' accounts", () => {
  const token = { resource: "serviceaccounts", subresource: "token", verb: "create" };
  assert.ok(may({ ...token, name: "app" }));
  assert.ok(!may({ ...token, name: "default" }));
});

test("a node keeps its own lease", () => {
  const lease = { group: "coordination.k8s.io", resource: "leases", namespace: "kube-node-lease" };
  assert.ok(may({ ...lease, name: "n1", verb: "update" }));
  assert.ok(may({ ...lease, name: "", verb: "create" }));
  assert.ok(!may({ ...lease, name: "n2", verb: "update" }));
  assert.ok(!may({ ...lease, namespace: "ns", name: "n1" }));
});

test("everything else follows the rules of system:node", () => {
  assert.ok(may({ resource: "services", verb: "watch", name: "" }));
  assert.ok(may({ resource: "events", verb: "create", name: "" }));
  assert.ok(!may({ resource: "services", verb: "create", name: "" }));
});

test("what a node may do cannot be listed, and it says so as upstream; of others it knows nothing", () => {
  const node = { name: "system:node:n1", groups: ["system:nodes"] };
  assert.deepEqual(authorizer.rulesFor(node), {
    rules: [],
    incomplete: true,
    error: "node authorizer does not support user rule resolution",
  });
  const jane = { name: "jane", groups: [] };
  assert.deepEqual(authorizer.rulesFor(jane), { rules: [], incomplete: false });
});
