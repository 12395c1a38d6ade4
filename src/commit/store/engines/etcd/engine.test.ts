/** The engine contract over a model of an etcd cluster, and what the cluster's limits and answers do to it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { RecordReader } from "../../record.ts";
import { openStore } from "../../open.ts";
import { bytes, key, newWorld, smallOptions, text } from "../../testing/fixture.ts";
import { checkpointOf, engineSuite, testBatch, upTo } from "../../testing/engine-suite.ts";
import { FencedError } from "../engine.ts";
import type { Change, LogCluster } from "./cluster.ts";
import { EtcdEngine, type EtcdEngineOptions } from "./engine.ts";
import { LogLayout } from "./layout.ts";
import { ModelChunks } from "./testing/model-chunks.ts";
import { FaultyCluster, HastyClock, lost, ModelCluster } from "./testing/model-cluster.ts";

const options: EtcdEngineOptions = {
  prefix: "/pilothouse/",
  partBytes: 16_384,
  segmentBytes: 8192,
  checkpointLogBytes: 16_384,
  name: "",
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 60_000,
  lookMs: 0,
};

let seeds = 0;

function engineOn(cluster: LogCluster, random: FakeRandom, changed: object = {}): EtcdEngine {
  const deps = { cluster, random, clock: new HastyClock(), log: silentLog };
  return new EtcdEngine(deps, { ...options, ...changed });
}

engineSuite("etcd, a model without faults", () => {
  const random = new FakeRandom(++seeds);
  const { cluster } = newLog();
  return { engine: () => engineOn(cluster, random), secondOpen: "takes over" };
});

for (let seed = 1; seed <= 5; seed++) {
  engineSuite(`etcd, a model whose answers are lost, late and doubled, seed ${seed}`, () => {
    const random = new FakeRandom(seed * 1000 + ++seeds);
    // Less than a part: the limit is found out.
    const model = new ModelCluster({ requestBytesMax: 9000 });
    const cluster = new FaultyCluster(model, random);
    return { engine: () => engineOn(cluster, random), secondOpen: "takes over" };
  });
}

engineSuite("etcd, checkpoints outside of it", () => {
  const random = new FakeRandom(++seeds);
  const { cluster } = newLog();
  const outside = new ModelChunks();
  outside.hasFaults = false;
  const clock = new HastyClock();
  const chunks = outside.store(clock, random);
  const deps = { cluster, random, clock, chunks, log: silentLog };
  return { engine: () => new EtcdEngine(deps, options), secondOpen: "takes over" };
});

/** A log on a model without faults; `model` is there to be broken. */
function newLog(): { model: ModelCluster; cluster: LogCluster; open: Open } {
  const random = new FakeRandom(++seeds);
  const model = new ModelCluster({ requestBytesMax: 2 ** 20 });
  const cluster: LogCluster = {
    read: (ranges) => Promise.resolve(model.read(ranges)),
    change: (change) => Promise.resolve(model.change(change)),
    watch: (prefix, sink) => model.watch(prefix, sink),
  };
  const open: Open = async (changed) => {
    const engine = engineOn(cluster, random, changed);
    return { engine, ...(await engine.open(nowhere, "next")) };
  };
  return { model, cluster, open };
}

type Open = (changed?: object) => Promise<{ engine: EtcdEngine; epoch: number }>;

const nowhere = { checkpoint: () => undefined, records: () => undefined };

function put(model: ModelCluster, key: string, value: Uint8Array): void {
  model.change({ conditions: [], operations: [{ kind: "put", key, value }] });
}

function remove(model: ModelCluster, key: string): void {
  model.change({ conditions: [], operations: [{ kind: "delete", start: key, end: `${key}\0` }] });
}

void test("a full cluster is named, and nothing is appended by this opening any more", async () => {
  const { model, open } = newLog();
  const { engine, epoch } = await open();
  model.isFull = true;
  await assert.rejects(engine.append(testBatch(epoch, [2])), /no space left/);
  model.isFull = false;
  await assert.rejects(engine.append(testBatch(epoch, [2])), /no space left/);
});

void test("a cluster without answers is named once patience is over", async () => {
  const { open, cluster } = newLog();
  const { engine, epoch } = await open();
  cluster.change = () => Promise.resolve(lost);
  await assert.rejects(engine.append(testBatch(epoch, [2])), /no certain answer/);
});

void test("a log under a prefix with other data is refused", async () => {
  const { model, open } = newLog();
  put(model, "/pilothouse/else", new Uint8Array(1));
  await assert.rejects(open(), /\/pilothouse\/else is there, but \/pilothouse\/format is not/);
});

void test("a slot that is missing, and a slot that is damaged, are named", async () => {
  const { model, open } = newLog();
  const { engine, epoch } = await open();
  for (const revision of [2, 3, 4]) await engine.append(testBatch(epoch, [revision]));
  const [second, third] = [2, 3].map((n) => new LogLayout("/pilothouse/").slot(n)) as [
    string,
    string,
  ];
  const value = model.get(third) as Uint8Array;
  put(model, third, value.with(40, 1));
  await assert.rejects(open(), new RegExp(`the batch at ${third} is damaged`));
  remove(model, second);
  await assert.rejects(open(), new RegExp(`${second} is missing before ${third}`));
});

void test("a batch is cut to what the cluster takes, and each part stays below it", async () => {
  const model = new ModelCluster({ requestBytesMax: 5000 });
  let largest = 0;
  model.onChange = ({ operations }) => {
    for (const one of operations) {
      if (one.kind === "put") largest = Math.max(largest, one.value.length);
    }
  };
  const cluster: LogCluster = {
    read: (ranges) => Promise.resolve(model.read(ranges)),
    change: (change) => Promise.resolve(model.change(change)),
    watch: (prefix, sink) => model.watch(prefix, sink),
  };
  const engine = engineOn(cluster, new FakeRandom(1));
  const { epoch } = await engine.open(nowhere, "next");
  await engine.append(testBatch(epoch, upTo(600)));
  assert.ok(largest > 2500 && largest <= 5000, `${largest} bytes`);
});

void test("the parts of a batch whose writer was deposed before the last one are passed over", async () => {
  const { model, cluster, open } = newLog();
  const first = await open();
  await first.engine.append(testBatch(first.epoch, [2]));
  const whole = (change: Change) => Promise.resolve(model.change(change));
  let puts = 0;
  cluster.change = (change) => (++puts > 2 ? Promise.resolve(lost) : whole(change));
  // Three parts of 16 KiB; only two come through.
  await assert.rejects(first.engine.append(testBatch(first.epoch, upTo(600))), /no certain answer/);
  cluster.change = whole;
  const second = await open();
  await second.engine.append(testBatch(second.epoch, [3]));
  const revisions: number[] = [];
  const read = await second.engine.tail(0).read(2 ** 20);
  const next = await second.engine.tail(3).read(2 ** 20);
  for (const one of [read, next]) {
    assert.ok(one.kind === "records");
    revisions.push(new RecordReader(one.bytes).revision(0));
  }
  assert.deepEqual(revisions, [2, 3]);
});

void test("an owner that appends nothing finds out that it was deposed", async () => {
  const { open } = newLog();
  const { engine, epoch } = await open({ lookMs: 1000 });
  await open();
  assert.match((await engine.deposed).message, /another process has taken it over/);
  await assert.rejects(engine.append(testBatch(epoch, [2])), FencedError);
  await engine.close();
});

void test("a store over the log stops when another store takes it over, and that one has every write", async () => {
  const { cluster } = newLog();
  const open = (lookMs: number) =>
    openStore(
      { ...newWorld(++seeds), clock: new HastyClock() },
      { ...smallOptions, ...options, lookMs, engine: "etcd", cluster },
    );
  const first = await open(1000);
  const acknowledged = await first.put(key("/a"), bytes("1"), {});
  assert.equal(acknowledged.kind, "committed");
  const second = await open(0);
  assert.match((await first.failed).message, /another process has taken it over/);
  assert.equal((await first.put(key("/a"), bytes("2"), {})).kind, "stopped");
  const found = second.get(key("/a"));
  assert.equal(found.kind === "found" && text(found.kv.value), "1");
  await second.close();
  await first.close();
});

void test("a log goes on with checkpoints outside of etcd; without their place it is not opened; a hostile place is none", async () => {
  const { model, cluster, open } = newLog();
  const first = await open();
  for (const at of upTo(9)) await first.engine.append(testBatch(first.epoch, [at]));
  await first.engine.checkpoint(checkpointOf(4, 2));
  const outside = new ModelChunks();
  outside.hasFaults = false;
  const clock = new HastyClock();
  const random = new FakeRandom(++seeds);
  const chunks = outside.store(clock, random);
  const moved = new EtcdEngine({ cluster, random, clock, chunks, log: silentLog }, options);
  await moved.open(nowhere, "next");
  await moved.checkpoint(checkpointOf(6, 2));
  const layout = new LogLayout("/pilothouse/");
  assert.equal(
    model.count({ start: "/pilothouse/chunk/", end: "/pilothouse/chunk0", limit: 0 }),
    0,
  );
  await assert.rejects(open(), /say where with --checkpoints/);
  const pointer = JSON.parse(Buffer.from(model.get(layout.pointer) ?? []).toString()) as object;
  put(model, layout.pointer, Buffer.from(JSON.stringify({ ...pointer, place: "../../etc" })));
  await assert.rejects(open(), /is no pointer to a checkpoint/);
});
