/** RBAC decisions and their texts, also with the bootstrap policy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserInfo } from "#platform/http.ts";
import { mastersAuthorizer, unionAuthorizer } from "./authorize.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { authorizationError } from "./forbidden.ts";
import { RbacAuthorizer } from "./rbac.ts";
import { attributes, FakeLookup } from "./testing.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";
const user: UserInfo = { name: "jane", groups: ["devs", "system:authenticated"] };

function role(name: string, rules: readonly object[], namespace?: string) {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) }, rules };
}

function binding(name: string, roleRef: object, subjects: readonly object[], namespace?: string) {
  const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding";
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace && { namespace }) },
    roleRef,
    subjects,
  };
}

const reader = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods", "pods/log"] };

test("a role binding allows inside its namespace only, and says by which binding", () => {
  const lookup = new FakeLookup([
    role("reader", [reader], "ns"),
    binding("b", { kind: "Role", name: "reader" }, [{ kind: "User", name: "jane" }], "ns"),
  ]);
  const rbac = new RbacAuthorizer({ lookup });
  assert.deepEqual(rbac.authorize(attributes(user)), {
    allowed: true,
    denied: false,
    reason: 'RBAC: allowed by RoleBinding "b/ns" of Role "reader" to User "jane"',
  });
  assert.equal(rbac.authorize(attributes(user, { namespace: "other" })).allowed, false);
  assert.equal(rbac.authorize(attributes(user, { namespace: "" })).allowed, false);
  assert.equal(rbac.authorize(attributes(user, { verb: "delete" })).allowed, false);
  assert.equal(rbac.authorize(attributes(user, { subresource: "log" })).allowed, true);
  assert.equal(rbac.authorize(attributes(user, { subresource: "exec" })).allowed, false);
});

test("a cluster role binding to a group allows everywhere", () => {
  const lookup = new FakeLookup([
    role("reader", [reader]),
    binding("b", { kind: "ClusterRole", name: "reader" }, [{ kind: "Group", name: "devs" }]),
  ]);
  const decision = new RbacAuthorizer({ lookup }).authorize(attributes(user, { namespace: "" }));
  assert.equal(
    decision.reason,
    'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"',
  );
});

test("wildcards, subresource wildcards, names and URLs match as upstream", () => {
  const rules = [
    { verbs: ["get"], apiGroups: ["*"], resources: ["*/scale"] },
    { verbs: ["update"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["one"] },
    { verbs: ["get"], nonResourceURLs: ["/healthz", "/metrics/*"] },
  ];
  const lookup = new FakeLookup([
    role("r", rules),
    binding("b", { kind: "ClusterRole", name: "r" }, [{ kind: "User", name: "jane" }]),
  ]);
  const rbac = new RbacAuthorizer({ lookup });
  const may = (over: object) => rbac.authorize(attributes(user, over)).allowed;
  assert.ok(may({ group: "apps", resource: "deployments", subresource: "scale" }));
  assert.ok(!may({ group: "apps", resource: "deployments" }));
  assert.ok(may({ verb: "update", resource: "configmaps", name: "one" }));
  assert.ok(!may({ verb: "update", resource: "configmaps", name: "two" }));
  assert.ok(!may({ verb: "update", resource: "configmaps", name: "" }));
  assert.ok(may({ isResourceRequest: false, path: "/metrics/slis" }));
  assert.ok(!may({ isResourceRequest: false, path: "/healthz/ping" }));
});

test("a change of policy is seen by the next question; between changes nothing is rebuilt", () => {
  const lookup = new FakeLookup([role("reader", [reader])]);
  let lists = 0;
  const counting = {
    get: lookup.get.bind(lookup),
    list: (...args: Parameters<FakeLookup["list"]>) => {
      lists += 1;
      return lookup.list(...args);
    },
  };
  const rbac = new RbacAuthorizer({ lookup: counting, policyVersion: () => lookup.version });
  assert.equal(rbac.authorize(attributes(user)).allowed, false);
  lookup.put(
    binding("b", { kind: "ClusterRole", name: "reader" }, [{ kind: "User", name: "jane" }]),
  );
  assert.equal(rbac.authorize(attributes(user)).allowed, true);
  const before = lists;
  for (let i = 0; i < 100; i++) rbac.authorize(attributes(user));
  assert.equal(lists, before);
});

test("a missing role is named in the refusal", () => {
  const lookup = new FakeLookup([
    binding("b", { kind: "ClusterRole", name: "gone" }, [{ kind: "User", name: "jane" }]),
  ]);
  const decision = new RbacAuthorizer({ lookup }).authorize(attributes(user));
  assert.equal(decision.reason, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found');
  assert.equal(
    authorizationError(attributes(user), decision.reason).message,
    'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "ns": RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
  );
});

test("refusals are worded as upstream words them", () => {
  const text = (over: object) => authorizationError(attributes(user, over), "").message;
  assert.equal(
    text({ name: "", namespace: "", verb: "list", resource: "nodes", subresource: "" }),
    'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
  );
  assert.equal(
    text({ group: "apps", resource: "deployments", subresource: "scale", verb: "patch" }),
    'deployments.apps "p" is forbidden: User "jane" cannot patch resource "deployments/scale" in API group "apps" in the namespace "ns"',
  );
  assert.equal(
    text({ isResourceRequest: false, path: "/metrics" }),
    'forbidden: User "jane" cannot get path "/metrics"',
  );
});

test("masters pass without a single role", async () => {
  const rbac = new RbacAuthorizer({ lookup: new FakeLookup() });
  const chain = unionAuthorizer([mastersAuthorizer, rbac]);
  const root = { name: "root", groups: ["system:masters"] };
  assert.ok((await chain.authorize(attributes(root))).allowed);
  assert.ok(!(await chain.authorize(attributes(user))).allowed);
});

const replicaSets = {
  account: "replicaset-controller",
  rules: ["create,delete,list,patch,watch | core | pods", "events"],
};

test("the bootstrap policy lets each do its work and no more", () => {
  const lookup = new FakeLookup([
    ...bootstrapPolicy([replicaSets]),
    binding("e", { kind: "ClusterRole", name: "edit" }, [{ kind: "User", name: "ed" }], "ns"),
    binding("v", { kind: "ClusterRole", name: "view" }, [{ kind: "User", name: "vi" }], "ns"),
    binding("a", { kind: "ClusterRole", name: "admin" }, [{ kind: "User", name: "ad" }], "ns"),
  ]);
  const rbac = new RbacAuthorizer({ lookup });
  const may = (name: string, over: object, groups: string[] = ["system:authenticated"]) =>
    rbac.authorize(attributes({ name, groups }, over)).allowed;
  assert.ok(may("vi", { verb: "list" }));
  assert.ok(!may("vi", { resource: "secrets" }));
  assert.ok(!may("vi", { verb: "create" }));
  assert.ok(may("ed", { verb: "create" }));
  assert.ok(may("ed", { resource: "secrets" }));
  const roles = { group: "rbac.authorization.k8s.io", resource: "roles", verb: "create" };
  assert.ok(!may("ed", roles));
  assert.ok(may("ad", roles));
  assert.ok(may("ad", { resource: "secrets" }));
  assert.ok(may("x", { isResourceRequest: false, path: "/openapi/v3" }));
  assert.ok(!may("x", { isResourceRequest: false, path: "/metrics" }));
  assert.ok(
    may("system:anonymous", { isResourceRequest: false, path: "/livez" }, [
      "system:unauthenticated",
    ]),
  );
  const scheduler = "system:kube-scheduler";
  assert.ok(may(scheduler, { verb: "create", subresource: "binding" }));
  assert.ok(
    may(scheduler, {
      verb: "create",
      namespace: "kube-system",
      group: "coordination.k8s.io",
      resource: "leases",
    }),
  );
  const controller = "system:serviceaccount:kube-system:replicaset-controller";
  assert.ok(may(controller, { verb: "create" }));
  assert.ok(!may(controller, { resource: "secrets" }));
});
