/** Privilege escalation is refused; the bootstrap policy is repaired, not reset. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapPolicy, reconcilePolicy } from "./bootstrap-policy.ts";
import { escalationError } from "./escalation.ts";
import { RbacAuthorizer } from "./rbac.ts";
import { FakeLookup } from "./testing.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";
const lookup = new FakeLookup([
  ...bootstrapPolicy([]),
  {
    apiVersion,
    kind: "RoleBinding",
    metadata: { name: "a", namespace: "ns" },
    roleRef: { kind: "ClusterRole", name: "admin" },
    subjects: [{ kind: "User", name: "ad" }],
  },
]);
const rbac = new RbacAuthorizer({ lookup });
const ad = { name: "ad", groups: ["system:authenticated"] };

function check(resource: string, object: object, user = ad, oldObject?: object) {
  const base = { apiVersion, metadata: { name: "x", namespace: "ns" } };
  return escalationError(
    { authorizer: rbac, rbac },
    {
      user,
      resource,
      namespace: resource.startsWith("cluster") ? "" : "ns",
      object: { ...base, ...object },
      oldObject: oldObject && { ...base, ...oldObject },
    },
  );
}

test("an admin hands out part of what they have", async () => {
  const rules = [{ verbs: ["get", "update"], apiGroups: ["apps"], resources: ["deployments"] }];
  assert.equal(await check("roles", { rules }), undefined);
});

test("what the writer lacks is listed", async () => {
  const rules = [
    { verbs: ["get", "delete"], apiGroups: [""], resources: ["nodes", "pods"] },
    { verbs: ["get"], nonResourceURLs: ["/metrics"] },
  ];
  const error = await check("roles", { rules });
  assert.equal(error?.code, 403);
  assert.equal(
    error?.message,
    'roles.rbac.authorization.k8s.io "x" is forbidden: user "ad" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
      '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "delete"]}\n' +
      '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
  );
});

test("a binding may only name what its writer holds, and only existing roles", async () => {
  const bind = (name: string) => check("rolebindings", { roleRef: { kind: "ClusterRole", name } });
  assert.equal(await bind("view"), undefined);
  assert.equal(await bind("admin"), undefined);
  assert.equal((await bind("cluster-admin"))?.code, 403);
  assert.equal((await bind("nowhere"))?.code, 404);
  const cluster = await check("clusterrolebindings", {
    roleRef: { kind: "ClusterRole", name: "view" },
  });
  assert.equal(cluster?.code, 403);
});

test("masters and unchanged grants pass", async () => {
  const rules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
  const root = { name: "root", groups: ["system:masters"] };
  assert.equal(await check("clusterroles", { rules }, root), undefined);
  assert.equal(await check("clusterroles", { rules }, ad, { rules }), undefined);
  assert.equal((await check("clusterroles", { rules }, ad, { rules: [] }))?.code, 403);
});

test("an aggregated role needs all of it", async () => {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
  assert.match(
    (await check("clusterroles", { rules: [], aggregationRule }))?.message ?? "",
    /must have cluster-admin privileges to use the aggregationRule$/,
  );
});

test("reconciling adds what is missing and keeps what the operator did", () => {
  const wanted = bootstrapPolicy([]).find((o) => o.metadata?.name === "system:discovery");
  assert.ok(wanted !== undefined && wanted.kind === "ClusterRole");
  const asObject = wanted as Parameters<typeof reconcilePolicy>[0];
  assert.equal(reconcilePolicy(asObject, undefined), asObject);
  assert.equal(reconcilePolicy(asObject, structuredClone(asObject)), undefined);
  const own = { verbs: ["get"], nonResourceURLs: ["/mine"] };
  const emptied = { ...asObject, rules: [own] };
  const repaired = reconcilePolicy(asObject, emptied);
  assert.ok(repaired !== undefined);
  const rules = repaired["rules"] as readonly { readonly nonResourceURLs: readonly string[] }[];
  assert.ok(rules.some((rule) => rule === own));
  assert.equal(rules.length, 12);
  const kept = {
    ...emptied,
    metadata: {
      ...asObject.metadata,
      annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" },
    },
  };
  assert.equal(reconcilePolicy(asObject, kept), undefined);
});
