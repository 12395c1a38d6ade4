/**
 * Replicas over one log, in simulation: requests and answers are lost, delayed and duplicated, replicas pause and crash
 * between any two steps, takeovers happen at any time. The last tests plant bugs, which the checks must find.
 *
 * PILOTHOUSE_RUNS=10000 for more seeds, PILOTHOUSE_SEED for the first one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { FellBehindError } from "./engines/engine.ts";
import type { LogCluster } from "./engines/etcd/cluster.ts";
import { EtcdEngine } from "./engines/etcd/engine.ts";
import { ModelCluster } from "./engines/etcd/testing/model-cluster.ts";
import { openReplica, type Replica } from "./replica.ts";
import { sharingNext } from "./sharing-next.ts";
import type { Key } from "./store.ts";
import { bytes, key, smallOptions, text } from "./testing/fixture.ts";
import { simulateReplicas, type Plant } from "./testing/replica-simulation.ts";

const runs = Number(process.env["PILOTHOUSE_RUNS"] ?? 60);
const firstSeed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const plantedSeeds = 300;
const engineOptions = {
  prefix: "/log/",
  name: "",
  partBytes: 4000,
  segmentBytes: 2000,
  checkpointLogBytes: 1_000_000,
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 2000,
  lookMs: 0,
};

void test(`no acknowledged write is lost, no read is stale, no watch has a gap over takeovers, ${runs} seeds`, async () => {
  const all = { writes: 0, takeovers: 0, reads: 0, watchedOver: 0 };
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const outcome = await simulateReplicas(seed);
    assert.deepEqual(outcome.problems, [], `PILOTHOUSE_SEED=${seed} PILOTHOUSE_RUNS=1`);
    for (const name of Object.keys(all) as (keyof typeof all)[]) all[name] += outcome[name];
  }
  // A simulation in which nothing happens finds nothing.
  assert.ok(all.writes / runs > 10, `${all.writes} writes`);
  assert.ok(all.takeovers / runs > 2, `${all.takeovers} takeovers`);
  assert.ok(all.reads / runs > 20, `${all.reads} reads`);
  assert.ok(all.watchedOver > 10, `${all.watchedOver} watches that saw a takeover`);
});

void test(`the same over a log in two or three stripes, ${runs} seeds`, async () => {
  const all = { writes: 0, takeovers: 0, reads: 0, watchedOver: 0 };
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const outcome = await simulateReplicas(seed, undefined, 2 + (seed % 2));
    assert.deepEqual(outcome.problems, [], `PILOTHOUSE_SEED=${seed} PILOTHOUSE_RUNS=1`);
    for (const name of Object.keys(all) as (keyof typeof all)[]) all[name] += outcome[name];
  }
  assert.ok(all.writes / runs > 5, `${all.writes} writes`);
  assert.ok(all.takeovers / runs > 1, `${all.takeovers} takeovers`);
  assert.ok(all.reads / runs > 15, `${all.reads} reads`);
  assert.ok(all.watchedOver > 5, `${all.watchedOver} watches that saw a takeover`);
});

const bugs: Readonly<Record<string, Plant>> = {
  "a holder that does not ask whether it still holds the log": (cluster) => {
    let held: ReturnType<typeof cluster.read> | undefined;
    return {
      ...cluster,
      read: (ranges) => {
        const isQuestion = ranges.length === 1 && ranges[0]?.start === "/log/epoch";
        if (!isQuestion) return cluster.read(ranges);
        return (held ??= cluster.read(ranges));
      },
    };
  },
  "a writer that does not compare the epoch": (cluster) => ({
    ...cluster,
    change: ({ conditions, operations }) => {
      const isTakeover = operations.some((one) => one.kind === "put" && one.key === "/log/epoch");
      const kept = conditions.filter(({ key }) => isTakeover || key !== "/log/epoch");
      return cluster.change({ conditions: kept, operations });
    },
  }),
};

for (const [name, plant] of Object.entries(bugs)) {
  void test(`the simulation finds ${name}`, async () => {
    for (let seed = 1; seed <= plantedSeeds; seed++) {
      const { problems } = await simulateReplicas(seed, plant);
      if (problems.length > 0) return;
    }
    assert.fail(`${plantedSeeds} seeds found nothing`);
  });
}

void test("callers share the next question, not the one under way", async () => {
  const asked: PromiseWithResolvers<void>[] = [];
  const ask = sharingNext(() => {
    const question = Promise.withResolvers<void>();
    asked.push(question);
    return question.promise;
  });
  const first = ask();
  const later = [ask(), ask()];
  assert.equal(asked.length, 1);
  asked[0]?.reject(new Error("lost"));
  await assert.rejects(first, /lost/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked.length, 2);
  asked[1]?.resolve();
  await Promise.all(later);
});

void test("a cluster that was restored to an older state: the holder stops, a follower begins anew, nobody mixes two histories", async () => {
  const model = new ModelCluster({ requestBytesMax: 2 ** 20 });
  const cluster: LogCluster = {
    read: (ranges) => Promise.resolve(model.read(ranges)),
    change: (change) => Promise.resolve(model.change(change)),
    watch: (prefix, sink) => model.watch(prefix, sink),
  };
  const open = (seed: number): Promise<Replica> => {
    const world = { clock: new FakeClock(), random: new FakeRandom(seed), log: silentLog };
    const engine = new EtcdEngine({ ...world, cluster }, engineOptions);
    return openReplica({ ...world, engine }, smallOptions);
  };
  const holder = await open(1);
  assert.ok(await holder.takeOver(holder.holder));
  const follower = await open(2);
  follower.listen(() => undefined);
  const putTen = async (to: Replica, text: string): Promise<void> => {
    for (let i = 0; i < 10; i++) await to.put(key(`k${i}`), bytes(text), {});
  };
  await putTen(holder, "kept");
  const snapshot = model.snapshot();
  await putTen(holder, "lost");
  await follower.catchUp();
  model.restore(snapshot);
  assert.equal((await holder.put(key("k"), bytes("x"), {})).kind, "stopped");
  assert.match((await holder.failed).message, /was restored to an older state/);
  // A history of its own, as long as the one that was lost.
  const next = await open(3);
  assert.ok(await next.takeOver(next.holder));
  await putTen(next, "new!");
  assert.equal(next.commitRevision, follower.commitRevision);
  await assert.rejects(follower.catchUp(), FellBehindError);
  const again = await open(4);
  assert.deepEqual(textsOf(again), textsOf(next));
});

function textsOf(replica: Replica): readonly string[] {
  const found = replica.range({ start: "" as Key, end: "\u00ff" as Key });
  assert.equal(found.kind, "ok");
  return found.kind === "ok" ? found.kvs.map((kv) => `${kv.modRevision} ${text(kv.value)}`) : [];
}
