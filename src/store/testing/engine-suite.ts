/**
 * The engine contract (engines/engine.ts, E1-E4) as tests, for every engine that keeps anything.
 *
 * `storage` is one place that outlives its engines: each call of `engine` gives a new handle on it.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FencedError } from "../engines/engine.ts";
import type { AppendBatch, CheckpointSource, Engine, ReplaySink } from "../engines/engine.ts";
import { RecordKind, RecordReader, recordSize, recordSpace, writeRecord } from "../record.ts";

export interface EngineStorage {
  engine(): Engine;
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

function batch(epoch: number, revisions: readonly number[]): AppendBatch {
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

function checkpointOf(revision: number, records: number): CheckpointSource {
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
  return { revision, next: () => chunks.shift(), hurried: new AbortController().signal };
}

/** What a replay brought: the checkpoint's revision and records, then the log's revisions. */
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

export function engineSuite(name: string, makeStorage: () => EngineStorage): void {
  void describe(`engine contract: ${name}`, () => {
    void test("an empty storage replays nothing, and what is appended is replayed in order", async () => {
      const storage = makeStorage();
      const first = await opened(storage);
      assert.deepEqual([first.replayed.checkpointRevision, first.replayed.log], [0, []]);
      await first.engine.append(batch(first.epoch, [2, 3]));
      await first.engine.append(batch(first.epoch, [4]));
      await first.engine.close();
      const second = await opened(storage);
      assert.deepEqual(second.replayed.log, [2, 3, 4]);
      assert.ok(second.epoch > first.epoch);
      await second.engine.close();
    });

    void test("an epoch may be handed in, and an append of another one is fenced off and does not land", async () => {
      const storage = makeStorage();
      const engine = storage.engine();
      assert.deepEqual(await engine.open(new Replayed(), 7), { epoch: 7 });
      await engine.append(batch(7, [2]));
      await assert.rejects(engine.append(batch(6, [3])), FencedError);
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
        await engine.append(batch(epoch, [revision]));
      await engine.checkpoint(checkpointOf(5, 3));
      await engine.append(batch(epoch, [10]));
      assert.equal(engine.stats().checkpointRevision, 5);
      assert.equal(engine.wantsCheckpoint(5), false);
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

    void test("a batch larger than anything before it is appended whole", async () => {
      const storage = makeStorage();
      const { engine, epoch } = await opened(storage);
      const revisions = Array.from({ length: 3000 }, (_, i) => i + 2);
      await engine.append(batch(epoch, revisions));
      await engine.close();
      const { engine: next, replayed } = await opened(storage);
      assert.deepEqual(replayed.log, revisions);
      await next.close();
    });
  });
}
