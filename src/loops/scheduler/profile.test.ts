/** Profiles: chosen plugins, weights and arguments decide; several share room, queue and binds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "#api/gen/types.ts";
import {
  choosePlugins,
  defaultArguments,
  defaultProfile,
  type PluginArguments,
  type PluginParts,
  type Profile,
} from "./profile.ts";
import { leastAllocated, strategyScore, type ScoringStrategy } from "./scoring-strategy.ts";
import { NodeTable } from "./node-table.ts";
import { podRequests } from "./requests.ts";
import { makeNode, makePod, eventsRef, nodesRef, podsRef, startRig } from "./testing.ts";

const whole: PluginParts = { filters: true, scores: true, weight: undefined };

function profileOf(
  schedulerName: string,
  changed: Partial<PluginArguments> = {},
  parts: Readonly<Record<string, PluginParts>> = {},
): Profile {
  const plugins = choosePlugins(
    { ...defaultArguments, ...changed },
    (name) => parts[name] ?? whole,
  );
  return { ...defaultProfile, schedulerName, plugins };
}

const weights = (cpu: number, memory: number) => [
  { name: "cpu", weight: cpu },
  { name: "memory", weight: memory },
];

/** The score of a node of 4 CPUs and 16 GiB for a Pod of these requests. */
function scoreOf(strategy: Partial<ScoringStrategy>, cpu: string, memory: string): number {
  const nodes = new NodeTable();
  const slot = nodes.set(makeNode("n"));
  const requests = podRequests(makePod("p", { cpu, memory }).spec ?? { containers: [] });
  return strategyScore({ ...leastAllocated, ...strategy })(nodes, requests, slot);
}

test("scoring strategies: upstream's arithmetic in whole numbers", () => {
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 100, score: 10 },
  ];
  const ratio = { type: "RequestedToCapacityRatio", shape } as const;
  assert.equal(scoreOf({}, "1", "4Gi"), 75);
  assert.equal(scoreOf({ type: "MostAllocated" }, "1", "4Gi"), 25);
  assert.equal(scoreOf({ type: "MostAllocated", resources: weights(1, 3) }, "2", "4Gi"), 31);
  assert.equal(
    scoreOf({ type: "MostAllocated", resources: weights(0, 1).slice(1) }, "4", "4Gi"),
    25,
  );
  // 25 % on a line from 0 to 100: the points are scaled first.
  assert.equal(scoreOf(ratio, "1", "4Gi"), 25);
  // A resource that scores 0 is left out of the mean.
  assert.equal(
    scoreOf(
      {
        ...ratio,
        shape: shape.toReversed().map(({ score }, i) => ({ utilization: i * 100, score })),
      },
      "4",
      "8Gi",
    ),
    50,
  );
  assert.equal(scoreOf(ratio, "8", "16Gi"), 100);
});

test("MostAllocated fills one node before it takes the next", async () => {
  const profile = profileOf("default-scheduler", {
    strategy: { ...leastAllocated, type: "MostAllocated" },
  });
  const rig = await startRig(
    (api) => {
      for (const name of ["n1", "n2", "n3"]) api.put(nodesRef, makeNode(name));
      for (let i = 0; i < 8; i++)
        api.put(podsRef, makePod(`p${i}`, { cpu: "500m", memory: "1Gi" }));
    },
    [profile],
  );
  const used = new Set(Array.from({ length: 8 }, (_, i) => rig.nodeOf(`p${i}`)));
  assert.deepEqual([used.size, used.has("")], [1, false]);
  await rig.end();
});

test("a filter that is off refuses nobody, and its score goes on", async () => {
  const taints = [{ key: "k", value: "v", effect: "NoSchedule" }];
  const off = { TaintToleration: { ...whole, filters: false } };
  const rig = await startRig(
    (api) => {
      api.put(nodesRef, makeNode("n1", { taints }));
      api.put(podsRef, makePod("free", { spec: { schedulerName: "free" } }));
      api.put(podsRef, makePod("strict"));
    },
    [defaultProfile, profileOf("free", {}, off)],
  );
  assert.equal(rig.nodeOf("free"), "n1");
  assert.match(rig.verdictOn("strict"), /untolerated taint/);
  await rig.end();
});

test("weights decide between scores that disagree", async () => {
  const labels = { wanted: "yes" };
  const preferred = { key: "wanted", operator: "In", values: ["yes"] };
  const preference = { matchExpressions: [preferred] };
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
    },
  };
  for (const [weight, node] of [
    [1, "wide"],
    [100, "wanted"],
  ] as const) {
    const parts = {
      NodeAffinity: { ...whole, weight },
      NodeResourcesFit: { ...whole, weight: 10 },
    };
    const rig = await startRig(
      (api) => {
        api.put(nodesRef, makeNode("wide", { cpu: "64", memory: "256Gi" }));
        api.put(nodesRef, makeNode("wanted", { labels }));
        api.put(podsRef, makePod("p", { cpu: "3", memory: "12Gi", spec: { affinity } }));
      },
      [profileOf("default-scheduler", {}, parts)],
    );
    assert.equal(rig.nodeOf("p"), node);
    await rig.end();
  }
});

test("an added affinity holds for all Pods of its profile, and says so", async () => {
  const term = { matchExpressions: [{ key: "pool", operator: "In", values: ["a"] }] };
  const addedAffinity = { required: { nodeSelectorTerms: [term] }, preferred: [] };
  const rig = await startRig(
    (api) => {
      api.put(nodesRef, makeNode("n1", { labels: { pool: "b" } }));
      api.put(podsRef, makePod("p"));
    },
    [profileOf("default-scheduler", { addedAffinity })],
  );
  assert.match(rig.verdictOn("p"), /1 node\(s\) didn't match scheduler-enforced node affinity/);
  rig.api.put(nodesRef, makeNode("n2", { labels: { pool: "a" } }));
  await rig.clock.advance(20_000);
  assert.equal(rig.nodeOf("p"), "n2");
  await rig.end();
});

test("profiles never give away the same room twice, and speak under their own names", async () => {
  const rig = await startRig(
    (api) => {
      for (const name of ["n1", "n2"]) api.put(nodesRef, makeNode(name, { cpu: "5" }));
      for (let i = 0; i < 20; i++) {
        const spec = i % 2 === 0 ? {} : { schedulerName: "second" };
        api.put(podsRef, makePod(`p${i}`, { cpu: "1", spec }));
      }
    },
    [defaultProfile, profileOf("second")],
  );
  const placed = Array.from({ length: 20 }, (_, i) => rig.nodeOf(`p${i}`));
  const on = (node: string) => placed.filter((one) => one === node).length;
  assert.deepEqual([on("n1"), on("n2"), on("")], [5, 5, 10]);
  const sources = rig.api.peekAll<Event>(eventsRef).map(({ source }) => source?.component);
  assert.deepEqual([...new Set(sources)].toSorted(), ["default-scheduler", "second"]);
  await rig.end();
});

test("a profile that does not preempt waits", async () => {
  const rig = await startRig(
    (api) => {
      api.put(nodesRef, makeNode("n1", { cpu: "1" }));
      api.put(podsRef, makePod("low", { cpu: "1", nodeName: "n1" }));
      api.put(podsRef, makePod("high", { cpu: "1", priority: 10 }));
    },
    [{ ...defaultProfile, preemption: undefined }],
  );
  assert.equal(rig.verdictOn("high"), "0/1 nodes are available: 1 Insufficient cpu.");
  assert.equal(rig.api.peek(podsRef, "a", "low")?.metadata?.deletionTimestamp, undefined);
  await rig.end();
});
