/** Groups through the whole scheduler: all or nothing, in both forms, with what people read of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodGroup } from "#api/gen/types.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { ApiError, internalError } from "#api/status.ts";
import { eventsRef, makeNode, makePod, nodesRef, podsRef, startRig } from "../testing.ts";
import type { CoschedulingGroup } from "./group-spec.ts";
import { groupRefs } from "./group-sources.ts";
import { gangPods, labelledPods, putCoschedulingGroup, putGroup, serveGroups } from "./testing.ts";

const waitsForRest =
  "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod";

function nodes(api: FakeApi, count: number, cpu = "1"): void {
  serveGroups(api);
  for (let i = 0; i < count; i++) api.put(nodesRef, makeNode(`n${i}`, { cpu }));
}

function putAll(api: FakeApi, pods: readonly Pod[]): void {
  for (const pod of pods) api.put(podsRef, pod);
}

function placed(api: FakeApi, prefix: string): number {
  return api
    .peekAll<Pod>(podsRef)
    .filter(({ metadata, spec }) => metadata?.name?.startsWith(prefix) && spec?.nodeName).length;
}

function condition(api: FakeApi, name: string) {
  return api.peek<PodGroup>(groupRefs.native, "a", name)?.status?.conditions?.[0];
}

test("a group waits for its object and its last Pod, and is then placed as a whole", async () => {
  const rig = await startRig((api) => nodes(api, 4));
  putAll(rig.api, gangPods("g", 2));
  await rig.clock.advance(5_000);
  assert.equal(placed(rig.api, "g"), 0, "no object yet");
  putGroup(rig.api, "g", 3);
  await rig.clock.advance(5_000);
  assert.equal(placed(rig.api, "g"), 0, "two of three");
  assert.deepEqual(
    rig.events("FailedScheduling"),
    [],
    "as upstream, nothing is said of those held",
  );
  putAll(rig.api, gangPods("g", 1, {}, "g-last"));
  await rig.clock.advance(50);
  assert.equal(placed(rig.api, "g"), 3);
  assert.equal(condition(rig.api, "g")?.status, "True");
  assert.equal(condition(rig.api, "g")?.reason, "Scheduled");
  await rig.end();
});

test("a group that does not fit is not placed at all; when room comes, it is", async () => {
  const rig = await startRig((api) => {
    nodes(api, 2);
    putGroup(api, "g", 3);
    putAll(api, gangPods("g", 3));
  });
  assert.equal(placed(rig.api, "g"), 0);
  const texts = [0, 1, 2].map((i) => rig.verdictOn(`g-${i}`));
  assert.deepEqual(texts.toSorted(), [
    "0/2 nodes are available: 2 Insufficient cpu. preemption: No preemption victims found for incoming preemptor",
    waitsForRest,
    waitsForRest,
  ]);
  assert.equal(condition(rig.api, "g")?.reason, "Unschedulable");
  rig.api.put(nodesRef, makeNode("n2", { cpu: "1" }));
  await rig.clock.advance(2_000);
  assert.equal(placed(rig.api, "g"), 3);
  assert.equal(condition(rig.api, "g")?.status, "True");
  const metric = rig.samples("scheduler_podgroup_schedule_attempts_total");
  assert.ok(
    metric.some((line) => line.includes('result="scheduled"} 1')),
    metric.join(),
  );
  await rig.end();
});

test("Pods beyond minCount are placed where there is room, and later ones follow", async () => {
  const rig = await startRig((api) => {
    nodes(api, 3);
    putGroup(api, "g", 2);
    putAll(api, gangPods("g", 4));
  });
  assert.equal(placed(rig.api, "g"), 3);
  rig.api.put(nodesRef, makeNode("n3", { cpu: "1" }));
  await rig.clock.advance(2_000);
  assert.equal(placed(rig.api, "g"), 4);
  await rig.end();
});

test("two groups that each want three of four nodes never hold half of them", async () => {
  const rig = await startRig((api) => {
    nodes(api, 4);
    for (const group of ["g", "h"]) putGroup(api, group, 3);
    const [g, h] = [gangPods("g", 3), gangPods("h", 3)];
    // In turns, so that one Pod at a time would give two nodes to each.
    putAll(
      api,
      [0, 1, 2].flatMap((i) => [g[i], h[i]]).filter((pod) => pod !== undefined),
    );
  });
  const first = placed(rig.api, "g") === 3 ? "g" : "h";
  const other = first === "g" ? "h" : "g";
  assert.equal(placed(rig.api, first), 3);
  assert.equal(placed(rig.api, other), 0);
  for (let i = 0; i < 3; i++) rig.api.drop(podsRef, "a", `${first}-${i}`);
  await rig.clock.advance(15_000);
  assert.equal(placed(rig.api, other), 3);
  await rig.end();
});

test("a group goes into one domain of its topology key, the fullest that takes it whole", async () => {
  const rig = await startRig((api) => {
    serveGroups(api);
    const racks = { r0: 2, r1: 4, r2: 3 };
    for (const [rack, count] of Object.entries(racks)) {
      for (let i = 0; i < count; i++) {
        api.put(nodesRef, makeNode(`${rack}-${i}`, { cpu: "1", labels: { rack } }));
      }
    }
    putGroup(api, "g", 3, { schedulingConstraints: { topology: [{ key: "rack" }] } });
    putGroup(api, "h", 5, { schedulingConstraints: { topology: [{ key: "rack" }] } });
    putAll(api, [...gangPods("g", 3), ...gangPods("h", 5)]);
  });
  const racks = [0, 1, 2].map((i) => rig.nodeOf(`g-${i}`).slice(0, 2));
  assert.deepEqual(racks, ["r2", "r2", "r2"]);
  assert.equal(placed(rig.api, "h"), 0, "no rack holds five");
  assert.equal(
    condition(rig.api, "h")?.message,
    "0/3 placements are available, first placement status: pod group is unschedulable, No preemption victims found for incoming preemptor",
  );
  // A later Pod follows the others into their rack, and finds it full.
  putAll(rig.api, gangPods("g", 1, {}, "g-late"));
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("g-late-0"), "");
  await rig.end();
});

test("a group preempts as one: all victims go for all of it, or none", async () => {
  const rig = await startRig((api) => {
    nodes(api, 3);
    putAll(
      api,
      [0, 1].map((i) => makePod(`low-${i}`, { cpu: "1", nodeName: `n${i}`, priority: 0 })),
    );
    putGroup(api, "g", 3);
    putGroup(api, "big", 4);
    putAll(api, gangPods("big", 4, { priority: 20 }));
    putAll(api, gangPods("g", 3, { priority: 10 }));
  });
  assert.equal(
    placed(rig.api, "big"),
    0,
    "four never fit on three nodes: nobody is evicted for them",
  );
  assert.equal(condition(rig.api, "g")?.message, "pod group is waiting for preemption to complete");
  assert.deepEqual(rig.events("Preempted").length, 2);
  await rig.clock.advance(60_000);
  assert.equal(placed(rig.api, "g"), 0, "the victims are still leaving");
  for (const name of ["low-0", "low-1"]) rig.api.drop(podsRef, "a", name);
  await rig.clock.advance(20_000);
  assert.equal(placed(rig.api, "g"), 3);
  await rig.end();
});

test("a failed bind keeps its room, and the group is made whole before others are placed", async () => {
  const rig = await startRig((api) => {
    nodes(api, 3);
    putGroup(api, "g", 3);
    const isBind = (call: { subresource: string; name: string }): boolean =>
      call.subresource === "binding" && call.name === "g-1";
    api.fail(isBind, internalError("the store is away"), 2);
    putAll(api, gangPods("g", 3));
  });
  assert.equal(placed(rig.api, "g"), 2);
  putAll(rig.api, [makePod("other", { cpu: "1" })]);
  await rig.clock.advance(500);
  assert.equal(rig.nodeOf("other"), "", "the room of g-1 is kept");
  await rig.clock.advance(20_000);
  assert.equal(placed(rig.api, "g"), 3);
  assert.equal(rig.nodeOf("other"), "");
  await rig.end();
});

test("small Pods that keep coming do not starve a large group", async () => {
  const rig = await startRig((api) => {
    nodes(api, 4);
    for (let i = 0; i < 4; i++) {
      api.put(podsRef, makePod(`s-${i}`, { cpu: "1", nodeName: `n${i}` }));
    }
    putGroup(api, "g", 4);
    putAll(api, gangPods("g", 4));
  });
  // Every ten seconds one small Pod ends, and two new ones want its place.
  let next = 4;
  for (let i = 0; i < 60 && placed(rig.api, "g") === 0; i++) {
    const running = rig.api
      .peekAll<Pod>(podsRef)
      .filter(({ metadata, spec }) => metadata?.name?.startsWith("s-") && spec?.nodeName);
    const [oldest] = running;
    if (oldest !== undefined) rig.api.drop(podsRef, "a", oldest.metadata?.name ?? "");
    putAll(rig.api, [makePod(`s-${next++}`, { cpu: "1" }), makePod(`s-${next++}`, { cpu: "1" })]);
    await rig.clock.advance(10_000);
  }
  assert.equal(placed(rig.api, "g"), 4);
  await rig.end();
});

test("a group that can never fit holds up nobody", async () => {
  const rig = await startRig((api) => {
    nodes(api, 2);
    putGroup(api, "g", 3);
    putGroup(api, "endless", 2 ** 31 - 1);
    putAll(api, [...gangPods("g", 3), ...gangPods("endless", 5)]);
  });
  await rig.clock.advance(120_000);
  putAll(rig.api, [makePod("small-0", { cpu: "1" }), makePod("small-1", { cpu: "1" })]);
  await rig.clock.advance(50);
  assert.equal(placed(rig.api, "small"), 2);
  await rig.end();
});

test("a coscheduling group is placed as a whole, and its status says how far it is", async () => {
  const rig = await startRig((api) => {
    nodes(api, 2);
    putCoschedulingGroup(api, "g", 3);
    putAll(api, labelledPods("g", 3));
  });
  const status = () => rig.api.peek<CoschedulingGroup>(groupRefs.coscheduling, "a", "g")?.status;
  await rig.clock.advance(1_000);
  assert.equal(placed(rig.api, "g"), 0);
  assert.equal(status()?.phase, "Scheduling");
  assert.equal(rig.verdictOn("g-0"), "optimistic rejection in PostFilter");
  rig.api.put(nodesRef, makeNode("n2", { cpu: "1" }));
  await rig.clock.advance(2_000);
  assert.equal(placed(rig.api, "g"), 3);
  for (let i = 0; i < 3; i++) {
    const pod = rig.api.peek<Pod>(podsRef, "a", `g-${i}`);
    if (pod !== undefined) rig.api.put(podsRef, { ...pod, status: { phase: "Running" } });
  }
  await rig.clock.advance(1_000);
  assert.deepEqual([status()?.phase, status()?.running], ["Running", 3]);
  await rig.end();
});

test("where no API of groups is served, Pods that name one are ordinary Pods", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n0", { cpu: "4" }));
    putAll(api, [...labelledPods("g", 1), ...gangPods("h", 1)]);
  });
  assert.deepEqual([rig.nodeOf("g-0"), rig.nodeOf("h-0")], ["n0", "n0"]);
  // The definition is made later: from then on the label means something.
  serveGroups(rig.api);
  await rig.clock.advance(2_000);
  putAll(rig.api, [makePod("g-1", { labels: { "scheduling.x-k8s.io/pod-group": "g" } })]);
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("g-1"), "");
  putCoschedulingGroup(rig.api, "g", 2);
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("g-1"), "n0");
  await rig.end();
});

test("a PodGroup that is deleted midway holds its other Pods; one of another namespace is none", async () => {
  const rig = await startRig((api) => {
    nodes(api, 2);
    putGroup(api, "g", 3, {}, "b");
    putAll(api, gangPods("g", 3));
  });
  await rig.clock.advance(10_000);
  assert.equal(placed(rig.api, "g"), 0, "the group is in another namespace");
  putGroup(rig.api, "g", 3);
  await rig.clock.advance(1_000);
  assert.match(rig.verdictOn("g-0"), /waiting for minCount|Insufficient cpu/);
  rig.api.drop(groupRefs.native, "a", "g");
  rig.api.put(nodesRef, makeNode("n2", { cpu: "1" }));
  await rig.clock.advance(20_000);
  assert.equal(placed(rig.api, "g"), 0);
  putGroup(rig.api, "g", 3);
  await rig.clock.advance(20_000);
  assert.equal(placed(rig.api, "g"), 3);
  await rig.end();
});

test("Pods of one group with two schedulers, or with gates, are refused by name", async () => {
  const rig = await startRig((api) => {
    nodes(api, 3);
    putGroup(api, "g", 2);
    const [first, second] = gangPods("g", 2);
    const schedulingGates = [{ name: "later" }];
    putAll(api, [first, { ...second, spec: { ...second?.spec, schedulingGates } }] as Pod[]);
  });
  assert.equal(rig.verdictOn("g-0"), waitsForRest);
  const gated = rig.api.peek<Pod>(podsRef, "a", "g-1");
  rig.api.put(podsRef, { ...gated, spec: { ...gated?.spec, schedulingGates: [] } } as Pod);
  await rig.clock.advance(2_000);
  assert.equal(placed(rig.api, "g"), 2);
  assert.equal(rig.events("Scheduled").length, 2);
  assert.ok(rig.api.peekAll(eventsRef).length > 0);
  assert.ok(internalError("x") instanceof ApiError);
  await rig.end();
});
