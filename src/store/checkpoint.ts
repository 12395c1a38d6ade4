/**
 * The records of a checkpoint: the leases alive now, then for each key in order its newest put at or
 * below `revision`, copied as it stands in its slab, then an end record that counts them.
 *
 * `revision` is the compact revision: so the log above it is all of history, and no version is
 * stored twice. Keys may change while this runs; versions at `revision` may not be pruned.
 */
import { assert } from "#base/assert.ts";
import type { CheckpointSource } from "./engines/engine.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { RecordKind, recordSize, recordSpace, writeRecord } from "./record.ts";
import type { RecordSpace } from "./record.ts";
import { noRow } from "./versions.ts";
import type { Row } from "./versions.ts";

/** One write to disk; also how long the loop is held: about half a millisecond. */
const chunkBytes = 2 ** 20;
const empty = new Uint8Array(0);

export function checkpointSource(of: {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly revision: number;
}): CheckpointSource {
  assert(of.mvcc.prunedRevision === of.revision, "checkpoint of a state that is not pruned to it");
  return stateSource(of);
}

/** The state at a revision that is not pruned beyond, and will not be until this has ended. */
export function stateSource(of: {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly revision: number;
}): CheckpointSource {
  const { mvcc, revision } = of;
  const leases = [...of.leases.all()];
  let phase: "leases" | "keys" | "end" | "done" = "leases";
  let nextKey = "";
  let count = 0;

  const next = (): Uint8Array | undefined => {
    switch (phase) {
      case "leases":
        phase = "keys";
        count += leases.length;
        return leases.length === 0 ? next() : leaseRecords(leases, revision);
      case "keys": {
        const { rows, bytes, resume } = collect(mvcc, revision, nextKey);
        if (resume === undefined) phase = "end";
        else nextKey = resume;
        count += rows.length;
        return rows.length === 0 ? next() : copyRecords(mvcc, rows, bytes);
      }
      case "end":
        phase = "done";
        return endRecord(revision, count);
      case "done":
        return undefined;
      default:
        return phase satisfies never;
    }
  };
  return { revision, next };
}

/** Rows from `start` on that fill a chunk, and the key to go on from. */
function collect(
  mvcc: Mvcc,
  revision: number,
  start: string,
): { rows: Row[]; bytes: number; resume: string | undefined } {
  const rows: Row[] = [];
  let bytes = 0;
  let resume: string | undefined;
  mvcc.index.scan(start, undefined, (key, newest) => {
    if (bytes >= chunkBytes) {
      resume = key;
      return false;
    }
    const row = mvcc.visible(newest, revision);
    if (row === noRow) return true;
    rows.push(row);
    bytes += mvcc.recordSize(row);
    return true;
  });
  return { rows, bytes, resume };
}

function copyRecords(mvcc: Mvcc, rows: readonly Row[], bytes: number): Uint8Array {
  const chunk = new Uint8Array(bytes);
  let at = 0;
  for (const row of rows) {
    const record = mvcc.record(row);
    chunk.set(record, at);
    at += record.length;
  }
  return chunk;
}

function leaseRecords(
  leases: readonly { readonly id: bigint; readonly ttlMs: number }[],
  revision: number,
): Uint8Array {
  const size = recordSize(0, 0);
  const chunk = new Uint8Array(size * leases.length);
  const space = recordSpace(chunk);
  leases.forEach(({ id, ttlMs }, i) => {
    writeFields(space, i * size, RecordKind.leaseGrant, revision, ttlMs, id);
  });
  return chunk;
}

function endRecord(revision: number, count: number): Uint8Array {
  const chunk = new Uint8Array(recordSize(0, 0));
  writeFields(recordSpace(chunk), 0, RecordKind.checkpointEnd, revision, count, 0n);
  return chunk;
}

function writeFields(
  space: RecordSpace,
  at: number,
  kind: RecordKind,
  revision: number,
  version: number,
  lease: bigint,
): void {
  const header = { kind, epoch: 0, batchOffset: 0, revision, createRevision: 0, version, lease };
  writeRecord(space, at, header, "", empty);
}
