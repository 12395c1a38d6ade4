/**
 * The engine contract (engines/engine.ts, E1-E6) as tests, for every engine that keeps anything.
 *
 * `storage` is one storage that outlives its engines: each call of `engine` makes a new engine on it.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FencedError } from "../engines/engine.ts";
import type { AppendBatch, CheckpointSource, Engine, ReplaySink, Tail } from "../engines/engine.ts";
import { RecordKind, RecordReader, recordSize, recordSpace, writeRecord } from "../record.ts";

interface EngineStorage {
  engine(): Engine;
  /** What a second opening does while the first is open: it takes over, or fails because of the lock. */
  readonly secondOpen: "takes over" | "is refused";
}

const empty = new Uint8Array(0);

interface Header {
  readonly kind?: RecordKind;
  readonly revision: number;
  readonly epoch: number;
  readonly batchOffset?: number;
  readonly version?: number;
}

function record({
  kind = RecordKind.put,
  batchOffset = 0,
  version = 1,
  ...rest
}: Header): Uint8Array {
  const body = new TextEncoder().encode(`value ${rest.revision}`);
  const bytes = new Uint8Array(recordSize(3, body.length));
  const header = { kind, batchOffset, version, createRevision: rest.revision, lease: 0n, ...rest };
  writeRecord(recordSpace(bytes), 0, header, "key", body);
  return bytes;
}

export function testBatch(epoch: number, revisions: readonly number[]): AppendBatch {
  let batchOffset = 0;
  const buffers = revisions.map((revision) => {
    const bytes = record({ revision, epoch, batchOffset });
    batchOffset += bytes.length;
    return bytes;
  });
  return {
    epoch,
    lastRevision: revisions.at(-1) as number,
    buffers,
    bytes: batchOffset,
    records: buffers.length,
  };
}

export function checkpointOf(revision: number, records: number): CheckpointSource {
  const chunks = Array.from({ length: records }, (_, i) => record({ revision: i + 1, epoch: 0 }));
  const bytes = new Uint8Array(recordSize(0, 0));
  const end = {
    kind: RecordKind.checkpointEnd,
    epoch: 0,
    batchOffset: 0,
    revision,
    createRevision: 0,
    version: records,
    lease: 0n,
  };
  writeRecord(recordSpace(bytes), 0, end, "", empty);
  chunks.push(bytes);
  return {
    revision,
    next: () => chunks.shift(),
    quiet: false,
    hurried: new AbortController().signal,
  };
}

/** The result of a replay: the checkpoint's revision and records, then the log's revisions. */
class Replayed implements ReplaySink {
  checkpointRevision = 0;
  checkpointRecords = 0;
  log: number[] = [];

  checkpoint(revision: number): void {
    this.checkpointRevision = revision;
    this.checkpointRecords = 0;
    this.log = [];
  }

  records(bytes: Uint8Array, source: { readonly kind: "checkpoint" | "log" }): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      assert.ok(reader.validSize(at) > 0, "a damaged record was handed out");
      if (source.kind === "log") this.log.push(reader.revision(at));
      else this.checkpointRecords++;
    }
  }
}

async function opened(
  storage: EngineStorage,
): Promise<{ engine: Engine; epoch: number; replayed: Replayed }> {
  const engine = storage.engine();
  const replayed = new Replayed();
  const { epoch } = await engine.open(replayed, "next");
  return { engine, epoch, replayed };
}

/** Reads all revisions available to the tail in pieces of at most `bytesMax`. @returns them and the reason for stopping. */
async function drain(
  tail: Tail,
  bytesMax: number,
): Promise<{ revisions: number[]; ended: "end" | "trimmed"; reads: number }> {
  const revisions: number[] = [];
  for (let reads = 0; ; reads++) {
    const read = await tail.read(bytesMax);
    if (read.kind !== "records") return { revisions, ended: read.kind, reads };
    const reader = new RecordReader(read.bytes);
    assert.ok(read.bytes.length <= Math.max(bytesMax, reader.size(0)), "more than was asked for");
    for (let at = 0; at < read.bytes.length; at += reader.size(at)) {
      assert.ok(reader.validSize(at) > 0, "a damaged record was handed out");
      revisions.push(reader.revision(at));
    }
  }
}

export function upTo(last: number, first: number = 2): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

export function engineSuite(name: string, makeStorage: () => EngineStorage): void {
  void describe(`engine contract: ${name}`, () => {
    void test("an empty storage replays nothing, and what is appended is replayed in order", async () => {
      const storage = makeStorage();
      const first = await opened(storage);
      assert.deepEqual([first.replayed.checkpointRevision, first.replayed.log], [0, []]);
      await first.engine.append(testBatch(first.epoch, [2, 3]));
      await first.engine.append(testBatch(first.epoch, [4]));
      await first.engine.close();
      const second = await opened(storage);
      assert.deepEqual(second.replayed.log, [2, 3, 4]);
      assert.ok(second.epoch > first.epoch);
      await second.engine.close();
    });

    void test("an epoch may be handed in, and an append of another one is fenced off and does not land", async () => {
      const storage = makeStorage();
      const engine = storage.engine();
      assert.equal((await engine.open(new Replayed(), 7)).epoch, 7);
      await engine.append(testBatch(7, [2]));
      await assert.rejects(engine.append(testBatch(6, [3])), FencedError);
      await engine.close();
      const { engine: next, epoch, replayed } = await opened(storage);
      assert.ok(epoch > 7);
      assert.deepEqual(replayed.log, [2]);
      await next.close();
    });

    void test("after a checkpoint an open brings it and all that came after it", async () => {
      const storage = makeStorage();
      const { engine, epoch } = await opened(storage);
      for (let revision = 2; revision <= 9; revision++)
        await engine.append(testBatch(epoch, [revision]));
      await engine.checkpoint(checkpointOf(5, 3));
      await engine.append(testBatch(epoch, [10]));
      assert.equal(engine.stats().checkpointRevision, 5);
      assert.equal(engine.wantsCheckpoint({ revision: 5, stateBytes: 0, quiet: true }), false);
      await engine.close();
      const { engine: next, replayed } = await opened(storage);
      assert.equal(replayed.checkpointRevision, 5);
      assert.equal(replayed.checkpointRecords, 4);
      assert.deepEqual(
        replayed.log.filter((revision) => revision > 5),
        [6, 7, 8, 9, 10],
      );
      await next.close();
    });

    void test("an open with an epoch that was seen before is fenced off, and changes nothing", async () => {
      const storage = makeStorage();
      const engine = storage.engine();
      await engine.open(new Replayed(), 7);
      await engine.append(testBatch(7, [2]));
      await engine.close();
      for (const old of [6, 7]) {
        await assert.rejects(storage.engine().open(new Replayed(), old), FencedError);
      }
      const next = storage.engine();
      assert.equal((await next.open(new Replayed(), 8)).epoch, 8);
      await next.append(testBatch(8, [3]));
      await next.close();
    });

    void test("once a second opening has the log, nothing of the first one's lands", async () => {
      const storage = makeStorage();
      const first = await opened(storage);
      await first.engine.append(testBatch(first.epoch, [2]));
      if (storage.secondOpen === "is refused") {
        await assert.rejects(opened(storage), /in use by process/);
        await first.engine.append(testBatch(first.epoch, [3]));
        await first.engine.close();
      } else await first.engine.append(testBatch(first.epoch, [3]));
      const second = await opened(storage);
      assert.deepEqual(second.replayed.log, [2, 3]);
      await assert.rejects(first.engine.append(testBatch(first.epoch, [4])), FencedError);
      await second.engine.append(testBatch(second.epoch, [4, 5]));
      await assert.rejects(first.engine.append(testBatch(first.epoch, [6])), FencedError);
      await second.engine.close();
      const third = await opened(storage);
      assert.deepEqual(third.replayed.log, [2, 3, 4, 5]);
      await third.engine.close();
    });

    void test("a tail brings what is durable after its revision, in bounded pieces, and goes on when more comes", async () => {
      const { engine, epoch } = await opened(makeStorage());
      for (let first = 2; first < 600; first += 3) {
        await engine.append(testBatch(epoch, [first, first + 1, first + 2]));
      }
      const all = engine.tail(0);
      const some = engine.tail(400);
      assert.deepEqual((await drain(all, 300)).revisions, upTo(601));
      const { revisions, ended } = await drain(some, 1_000_000);
      assert.deepEqual([revisions, ended], [upTo(601, 400), "end"]);
      await engine.append(testBatch(epoch, [602]));
      const late = engine.tail(10_000);
      assert.deepEqual((await drain(late, 300)).revisions, []);
      for (const tail of [all, some]) {
        // A limit of one byte still returns one whole record.
        assert.deepEqual(await drain(tail, 1), { revisions: [602], ended: "end", reads: 1 });
      }
      for (const tail of [all, some, late]) await tail.close();
      await engine.close();
    });

    void test("a tail opened after a restart begins with what was durable before", async () => {
      const storage = makeStorage();
      const first = await opened(storage);
      await first.engine.append(testBatch(first.epoch, [2, 3]));
      await first.engine.close();
      const second = await opened(storage);
      await second.engine.append(testBatch(second.epoch, [4]));
      const tail = second.engine.tail(3);
      assert.deepEqual((await drain(tail, 1000)).revisions, [3, 4]);
      await tail.close();
      await second.engine.close();
    });

    void test("a tail that wants what checkpoints have removed is told so, for good; one at the last of them goes on", async () => {
      const { engine, epoch } = await opened(makeStorage());
      const slow = engine.tail(0);
      assert.equal((await slow.read(1)).kind, "end");
      for (let r = 2; r <= 900; r++) await engine.append(testBatch(epoch, [r]));
      const middle = engine.tail(0);
      assert.equal((await middle.read(1)).kind, "records");
      for (const at of [600, 800]) await engine.checkpoint(checkpointOf(at, 3));
      for (const tail of [slow, middle, engine.tail(2)]) {
        assert.equal((await drain(tail, 1000)).ended, "trimmed");
        await engine.append(testBatch(epoch, [901]));
        assert.equal((await tail.read(1000)).kind, "trimmed");
        await tail.close();
      }
      const fresh = engine.tail(801);
      assert.deepEqual((await drain(fresh, 1000)).revisions.slice(0, 100), upTo(900, 801));
      await fresh.close();
      await engine.close();
    });

    void test("two domains side by side are told apart and share nothing: revisions, epochs, tails", async () => {
      const storages = [makeStorage(), makeStorage()] as const;
      const east = storages[0].engine();
      const west = storages[1].engine();
      const { domain: eastName } = await east.open(new Replayed(), 9);
      const { domain: westName, epoch } = await west.open(new Replayed(), "next");
      assert.notEqual(eastName, westName);
      assert.equal(epoch, 1);
      await Promise.all([east.append(testBatch(9, [2, 3])), west.append(testBatch(1, [2]))]);
      await east.append(testBatch(9, [4]));
      await assert.rejects(west.append(testBatch(9, [3])), FencedError);
      const tails = [east.tail(0), west.tail(0)] as const;
      assert.deepEqual((await drain(tails[0], 1000)).revisions, [2, 3, 4]);
      assert.deepEqual((await drain(tails[1], 1000)).revisions, [2]);
      for (const one of [...tails, east, west]) await one.close();
      const again = storages[0].engine();
      assert.equal((await again.open(new Replayed(), "next")).domain, eastName);
      await again.close();
    });

    void test("a batch larger than anything before it is appended whole", async () => {
      const storage = makeStorage();
      const { engine, epoch } = await opened(storage);
      const revisions = Array.from({ length: 3000 }, (_, i) => i + 2);
      await engine.append(testBatch(epoch, revisions));
      await engine.close();
      const { engine: next, replayed } = await opened(storage);
      assert.deepEqual(replayed.log, revisions);
      await next.close();
    });
  });
}
