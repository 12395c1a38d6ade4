/** Nodes that crash, flap, are slow, full, or have another time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease, Node } from "#api/gen/types.ts";
import { parseFailure } from "./failure.ts";
import { failureAt, nextChangeMs, type ScheduledFailure } from "./failure-schedule.ts";
import { bound, nodesRef, startRig } from "./testing.ts";

const leasesRef = { group: "coordination.k8s.io", version: "v1", resource: "leases" };
const forever = { atMs: 0, forMs: Infinity, everyMs: Infinity, nodes: {} };

function failing(text: string, more: Partial<ScheduledFailure> = {}): ScheduledFailure {
  const failure = parseFailure(text);
  assert.ok(failure, text);
  return { ...forever, failure, ...more };
}

type Rig = Awaited<ReturnType<typeof startRig>>;

function renewals(rig: Rig, name: string): number {
  const isRenewal = (verb: string): boolean => verb === "update" || verb === "create";
  return rig.api.calls.filter(
    (call) => call.resource === "leases" && call.name === name && isRenewal(call.verb),
  ).length;
}

function condition(rig: Rig, type: string): string | undefined {
  const node = rig.api.peek<Node>(nodesRef, "", "hollow-0");
  return node?.status?.conditions?.find((one) => one.type === type)?.status;
}

test("a zone that is cut off is silent, its pods stand still, and both go on afterwards", async () => {
  const cut = failing("partition", { nodes: { zone: "zone-0" }, atMs: 20_000, forMs: 60_000 });
  const rig = await startRig({ failures: [cut] });
  await rig.clock.advance(21_000);
  rig.api.calls.length = 0;
  rig.api.put({ group: "", version: "v1", resource: "pods" }, bound("web"));
  await rig.clock.advance(58_000);
  assert.equal(renewals(rig, "hollow-0"), 0);
  assert.ok(renewals(rig, "hollow-1") >= 5);
  assert.equal(rig.pod("web")?.status?.phase, "Pending");
  await rig.clock.advance(15_000);
  assert.ok(renewals(rig, "hollow-0") >= 1);
  assert.equal(rig.pod("web")?.status?.phase, "Running");
  await rig.end();
});

test("an annotation on the Node sets and ends a failure at once", async () => {
  const rig = await startRig();
  const patch = (value: string | null) => ({
    metadata: { annotations: { "pilothouse.dev/failure": value } },
  });
  await rig.api.patch(nodesRef, "", "hollow-0", "merge", patch("disk-pressure"));
  await rig.clock.advance(100);
  assert.equal(condition(rig, "DiskPressure"), "True");
  await rig.api.patch(nodesRef, "", "hollow-0", "merge", patch(null));
  await rig.clock.advance(100);
  assert.equal(condition(rig, "DiskPressure"), "False");
  await rig.end();
});

test("a slow node leaves heartbeats out; a flapping one is silent half of the time", async () => {
  const failures = [
    failing("slow:4", { nodes: { from: 0, to: 0 } }),
    failing("flap:100s", { nodes: { from: 1 } }),
  ];
  const rig = await startRig({ failures });
  await rig.clock.advance(5_000);
  rig.api.calls.length = 0;
  await rig.clock.advance(400_000);
  const [slow, flapping] = [renewals(rig, "hollow-0"), renewals(rig, "hollow-1")];
  assert.ok(slow >= 9 && slow <= 11, `${slow} of 40`);
  assert.ok(flapping >= 18 && flapping <= 22, `${flapping} of 40`);
  await rig.end();
});

test("a clock that is ahead shows in lease and status", async () => {
  const rig = await startRig({ failures: [failing("clock-skew:1h")] });
  await rig.clock.advance(15_000);
  const lease = rig.api.peek<Lease>(leasesRef, "kube-node-lease", "hollow-0");
  const aheadMs = Date.parse(lease?.spec?.renewTime ?? "") - rig.clock.nowMs();
  assert.ok(aheadMs > 3_580_000 && aheadMs <= 3_600_000, `${aheadMs} ms`);
  await rig.end();
});

test("a schedule comes and goes, and says when", () => {
  const schedule = [failing("crash", { atMs: 10, forMs: 5, everyMs: 20 })];
  const node = { index: 0, zone: "zone-0" };
  const on = [0, 9, 10, 14, 15, 29, 30, 34, 35].map(
    (at) => failureAt(schedule, node, at) !== undefined,
  );
  assert.deepEqual(on, [false, false, true, true, false, false, true, true, false]);
  assert.deepEqual(
    [0, 10, 15, 30].map((at) => nextChangeMs(schedule, at)),
    [10, 15, 30, 35],
  );
  assert.equal(nextChangeMs([failing("crash")], 5), Infinity);
});

test("a share is the same nodes each time", () => {
  const schedule = [failing("crash", { nodes: { percent: 20 } })];
  const hit = Array.from({ length: 10_000 }, (_, index) => index).filter(
    (index) => failureAt(schedule, { index, zone: "z" }, 0) !== undefined,
  );
  assert.ok(hit.length > 1_950 && hit.length < 2_050, `${hit.length}`);
});

test("what is no failure is none", () => {
  for (const text of [
    "",
    "fire",
    "crash:1s",
    "flap:1ms",
    "slow:1",
    "slow:x",
    "clock-skew",
    "clock-skew:1",
  ]) {
    assert.equal(parseFailure(text), undefined, text);
  }
});
