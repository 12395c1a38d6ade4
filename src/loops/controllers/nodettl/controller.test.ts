/** The time that kubelets keep Secrets follows the size of the cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld } from "../testing/world.ts";
import { NodeTtlController } from "./controller.ts";
import { nextStep } from "./steps.ts";

const key = "node.alpha.kubernetes.io/ttl";
const put = (name: string, annotations = {}) => ({ metadata: { name, annotations } });

test("a step begins above the end of the one before, in both directions and over several at once", () => {
  const walk = [100, 101, 95, 90, 89, 5_000, 1_800, 1_799, 3];
  let step = 0;
  const seen = walk.map((count) => (step = nextStep(step, count)));
  assert.deepEqual(seen, [0, 1, 1, 1, 0, 4, 4, 3, 0]);
});

test("nodes get the annotation; a node that has it is not written", async () => {
  const world = createWorld();
  world.api.put(refs.nodes, put("a"));
  world.api.put(refs.nodes, put("b", { [key]: "0" }));
  world.api.put(refs.nodes, put("c", { [key]: "much" }));
  await world.start((deps) => new NodeTtlController(deps));
  assert.deepEqual(world.writes(), ["patch nodes a", "patch nodes c"]);
  assert.equal(world.api.peek<Node>(refs.nodes, "", "c")?.metadata?.annotations?.[key], "0");
  world.forgetCalls();
  for (let i = 0; i < 120; i++) world.api.put(refs.nodes, put(`n${i}`, { [key]: "0" }));
  await world.rest();
  world.api.put(refs.nodes, put("a", { [key]: "0", beat: "1" }));
  await world.rest();
  assert.equal(world.api.peek<Node>(refs.nodes, "", "a")?.metadata?.annotations?.[key], "15");
  await world.stop();
});
