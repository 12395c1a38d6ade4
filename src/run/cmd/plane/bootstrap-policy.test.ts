/**
 * The RBAC policy that is assembled from the roles of all controllers, against what a stock API server
 * 1.36.3 wrote at its first start: clusterroles, clusterrolebindings, roles and rolebindings, without
 * uid, resourceVersion, creationTimestamp, managedFields and apiVersion. The rules of aggregated roles are what
 * the controller manager 1.36.3 made of them.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { bootstrapPolicy } from "#auth/bootstrap-policy.ts";
import { AssertionError } from "#base/assert.ts";
import type { ControllerRole } from "#controllers/framework/role.ts";
import { controllerRoles } from "#controllers/manager.ts";

const golden = new URL(
  "../../../../test/differential/golden/bootstrap-policy.json",
  import.meta.url,
);

function keyOf({ kind, metadata }: AnyObject): string {
  return `${kind} ${metadata?.namespace ?? ""}/${metadata?.name}`;
}

function compared(object: AnyObject): AnyObject {
  const { apiVersion: _, ...rest } = object;
  return rest;
}

function byKey(objects: readonly AnyObject[]): Readonly<Record<string, AnyObject>> {
  const sorted = objects.map((object) => [keyOf(object), compared(object)] as const);
  return Object.fromEntries(sorted.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const stock = byKey(JSON.parse(readFileSync(golden, "utf8")) as readonly AnyObject[]);

/** The assembled policy, without what belongs to controllers that upstream lacks: those must not be in `stock`. */
function policyOf(roles: readonly ControllerRole[]): Readonly<Record<string, AnyObject>> {
  const own = roles.filter(({ notUpstream }) => notUpstream !== undefined);
  const policy = { ...byKey(bootstrapPolicy(roles)) };
  for (const { account } of own) {
    for (const kind of ["ClusterRole", "ClusterRoleBinding"]) {
      const key = `${kind} /system:controller:${account}`;
      assert.ok(key in policy && !(key in stock), `${key} is upstream's`);
      delete policy[key];
    }
  }
  return policy;
}

test("the policy assembled from the controllers' roles is a stock server's", () => {
  assert.equal(Object.keys(stock).length, 133);
  assert.deepEqual(policyOf(controllerRoles), stock);
});

test("a controller that upstream lacks says so in its role, and one that upstream has must not", () => {
  const rules = ["read | core | pods"];
  const own = { account: "own-controller", rules, notUpstream: "this test makes it" };
  assert.deepEqual(policyOf([...controllerRoles, own]), stock);
  const { notUpstream: _, ...silent } = own;
  assert.notDeepEqual(policyOf([...controllerRoles, silent]), stock);
  const claimed = controllerRoles.map((role) =>
    role.account === "job-controller" ? { ...role, notUpstream: "not so" } : role,
  );
  assert.throws(() => policyOf(claimed), /job-controller is upstream's/);
});

test("two roles for one service account are a bug", () => {
  const role = { account: "ttl-controller", rules: ["events"] };
  assert.throws(() => bootstrapPolicy([...controllerRoles, role]), AssertionError);
});
