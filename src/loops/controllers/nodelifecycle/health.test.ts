/** Conditions, taints, zones and tolerance: everything the node loops decide by. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import fc from "fast-check";
import type { Node, Taint, Toleration } from "#api/gen/types.ts";
import * as health from "./health.ts";
import { nodeLifecycleDefaults } from "./options.ts";
import { evictionInMs } from "./tolerance.ts";
import { evictionRates, isCutOff, TokenBucket, zoneState, type ZoneCount } from "./zones.ts";

const now = "2026-01-01T01:00:00Z";
const nowMs = Date.parse(now);
const before = "2026-01-01T00:00:00Z";

function node(
  ready?: string,
  fields: Partial<NonNullable<Node["spec"]>> = {},
  others: readonly string[] = [],
): Node {
  const type = "Ready";
  const conditions = [
    ...others.map((other) => ({ type: other, status: "True" })),
    ...(ready === undefined ? [] : [{ type, status: ready, lastTransitionTime: before }]),
  ];
  return {
    metadata: { name: "n", creationTimestamp: before },
    spec: fields,
    status: { conditions },
  };
}

test("a node that fell silent: the kubelet's conditions are unknown, in place; others stay", () => {
  const silent = health.silentConditions(node("True", {}, ["NetworkUnavailable"]), now);
  assert.deepEqual(
    silent.map((one) => `${one.type}=${one.status}`),
    [
      "NetworkUnavailable=True",
      "Ready=Unknown",
      "MemoryPressure=Unknown",
      "DiskPressure=Unknown",
      "PIDPressure=Unknown",
    ],
  );
  assert.equal(silent[1]?.reason, "NodeStatusUnknown");
  assert.equal(silent[2]?.reason, "NodeStatusNeverUpdated");
  const again = { ...node(), status: { conditions: silent } };
  assert.deepEqual(health.silentConditions(again, "2026-01-01T02:00:00Z"), silent);
});

const unreachable = health.unreachableKey;
const notReady = health.notReadyKey;
const taints: readonly (readonly [string, Node, readonly string[]])[] = [
  ["ready", node("True"), []],
  ["not ready", node("False"), [notReady]],
  ["unknown", node("Unknown"), [unreachable]],
  ["never heard of", node(undefined, { taints: [{ key: notReady, effect: "NoSchedule" }] }), []],
  ["cordoned", node("True", { unschedulable: true }), ["node.kubernetes.io/unschedulable"]],
  ["under pressure", node("True", {}, ["DiskPressure"]), ["node.kubernetes.io/disk-pressure"]],
];
for (const [what, given, keys] of taints) {
  test(`NoSchedule taints of a node that is ${what}`, () => {
    const own: Taint = { key: "own", effect: "NoSchedule" };
    const stale: Taint = { key: "node.kubernetes.io/pid-pressure", effect: "NoSchedule" };
    const marked = { ...given, spec: { ...given.spec, taints: [own, stale] } };
    assert.deepEqual(
      health.conditionTaints(marked, now).map((taint) => taint.key),
      ["own", ...keys],
    );
  });
}

test("the NoExecute taint keeps its time while its key stays, and others' taints stay", () => {
  const own: Taint = { key: "own", effect: "NoExecute" };
  const given: Taint = { key: unreachable, effect: "NoExecute", timeAdded: before };
  const marked = node("Unknown", { taints: [own, given] });
  assert.deepEqual(health.evictionTaints(marked, unreachable, now), [own, given]);
  const swapped = { key: notReady, effect: "NoExecute", timeAdded: now };
  assert.deepEqual(health.evictionTaints(marked, notReady, now), [own, swapped]);
  assert.deepEqual(health.evictionTaints(marked, undefined, now), [own]);
});

const states: readonly (readonly [ZoneCount, string])[] = [
  [{ ready: 10, notReady: 0 }, "normal"],
  [{ ready: 1, notReady: 2 }, "normal"],
  [{ ready: 3, notReady: 3 }, "normal"],
  [{ ready: 9, notReady: 11 }, "partial"],
  [{ ready: 2, notReady: 3 }, "partial"],
  [{ ready: 0, notReady: 1 }, "full"],
  [{ ready: 0, notReady: 0 }, "normal"],
];
for (const [count, state] of states) {
  test(`a zone with ${count.ready} ready and ${count.notReady} lost is ${state}`, () => {
    assert.equal(zoneState(count), state);
  });
}

test("rates: partly lost zones slow down or stop, a lost zone among others goes on, all lost stops", () => {
  const zones = new Map([
    ["well", { ready: 10, notReady: 1 }],
    ["small", { ready: 10, notReady: 20 }],
    ["large", { ready: 30, notReady: 60 }],
    ["lost", { ready: 0, notReady: 5 }],
  ]);
  assert.deepEqual([...evictionRates(zones).values()], [0.1, 0, 0.01, 0.1]);
  assert.equal(isCutOff(zones), false);
  const lost = new Map([["lost", { ready: 0, notReady: 5 }]]);
  assert.deepEqual([...evictionRates(lost).values()], [0]);
  assert.equal(isCutOff(lost), true);
  assert.equal(isCutOff(new Map()), false);
});

test("a bucket gives one node at once and then no more than its rate, over any pauses", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 80 }), (pauses) => {
      const bucket = new TokenBucket(0);
      let at = 0;
      let taken = 0;
      for (const pause of pauses) {
        at += pause;
        if (bucket.take(0.1, at)) taken++;
        assert.ok(taken <= 1 + at / 10_000 + 1e-6);
      }
      assert.equal(new TokenBucket(0).take(0, 1e9), false);
    }),
  );
});

const gone: Taint = { key: "gone", effect: "NoExecute", timeAdded: "2026-01-01T00:59:00Z" };
const unmarked: Taint = { key: "gone", effect: "NoExecute" };
const tolerate = (key: string, seconds?: number): Toleration => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...given({ tolerationSeconds: seconds }),
});

const tolerances: readonly (readonly [
  string,
  readonly Taint[],
  readonly Toleration[],
  number | undefined,
])[] = [
  ["no taint", [], [], undefined],
  ["an intolerable one", [gone], [], 0],
  ["one tolerated for good", [gone], [tolerate("gone")], undefined],
  ["one for 300 s, 60 of them over", [gone], [tolerate("gone", 300)], 240],
  ["one for 30 s", [gone], [tolerate("gone", 30)], -30],
  ["one for less than nothing", [gone], [tolerate("gone", -5)], -60],
  ["without a time: from when it was seen", [unmarked], [tolerate("gone", 300)], 280],
  ["the first toleration counts", [gone], [tolerate("gone", 300), tolerate("gone")], 240],
  [
    "of two taints the sooner",
    [gone, { ...gone, key: "x" }],
    [tolerate("gone", 300), tolerate("x", 100)],
    40,
  ],
  ["one of two intolerable", [gone, { ...gone, key: "x" }], [tolerate("gone", 300)], 0],
  ["everything tolerated", [gone], [{ operator: "Exists" }], undefined],
  ["another value", [{ ...gone, value: "a" }], [{ key: "gone", operator: "Equal", value: "b" }], 0],
];
for (const [what, given, tolerations, seconds] of tolerances) {
  test(`eviction with ${what}: ${seconds === undefined ? "never" : `in ${seconds} s`}`, () => {
    const wait = evictionInMs(given, tolerations, { nowMs, sinceMs: nowMs - 20_000 });
    assert.equal(wait, seconds === undefined ? undefined : seconds * 1000);
  });
}

test("rates, share and size are the operator's to set", () => {
  const zones = new Map([["a", { ready: 30, notReady: 20 }]]);
  const rules = { ...nodeLifecycleDefaults, unhealthyShare: 0.4, largeZoneNodes: 49 };
  assert.deepEqual([...evictionRates(zones)], [["a", 0.1]]);
  assert.deepEqual(
    [...evictionRates(zones, { ...rules, secondaryEvictionsPerSecond: 0.5 })],
    [["a", 0.5]],
  );
  assert.deepEqual([...evictionRates(zones, { ...rules, largeZoneNodes: 50 })], [["a", 0]]);
});
