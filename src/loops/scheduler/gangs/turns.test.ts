/** Decisions about groups that take several turns, while nodes and Pods come and go in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { schedulerDefaults } from "../scheduler.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "../testing.ts";
import { gangPods, putGroup, serveGroups, slowClock } from "./testing.ts";

const size = 30;

/** A group of `size` on nodes that each have room for all of it; `between` runs before each turn but the first. */
function startWith(nodes: readonly string[], between: (api: FakeApi, turn: number) => void) {
  const seed = (api: FakeApi): void => {
    serveGroups(api);
    for (const name of nodes) api.put(nodesRef, makeNode(name, { cpu: "64", zone: "z" }));
    putGroup(api, "g", size);
    for (const pod of gangPods("g", size)) api.put(podsRef, pod);
  };
  let turn = 0;
  return startRig(seed, schedulerDefaults.profiles, [], (clock, api) =>
    slowClock(clock, 7, () => between(api, ++turn)),
  );
}

type Rig = Awaited<ReturnType<typeof startWith>>;

function nodesOfGroup(rig: Rig): string[] {
  return Array.from({ length: size }, (_, i) => rig.nodeOf(`g-${i}`));
}

test("other Pods of the cluster are seen while a group is decided about", async () => {
  let turns = 0;
  const rig = await startWith(["a", "b"], () => void turns++);
  assert.ok(!nodesOfGroup(rig).includes(""));
  assert.ok(turns > 5, `${turns} turns`);
  await rig.end();
});

test("a node that goes between two turns gets no Pod of the group", async () => {
  const rig = await startWith(["a", "b"], (api, turn) => {
    if (turn === 4) api.drop(nodesRef, "", "a");
  });
  await rig.clock.advance(2_000);
  assert.deepEqual(new Set(nodesOfGroup(rig)), new Set(["b"]));
  await rig.end();
});

test("a Pod that goes between two turns leaves its group incomplete: none is bound", async () => {
  const rig = await startWith(["a"], (api, turn) => {
    if (turn === 4) api.drop(podsRef, "a", "g-0");
  });
  await rig.clock.advance(2_000);
  assert.deepEqual(new Set(nodesOfGroup(rig)), new Set([""]));
  rig.api.put(podsRef, must(gangPods("g", size)[0]));
  await rig.clock.advance(2_000);
  assert.ok(!nodesOfGroup(rig).includes(""));
  await rig.end();
});

test("a node that fills up between two turns is not overcommitted", async () => {
  const rig = await startWith(["a", "b"], (api, turn) => {
    if (turn === 4) api.put(podsRef, makePod("other", { cpu: "60", nodeName: "a" }));
  });
  await rig.clock.advance(2_000);
  const onA = nodesOfGroup(rig).filter((name) => name === "a").length;
  assert.ok(!nodesOfGroup(rig).includes(""));
  assert.ok(onA <= 4, `${onA} beside one of 60 on 64 CPUs`);
  await rig.end();
});

test("a cluster that changes in every turn does not put a group off for ever", async () => {
  const rig = await startWith(["a", "b"], (api, turn) => {
    const full = makePod(`other-${turn}`, { cpu: "1", nodeName: turn % 2 === 0 ? "a" : "b" });
    if (turn % 3 === 0) api.drop(nodesRef, "", turn % 2 === 0 ? "a" : "b");
    else api.put(nodesRef, makeNode(turn % 2 === 0 ? "b" : "a", { cpu: "64" }));
    if (turn < 20) api.put(podsRef, full);
  });
  await rig.clock.advance(30_000);
  assert.ok(!nodesOfGroup(rig).includes(""));
  await rig.end();
});

function must<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
