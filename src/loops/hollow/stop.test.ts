/** Graceful deletion: how long a deleted pod stays, and what it shows meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, PodSpec } from "#api/gen/types.ts";
import { bound, conditionOf, podsRef, startRig } from "./testing.ts";

const second = 1_000;

interface Row {
  readonly what: string;
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Record<string, string>;
  /** Of the delete request; absent: the pod's own. */
  readonly gracePeriodSeconds?: number;
  readonly stays: number;
}

const hook = (seconds: number): Partial<Container> => ({
  lifecycle: { preStop: { sleep: { seconds } } },
});

const rows: readonly Row[] = [
  { what: "a server ends as soon as it is asked to", stays: 1 },
  { what: "a grace period somebody asked for is used up", gracePeriodSeconds: 5, stays: 5 },
  {
    what: "a grace period of the pod that is not the default is used up",
    spec: { terminationGracePeriodSeconds: 12 },
    stays: 12,
  },
  {
    what: "sleep as process 1 does not hear SIGTERM",
    container: { command: ["sleep", "inf"] },
    stays: 30,
  },
  {
    what: "a script with a trap does",
    container: { command: ["sh", "-c", "trap exit TERM; sleep 99"] },
    stays: 1,
  },
  { what: "a preStop sleep goes before the end", container: hook(7), stays: 8 },
  {
    what: "a preStop command that sleeps does, too",
    container: { lifecycle: { preStop: { exec: { command: ["sh", "-c", "sleep 4"] } } } },
    stays: 5,
  },
  { what: "a preStop hook has no more than the grace period", container: hook(2 ** 53), stays: 30 },
  {
    what: "agnhost may be told to be late",
    container: { args: ["netexec", "--delay-shutdown=9"] },
    stays: 9,
  },
  { what: "an annotation says it", annotations: { "pilothouse.dev/stop-seconds": "3" }, stays: 3 },
  {
    what: "an annotation does not go beyond the grace period",
    annotations: { "pilothouse.dev/stop-seconds": "1e300" },
    stays: 30,
  },
  {
    what: "a negative one is none",
    annotations: { "pilothouse.dev/stop-seconds": "-3" },
    stays: 1,
  },
];

for (const { what, container, spec, annotations, gracePeriodSeconds, stays } of rows) {
  test(`a deleted pod stays ${stays} s: ${what}`, async () => {
    const rig = await startRig({ stopMs: second });
    const containers = [{ name: "c", image: "nginx:1", ...container }];
    const shape = { spec: { containers, ...spec }, ...(annotations && { annotations }) };
    rig.api.put(podsRef, bound("p", shape));
    await rig.clock.advance(10);
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await rig.api.delete(podsRef, "a", "p", options);
    await rig.clock.advance(stays * second - 10);
    assert.ok(rig.pod("p")?.metadata?.deletionTimestamp);
    assert.equal(rig.pod("p")?.status?.phase, "Running");
    assert.equal(conditionOf(rig.pod("p"), "Ready"), "True");
    await rig.clock.advance(20);
    assert.equal(rig.pod("p"), undefined);
    await rig.end();
  });
}

test("a grace period that is shortened ends the pod sooner; force ends it at once", async () => {
  const rig = await startRig();
  for (const name of ["shortened", "forced"]) rig.api.put(podsRef, bound(name));
  await rig.clock.advance(10);
  for (const name of ["shortened", "forced"]) {
    await rig.api.delete(podsRef, "a", name, { gracePeriodSeconds: 600 });
  }
  await rig.clock.advance(60 * second);
  assert.ok(rig.pod("shortened"));
  await rig.api.delete(podsRef, "a", "shortened", { gracePeriodSeconds: 65 });
  await rig.api.delete(podsRef, "a", "forced", { gracePeriodSeconds: 0 });
  assert.equal(rig.pod("forced"), undefined);
  await rig.clock.advance(4 * second);
  assert.ok(rig.pod("shortened"));
  await rig.clock.advance(2 * second);
  assert.equal(rig.pod("shortened"), undefined);
  assert.equal(rig.hollow.metrics().pods, 0);
  await rig.end();
});

test("a terminating pod shows that the deletion, a change of the spec, was seen", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(10);
  await rig.api.delete(podsRef, "a", "p", { gracePeriodSeconds: 60 });
  rig.edit("p", {});
  await rig.clock.advance(10);
  assert.equal(rig.pod("p")?.status?.observedGeneration, 2);
  await rig.end();
});

test("a process that starts anew does not begin the grace period again", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(10);
  await rig.api.delete(podsRef, "a", "p", { gracePeriodSeconds: 60 });
  await rig.clock.advance(40 * second);
  await rig.end();
  const later = rig.start();
  await rig.clock.advance(15 * second);
  assert.ok(rig.pod("p"));
  await rig.clock.advance(10 * second);
  assert.equal(rig.pod("p"), undefined);
  await later.end();
});

test("no int64 as a grace period upsets it, and a pod that never started is not waited for", async () => {
  const rig = await startRig();
  const graces = [Number(2n ** 63n - 1n), 2 ** 53, -1];
  for (const grace of graces) {
    const pod = bound(`p${grace}`);
    const deletionTimestamp = "2100-01-01T00:00:00Z";
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: grace };
    rig.api.put(podsRef, bound(`p${grace}`));
    await rig.clock.advance(10);
    rig.api.put(podsRef, { ...rig.pod(`p${grace}`), metadata });
  }
  const containers = [{ name: "c", image: "foo:non-existent" }];
  rig.api.put(podsRef, bound("pulls", { spec: { containers } }));
  await rig.clock.advance(10);
  await rig.api.delete(podsRef, "a", "pulls", { gracePeriodSeconds: 600 });
  await rig.clock.advance(100 * second);
  assert.deepEqual(
    graces.map((grace) => rig.pod(`p${grace}`) !== undefined),
    [true, true, false],
  );
  assert.equal(rig.pod("pulls"), undefined);
  await rig.end();
});
