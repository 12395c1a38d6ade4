/** What a replay refuses although its checksums are right. */
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { CorruptionError } from "./engines/engine.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import { RecordKind, recordSize, recordSpace, writeRecord } from "./record.ts";
import { Recovery } from "./recover.ts";
import { Slabs } from "./slabs.ts";
import { newWorld } from "./testing/fixture.ts";

void test("a compaction of a revision that the log has not reached is damage, named by file and offset", () => {
  const recovery = new Recovery(new Mvcc(new Slabs(4096), 1), new Leases(newWorld(1).clock));
  const bytes = new Uint8Array(recordSize(0, 0));
  const fields = { kind: RecordKind.compact, epoch: 1, batchOffset: 0, revision: 1, version: 0 };
  const header = { ...fields, createRevision: 2, lease: 0n };
  writeRecord(recordSpace(bytes), 0, header, "", new Uint8Array(0));
  assert.throws(
    () => recovery.records(bytes, { kind: "log", file: "log-1", offset: 64 }),
    (error) => error instanceof CorruptionError && /^log-1: .* at offset 64;/.test(error.message),
  );
});
