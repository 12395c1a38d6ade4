/** The arithmetic of rollouts: single steps by table, whole rollouts at random. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import fc from "fast-check";
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import * as sizes from "./sizes.ts";

interface Given {
  readonly name: string;
  readonly spec: number;
  readonly available?: number;
  /** Annotations: desired and max replicas. */
  readonly marks?: readonly [number, number];
}

function replicaSet({ name, spec, available = spec, marks }: Given, at = 0): ReplicaSet {
  const annotations =
    marks === undefined
      ? {}
      : {
          "deployment.kubernetes.io/desired-replicas": String(marks[0]),
          "deployment.kubernetes.io/max-replicas": String(marks[1]),
        };
  const creationTimestamp = `2026-01-01T00:00:${String(10 + at)}Z`;
  return {
    metadata: { name, uid: name, annotations, creationTimestamp },
    spec: { replicas: spec, selector: {} },
    status: { replicas: spec, ...(available === 0 ? {} : { availableReplicas: available }) },
  };
}

function deployment(
  replicas: number,
  rollingUpdate: { maxSurge?: number | string; maxUnavailable?: number | string } = {},
  type = "RollingUpdate",
): Deployment {
  return {
    spec: { replicas, selector: {}, template: {}, strategy: { type, rollingUpdate } },
  };
}

function result(scales: readonly sizes.Scale[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    scales.map(({ replicaSet: rs, replicas }) => [rs.metadata?.name ?? "", replicas]),
  );
}

const bounds: readonly (readonly [number, number | string, number | string, number, number])[] = [
  [10, "25%", "25%", 3, 2],
  [1, "25%", "25%", 1, 0],
  [4, 0, 0, 0, 1],
  [0, 0, 0, 0, 0],
  [3, 1, 5, 1, 3],
  [10, "0%", "0%", 0, 1],
];
for (const [replicas, maxSurge, maxUnavailable, surge, unavailable] of bounds) {
  test(`${replicas} replicas with surge ${maxSurge} and unavailable ${maxUnavailable}: ${surge} more, ${unavailable} fewer`, () => {
    assert.deepEqual(sizes.boundsOf(deployment(replicas, { maxSurge, maxUnavailable })), {
      replicas,
      maxSurge: surge,
      maxUnavailable: unavailable,
    });
  });
}

const growth: readonly (readonly [
  string,
  Deployment,
  number | undefined,
  readonly number[],
  number,
])[] = [
  ["a first ReplicaSet gets everything", deployment(5), undefined, [], 5],
  ["a new one gets the surge", deployment(10, { maxSurge: 3 }), undefined, [10], 3],
  ["no room: it stays", deployment(10, { maxSurge: 3 }), 3, [10], 3],
  ["room is filled up to the wanted number", deployment(4, { maxSurge: 4 }), 3, [1], 4],
  ["too many: down at once", deployment(2), 5, [3], 2],
  ["Recreate: all at once", deployment(7, {}, "Recreate"), 0, [], 7],
];
for (const [what, given, newest, olds, expected] of growth) {
  test(`new ReplicaSet: ${what}`, () => {
    const rs = newest === undefined ? undefined : replicaSet({ name: "new", spec: newest });
    const others = olds.map((spec, at) => replicaSet({ name: `old${at}`, spec }, at));
    assert.equal(sizes.newReplicaSetSize(given, rs, others), expected);
  });
}

const ten = deployment(10, { maxSurge: 2, maxUnavailable: 2 });
const shrinks: readonly (readonly [
  string,
  Given,
  readonly Given[],
  Readonly<Record<string, number>>,
])[] = [
  ["nothing is spare", { name: "new", spec: 2, available: 0 }, [{ name: "a", spec: 8 }], {}],
  ["what is spare goes", { name: "new", spec: 2 }, [{ name: "a", spec: 10 }], { a: 6 }],
  [
    "replicas that never got well go first, from the oldest on",
    { name: "new", spec: 0 },
    [
      { name: "a", spec: 2, available: 0 },
      { name: "b", spec: 10 },
    ],
    { a: 0, b: 8 },
  ],
  [
    "availability counted beyond the size is about to go and does not count",
    { name: "new", spec: 4, available: 2 },
    [{ name: "a", spec: 8, available: 10 }],
    { a: 6 },
  ],
];
for (const [what, newest, olds, expected] of shrinks) {
  test(`old ReplicaSets: ${what}`, () => {
    const others = olds.map((given, at) => replicaSet(given, at));
    assert.deepEqual(result(sizes.shrinkOld(ten, replicaSet(newest), others)), expected);
  });
}

const scalings: readonly (readonly [
  string,
  Deployment,
  Given | undefined,
  readonly Given[],
  Readonly<Record<string, number>>,
])[] = [
  ["the only active one takes it", deployment(7), { name: "new", spec: 3 }, [], { new: 7 }],
  ["none active: the newest takes it", deployment(4), { name: "new", spec: 0 }, [], { new: 4 }],
  [
    "up in proportion, the rest to the biggest",
    deployment(15, { maxSurge: 3, maxUnavailable: 2 }),
    { name: "new", spec: 5, available: 0, marks: [10, 13] },
    [{ name: "a", spec: 8, marks: [10, 13] }],
    { new: 7, a: 11 },
  ],
  [
    "down in proportion",
    deployment(5, { maxSurge: 0, maxUnavailable: 1 }),
    { name: "new", spec: 4, available: 0, marks: [10, 10] },
    [{ name: "a", spec: 6, marks: [10, 10] }],
    { new: 2, a: 3 },
  ],
  [
    "to zero",
    deployment(0, { maxSurge: 1 }),
    { name: "new", spec: 4, marks: [10, 11] },
    [{ name: "a", spec: 6, marks: [10, 11] }],
    { new: 0, a: 0 },
  ],
  [
    "a saturated new one ends the old ones that are left, and touches no empty one",
    deployment(3),
    { name: "new", spec: 3, marks: [3, 4] },
    [
      { name: "a", spec: 2 },
      { name: "b", spec: 0 },
    ],
    { a: 0 },
  ],
];
for (const [what, given, newest, olds, expected] of scalings) {
  test(`scaling: ${what}`, () => {
    const rs = newest === undefined ? undefined : replicaSet(newest, 30);
    const others = olds.map((old, at) => replicaSet(old, at));
    assert.deepEqual(result(sizes.scaleProportionally(given, rs, others)), expected);
  });
}

test("only an active ReplicaSet with another desired number makes a scaling event", () => {
  const event = (marks: readonly [number, number] | undefined, spec = 3): boolean =>
    sizes.isScalingEvent(deployment(3), [replicaSet({ name: "a", spec, ...given({ marks }) })]);
  assert.equal(event([5, 6]), true);
  assert.equal(event([3, 4]), false);
  assert.equal(event([5, 6], 0), false);
  assert.equal(event(undefined), false);
});

test("old finished ReplicaSets beyond the history limit go, lowest revision first", () => {
  const olds = ["a", "b", "c"].map((name, at) => replicaSet({ name, spec: 0 }, at));
  const given = { spec: { revisionHistoryLimit: 1, selector: {}, template: {} } };
  const revision = (rs: ReplicaSet): bigint =>
    ({ a: 9007199254740994n, b: 9007199254740992n, c: 9007199254740993n })[
      rs.metadata?.name ?? ""
    ] ?? 0n;
  const gone = sizes.beyondHistory(given, olds, revision).map((rs) => rs.metadata?.name);
  assert.deepEqual(gone, ["b", "c"]);
  const busy = olds.map((rs) => ({ ...rs, status: { replicas: 1 } }));
  assert.deepEqual(sizes.beyondHistory(given, busy, revision), []);
});

/** A ReplicaSet of a simulated cluster: its pods, and what its status said when last written. */
interface Simulated {
  readonly name: string;
  spec: number;
  pods: number;
  available: number;
  seen: { replicas: number; available: number };
}

function seenAs(sim: Simulated, at: number): ReplicaSet {
  const { name, spec } = sim;
  const rs = replicaSet({ name, spec, available: sim.seen.available }, at);
  return { ...rs, status: { replicas: sim.seen.replicas, availableReplicas: sim.seen.available } };
}

/** What happens between two looks of the Deployment: to one ReplicaSet, or to all. */
type Happening = { readonly at: number; readonly what: "sync" | "start" | "report" };

function happen(sims: readonly Simulated[], { at, what }: Happening): void {
  const sim = sims[at % sims.length];
  if (sim === undefined) return;
  if (what === "sync") {
    // Pods that are not available go first, as the ReplicaSet controller sees to.
    sim.pods = sim.spec;
    sim.available = Math.min(sim.available, sim.spec);
  } else if (what === "start") sim.available = Math.min(sim.pods, sim.available + 1);
  else sim.seen = { replicas: sim.pods, available: sim.available };
}

test("on every step of any rollout, with statuses of any age, the bounds hold; and it ends", () => {
  const happening = fc.record({
    at: fc.nat(2),
    what: fc.constantFrom("sync" as const, "start" as const, "report" as const),
  });
  const scenario = fc.record({
    replicas: fc.integer({ min: 1, max: 12 }),
    maxSurge: fc.integer({ min: 0, max: 4 }),
    maxUnavailable: fc.integer({ min: 0, max: 4 }),
    split: fc.nat(12),
    steps: fc.array(fc.array(happening, { maxLength: 6 }), { maxLength: 25 }),
  });
  fc.assert(
    fc.property(scenario, ({ replicas, maxSurge, maxUnavailable, split, steps }) => {
      const given = deployment(replicas, { maxSurge, maxUnavailable });
      const limits = sizes.boundsOf(given);
      const first = Math.min(split, replicas);
      const make = (name: string, spec: number): Simulated => ({
        name,
        spec,
        pods: spec,
        available: spec,
        seen: { replicas: spec, available: spec },
      });
      const sims = [make("a", first), make("b", replicas - first), make("new", 0)];
      const step = (): void => {
        const [a, b, newest] = sims.map(seenAs) as [ReplicaSet, ReplicaSet, ReplicaSet];
        const wanted = sizes.newReplicaSetSize(given, newest, [a, b]);
        const scales =
          wanted === sizes.specReplicas(newest)
            ? sizes.shrinkOld(given, newest, [a, b])
            : [{ replicaSet: newest, replicas: wanted }];
        for (const { replicaSet: rs, replicas: size } of scales) {
          const sim = sims.find((one) => one.name === rs.metadata?.name);
          if (sim !== undefined) sim.spec = size;
        }
        const total = sims.reduce((all, sim) => all + sim.spec, 0);
        assert.ok(total <= limits.replicas + limits.maxSurge, `too many: ${total}`);
        const kept = sims.reduce((all, sim) => all + Math.min(sim.available, sim.spec), 0);
        assert.ok(kept >= limits.replicas - limits.maxUnavailable, `too few: ${kept}`);
      };
      for (const happenings of steps) {
        for (const one of happenings) happen(sims, one);
        step();
      }
      for (let round = 0; round < 200; round++) {
        for (const what of ["sync", "start", "report"] as const)
          for (const at of [0, 1, 2]) happen(sims, { at, what });
        step();
      }
      assert.deepEqual(
        sims.map((sim) => sim.spec),
        [0, 0, replicas],
      );
    }),
    { numRuns: 200 },
  );
});
