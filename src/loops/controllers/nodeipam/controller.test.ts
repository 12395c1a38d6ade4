/** Each node gets a range of each cluster range, once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/gen/types.ts";
import { parseRange, type Range } from "#api/validation/ip.ts";
import { must } from "#base/assert.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, type World } from "../testing/world.ts";
import { NodeIpamController } from "./controller.ts";

function rangeOf(text: string): Range {
  return must(parseRange(text), text);
}

function node(name: string, ...podCIDRs: readonly string[]): Node {
  const [podCIDR = ""] = podCIDRs;
  const spec = podCIDR === "" ? {} : { podCIDR, podCIDRs };
  return { apiVersion: "v1", kind: "Node", metadata: { name }, spec };
}

function rangesIn(world: World, ...names: readonly string[]): readonly unknown[] {
  return names.map((name) => world.api.peek<Node>(refs.nodes, "", name)?.spec?.podCIDRs);
}

function controllerOf(cluster: readonly string[], services: readonly string[] = []) {
  const maskOf = (text: string): number => (text.includes(":") ? 64 : 24);
  const clusterRanges = cluster.map((text) => ({ range: rangeOf(text), maskSize: maskOf(text) }));
  const options = { clusterRanges, serviceRanges: services.map(rangeOf) };
  return (deps: ConstructorParameters<typeof NodeIpamController>[0]) =>
    new NodeIpamController(deps, options);
}

test("nodes get ranges of both families beside those that nodes have and Services need", async () => {
  const world = createWorld();
  world.api.put(refs.nodes, node("old", "10.244.0.0/24", "fd00::/64"));
  world.api.put(refs.nodes, node("a"));
  world.api.put(refs.nodes, node("b"));
  await world.start(controllerOf(["10.244.0.0/22", "fd00::/48"], ["10.244.1.0/24"]));
  const given = rangesIn(world, "a", "b").toSorted();
  assert.deepEqual(given, [
    ["10.244.2.0/24", "fd00:0:0:1::/64"],
    ["10.244.3.0/24", "fd00:0:0:2::/64"],
  ]);
  assert.equal(world.api.peek<Node>(refs.nodes, "", "a")?.spec?.podCIDR?.endsWith("/24"), true);
  await world.stop();
});

test("an event tells of a node without a range, which gets that of a node that went", async () => {
  const world = createWorld();
  world.api.put(refs.nodes, node("a", "10.244.0.0/24"));
  world.api.put(refs.nodes, node("b"));
  await world.start(controllerOf(["10.244.0.0/24"]));
  assert.deepEqual(rangesIn(world, "b"), [undefined]);
  assert.deepEqual(world.events.slice(0, 1), [
    "Normal CIDRNotAvailable Node b status is now: CIDRNotAvailable",
  ]);
  await world.api.delete(refs.nodes, "", "a");
  await world.advance(60_000);
  assert.deepEqual(rangesIn(world, "b"), [["10.244.0.0/24"]]);
  await world.stop();
});
