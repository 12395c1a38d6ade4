/** Pods that no other controller cleans up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { given } from "#base/given.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod } from "../testing/world.ts";
import { PodGarbageCollector } from "./controller.ts";
import * as garbage from "./garbage.ts";

const born = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const on = (nodeName: string) => ({ spec: { containers: [], nodeName } });
const going = { metadata: { deletionTimestamp: born(0), finalizers: ["example.com/hold"] } };

test("of finished pods beyond the threshold the evicted go first, then the oldest", () => {
  const finished = (name: string, second: number, status: Pod["status"]): Pod =>
    pod(name, {
      ...given({ status }),
      metadata: { creationTimestamp: born(second) },
    });
  const pods = [
    finished("old", 1, { phase: "Succeeded" }),
    finished("young", 9, { phase: "Failed" }),
    finished("evicted", 5, { phase: "Failed", reason: "Evicted" }),
    finished("running", 0, { phase: "Running" }),
  ];
  const gone = (threshold: number): readonly (string | undefined)[] =>
    garbage.findTerminatedBeyond(pods, threshold).map((one) => one.pod.metadata?.name);
  assert.deepEqual(gone(2), ["evicted"]);
  assert.deepEqual(gone(1), ["evicted", "old"]);
  assert.deepEqual(gone(3), []);
  assert.deepEqual(gone(0), []);
});

test("terminating pods go from nodes out of service, not from others", () => {
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
  const node = (ready: string, tainted: boolean): Node => ({
    spec: tainted ? { taints } : {},
    status: { conditions: [{ type: "Ready", status: ready }] },
  });
  const nodes = new Map([
    ["dead", node("Unknown", true)],
    ["back", node("True", true)],
    ["slow", node("Unknown", false)],
  ]);
  const pods = ["dead", "back", "slow"].map((name) => pod(name, { ...on(name), ...going }));
  pods.push(pod("stays", on("dead")));
  const gone = garbage
    .findTerminatingOutOfService(pods, nodes)
    .map((one) => one.pod.metadata?.name);
  assert.deepEqual(gone, ["dead"]);
});

test("pods of a node that is gone are failed and deleted after a quarantine and a live look", async () => {
  const world = createWorld();
  world.api.put(refs.nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "here" } });
  world.api.put(
    refs.pods,
    pod("lost", { ...on("gone"), metadata: { finalizers: ["example.com/hold"] } }),
  );
  world.api.put(refs.pods, pod("kept", on("here")));
  await world.start((deps) => new PodGarbageCollector(deps));
  await world.advance(45_000);
  assert.deepEqual(world.writes(), []);
  await world.advance(20_000);
  const lost = world.api.peek<Pod>(refs.pods, "default", "lost");
  assert.equal(lost?.status?.phase, "Failed");
  const target = lost?.status?.conditions?.[0];
  assert.equal(target?.reason, "DeletionByPodGC");
  assert.equal(target?.message, "PodGC: node no longer exists");
  assert.notEqual(lost?.metadata?.deletionTimestamp, undefined);
  assert.deepEqual(names(world.api, refs.pods), ["kept", "lost"]);
  await world.stop();
});

test("a node the cache misses but the server has keeps its pods", async () => {
  const world = createWorld();
  world.api.put(refs.pods, pod("p", on("new")));
  const broken = failure(500, "InternalError", "away");
  world.api.fail((call) => call.verb === "get" && call.resource === "nodes", broken, 100);
  await world.start((deps) => new PodGarbageCollector(deps));
  await world.advance(300_000);
  assert.deepEqual(names(world.api, refs.pods), ["p"]);
  await world.stop();
});

test("a pod that is deleted before it had a node is failed and goes", async () => {
  const world = createWorld();
  const { finalizers: _held, ...metadata } = going.metadata;
  world.api.put(refs.pods, pod("never", { metadata, status: { phase: "Pending" } }));
  await world.start((deps) => new PodGarbageCollector(deps));
  await world.advance(21_000);
  assert.deepEqual(names(world.api, refs.pods), []);
  await world.stop();
});
