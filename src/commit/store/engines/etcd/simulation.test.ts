/**
 * Two or three writers contend for one log, over a network that loses, delays and duplicates messages, with pauses and
 * crashes between any two steps. The last tests plant bugs, which the checks must find.
 *
 * PILOTHOUSE_RUNS=10000 for more seeds, PILOTHOUSE_SEED for the first one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, LogCluster } from "./cluster.ts";
import { decodePointer, LogLayout } from "./layout.ts";
import { deadSlotsMax } from "./stripe-table.ts";
import { simulate, type Plant } from "./testing/simulation.ts";

const runs = Number(process.env["PILOTHOUSE_RUNS"] ?? 100);
const firstSeed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const plantedSeeds = 600;

void test(`no acknowledged batch is lost and nothing of a deposed writer lands, ${runs} seeds`, async () => {
  let acknowledged = 0;
  let epochs = 0;
  let checkpoints = 0;
  let beside = 0;
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const outcome = await simulate(seed);
    assert.deepEqual(outcome.problems, [], `PILOTHOUSE_SEED=${seed} PILOTHOUSE_RUNS=1`);
    acknowledged += outcome.acknowledged;
    epochs += outcome.epochs;
    checkpoints += outcome.checkpoints;
    beside = Math.max(beside, outcome.mostBeside);
  }
  // A simulation in which nothing happens finds nothing.
  assert.ok(acknowledged / runs > 20, `${acknowledged} revisions acknowledged`);
  assert.ok(epochs / runs > 3, `${epochs} takeovers`);
  assert.ok(checkpoints / runs > 0.5, `${checkpoints} checkpoints`);
  assert.equal(beside, 4, `${beside} appends beside each other`);
});

void test(`the same of a log in two or three stripes, ${runs} seeds`, async () => {
  let acknowledged = 0;
  let epochs = 0;
  let checkpoints = 0;
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const outcome = await simulate(seed, undefined, 2 + (seed % 2));
    assert.deepEqual(outcome.problems, [], `PILOTHOUSE_SEED=${seed} PILOTHOUSE_RUNS=1`);
    acknowledged += outcome.acknowledged;
    epochs += outcome.epochs;
    checkpoints += outcome.checkpoints;
  }
  assert.ok(acknowledged / runs > 10, `${acknowledged} revisions acknowledged`);
  assert.ok(epochs / runs > 2, `${epochs} takeovers`);
  assert.ok(checkpoints / runs > 0.2, `${checkpoints} checkpoints`);
});

const layout = new LogLayout("/log/");

/** A cluster whose changes pass through `bend` first. */
function bending(bend: (change: Change, cluster: LogCluster) => Promise<Change> | Change): Plant {
  return (cluster) => ({
    ...cluster,
    change: async (change) => cluster.change(await bend(change, cluster)),
  });
}

function without(key: (condition: string) => boolean): Plant {
  return bending((change) => ({
    ...change,
    conditions: change.conditions.filter((one) => change.operations.length > 1 || !key(one.key)),
  }));
}

const bugs: Readonly<Record<string, Plant>> = {
  "a writer that does not compare the epoch": bending((change) => ({
    ...change,
    conditions: change.conditions.filter(
      ({ key }) => key !== layout.epoch || isPutOf(change, layout.epoch),
    ),
  })),
  "a writer that puts into slots that are taken": without((key) => key.includes("/slot/")),
  "a writer whose slots do not wait for the slot before": bending((change) => ({
    ...change,
    conditions: change.conditions.filter(({ value }) => value !== "any"),
  })),
  "a writer that believes an uncertain answer": (cluster) => ({
    ...cluster,
    change: async (change) => {
      const answer = await cluster.change(change);
      return answer.kind === "uncertain" ? { kind: "changed" } : answer;
    },
  }),
  "a writer that trims before the checkpoint counts": bending(async (change, cluster) => {
    const pointer = change.operations.find((one) => isPut(one, layout.pointer));
    if (pointer?.kind !== "put") return change;
    const { first } = decodePointer(pointer.value, layout.pointer);
    const { start, end } = layout.slots(0, 0, first);
    const held = change.conditions.filter(({ key }) => key === layout.epoch);
    await cluster.change({ conditions: held, operations: [{ kind: "delete", start, end }] });
    return change;
  }),
  "a trim that removes the chunks of all other checkpoints": bending((change) => {
    const [trim] = change.operations;
    if (trim?.kind !== "delete" || !trim.start.includes("/chunk/")) return change;
    const newer = {
      kind: "delete",
      start: `${trim.end.slice(0, -1)}0`,
      end: "/log/chunk0",
    } as const;
    return { ...change, operations: [trim, newer] };
  }),
  "a takeover that does not compare the epoch it saw": bending((change) =>
    isPutOf(change, layout.epoch) ? { ...change, conditions: [] } : change,
  ),
  "a checkpoint that switches whatever the pointer is": bending((change) => ({
    ...change,
    conditions: change.conditions.filter(({ key }) => key !== layout.pointer),
  })),
};

/** Of a log in two stripes. */
const stripedBugs: Readonly<Record<string, Plant>> = {
  "a writer that compares the epoch in the first stripe alone": (cluster, model, stripe) => {
    const planted = without((key) => key === layout.epoch)(cluster, model, stripe);
    return stripe === 0 ? cluster : { ...planted, change: keepingEpoch(cluster, planted) };
  },
  "a takeover that leaves what lies behind the unbroken run": bending((change) => ({
    ...change,
    operations: change.operations.filter(
      (one) =>
        one.kind === "put" ||
        !one.start.includes("/slot/") ||
        layout.slotNumber(one.end) - layout.slotNumber(one.start) !== deadSlotsMax,
    ),
  })),
  "a stripe that believes an uncertain answer": (cluster, _model, stripe) => ({
    ...cluster,
    change: async (change) => {
      const answer = await cluster.change(change);
      return stripe > 0 && answer.kind === "uncertain" ? { kind: "changed" } : answer;
    },
  }),
  "a stripe whose slots are read as they were some time ago": (cluster, _model, stripe) => {
    let before: ReturnType<LogCluster["read"]> | undefined;
    const read: LogCluster["read"] = (ranges) => {
      const isOfSlots = stripe > 0 && ranges.some(({ start }) => start.includes("/slot/"));
      if (!isOfSlots) return cluster.read(ranges);
      const stale = before ?? cluster.read(ranges);
      before = cluster.read(ranges);
      return stale;
    };
    return { ...cluster, read };
  },
};

/** Takeovers go on to compare. */
function keepingEpoch(cluster: LogCluster, planted: LogCluster): LogCluster["change"] {
  return (change) => (isPutOf(change, layout.epoch) ? cluster : planted).change(change);
}

function isPut(operation: Change["operations"][number], key: string): boolean {
  return operation.kind === "put" && operation.key === key;
}

function isPutOf({ operations }: Change, key: string): boolean {
  return operations.some((one) => isPut(one, key));
}

/** Of those that take long to find, the seed that finds them today: it is tried first. */
const foundBy: Readonly<Record<string, number>> = {
  "a trim that removes the chunks of all other checkpoints": 253,
  "a checkpoint that switches whatever the pointer is": 208,
  "a takeover that leaves what lies behind the unbroken run": 299,
};

function seedsFor(name: string): readonly number[] {
  const all = Array.from({ length: plantedSeeds }, (_, at) => at + 1);
  const known = foundBy[name];
  return known === undefined ? all : [known, ...all];
}

function findsEach(all: Readonly<Record<string, Plant>>, stripes: number): void {
  for (const [name, plant] of Object.entries(all)) {
    void test(`the simulation finds ${name}`, async () => {
      for (const seed of seedsFor(name)) {
        const { problems } = await simulate(seed, plant, stripes);
        if (problems.length > 0) return;
      }
      assert.fail(`${plantedSeeds} seeds found nothing`);
    });
  }
}

findsEach(bugs, 1);
findsEach(stripedBugs, 2);
