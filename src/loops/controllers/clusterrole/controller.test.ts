/** Aggregate roles have the rules of their parts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterRole, PolicyRule } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, type World } from "../testing/world.ts";
import { ClusterRoleAggregationController } from "./controller.ts";

const rule = (resource: string): PolicyRule => ({
  apiGroups: [""],
  resources: [resource],
  verbs: ["get"],
});

function put(
  world: World,
  name: string,
  resources: readonly string[],
  fields: Partial<ClusterRole> = {},
): void {
  const labels = { part: "yes" };
  world.api.put<ClusterRole>(refs.clusterroles, {
    metadata: { name, labels },
    rules: resources.map(rule),
    ...fields,
  });
}

function rulesOf(world: World): readonly (string | undefined)[] {
  const role = world.api.peek<ClusterRole>(refs.clusterroles, "", "all");
  return (role?.rules ?? []).map((one) => one.resources?.[0]);
}

test("the rules of all parts by name, each once; they follow; a second run writes nothing", async () => {
  const world = createWorld();
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] };
  put(world, "all", ["old"], { aggregationRule });
  put(world, "b", ["pods", "nodes"]);
  put(world, "a", ["services", "pods"]);
  put(world, "c", ["secrets"], { metadata: { name: "c" } });
  await world.start((deps) => new ClusterRoleAggregationController(deps));
  assert.deepEqual(rulesOf(world), ["services", "pods", "nodes"]);
  put(world, "c", ["secrets"]);
  await world.rest();
  assert.deepEqual(rulesOf(world), ["services", "pods", "nodes", "secrets"]);
  world.api.drop(refs.clusterroles, "", "a");
  await world.rest();
  assert.deepEqual(rulesOf(world), ["pods", "nodes", "secrets"]);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new ClusterRoleAggregationController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("thousands of selectors are gone through in steps, in order", async () => {
  const world = createWorld();
  const none = Array.from({ length: 2_500 }, (_one, at) => ({ matchLabels: { none: `${at}` } }));
  const clusterRoleSelectors = [
    ...none,
    { matchLabels: { name: "b" } },
    ...none,
    { matchLabels: { part: "yes" } },
  ];
  put(world, "all", [], { aggregationRule: { clusterRoleSelectors } });
  put(world, "a", ["services", "pods"]);
  put(world, "b", ["pods", "nodes"], { metadata: { name: "b", labels: { name: "b" } } });
  await world.start((deps) => new ClusterRoleAggregationController(deps));
  assert.deepEqual(rulesOf(world), ["pods", "nodes", "services"]);
  await world.stop();
});
