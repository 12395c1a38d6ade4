/**
 * The records of a checkpoint, in this order: the active leases; the changes of `revision` itself; for each
 * key in order its newest put at or below `revision`, copied as it stands in its slab; and an end
 * record that counts them.
 *
 * `revision` is the compact revision. The log above it is therefore the whole history except the compacted
 * revision's own changes, which a watch may still begin with. Nothing else is stored twice. While this runs, keys may
 * change and versions visible at `revision` may be pruned: Pruning.hold keeps such a version until the checkpoint
 * has passed its key.
 */
import { concatBytes } from "#base/bytes.ts";
import type { RecordSupply } from "./engines/engine.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { RecordKind, recordSize, recordSpace, writeRecord } from "./record.ts";
import type { RecordSpace } from "./record.ts";
import { noRow } from "./versions.ts";
import type { Row } from "./versions.ts";

/** Size of one disk write. Producing it holds the loop for about 0.2 ms. */
const chunkBytes = 128 * 2 ** 10;
const empty = new Uint8Array(0);

/** Supplies the state at the current pruning revision. The caller must call `ended` on success and on failure. */
export function checkpointSource(of: {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly revision: number;
}): RecordSupply & { ended(): void } {
  const { mvcc } = of;
  mvcc.pruning.hold(of.revision);
  const source = recordsOf({
    ...of,
    leases: of.leases.all(),
    held: (start) => mvcc.pruning.heldFrom(start),
    passed: (from) => mvcc.pruning.passed(from),
  });
  return { ...source, ended: () => mvcc.pruning.passed(undefined) };
}

/** Supplies the state at the newest durable revision; pruning stops there until the source has ended. */
export function stateSource(of: {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly revision: number;
}): RecordSupply {
  const leases = of.leases.allOfDurable();
  return recordsOf({ ...of, leases, held: () => [].values(), passed: () => undefined });
}

interface StateReading {
  readonly mvcc: Mvcc;
  readonly leases: Iterable<{ readonly id: bigint; readonly ttlMs: number }>;
  readonly revision: number;
  /** Keys and rows that have left the index, or of which the index has only later versions. */
  readonly held: (start: string) => Iterator<[string, Row]>;
  readonly passed: (from: string) => void;
}

function recordsOf(of: StateReading): RecordSupply {
  const { mvcc, revision } = of;
  const leases = [...of.leases];
  // Read now, because the log may be trimmed beyond this revision later.
  const changes = revision > mvcc.log.base ? changesRecord(mvcc, revision) : undefined;
  let phase: "leases" | "changes" | "keys" | "end" | "done" = "leases";
  let nextKey = "";
  let count = 0;
  // One buffer for all chunks, because allocating costs more than copying.
  const chunk = new Chunk();

  const next = (): Uint8Array | undefined => {
    switch (phase) {
      case "leases":
        phase = "changes";
        count += leases.length;
        return leases.length === 0 ? next() : leaseRecords(leases, revision);
      case "changes":
        phase = "keys";
        if (changes === undefined) return next();
        count++;
        return changes;
      case "keys": {
        const { rows, bytes, resume } = collect(of, nextKey);
        if (resume === undefined) phase = "end";
        else nextKey = resume;
        count += rows.length;
        const filled = chunk.fill(mvcc, rows, bytes);
        if (resume !== undefined) of.passed(resume);
        return rows.length === 0 ? next() : filled;
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

/** Collects rows from `start` on until a chunk is full. @returns them and the key to continue from. */
function collect(
  { mvcc, revision, held }: StateReading,
  start: string,
): { rows: Row[]; bytes: number; resume: string | undefined } {
  const rows: Row[] = [];
  let bytes = 0;
  let resume: string | undefined;
  const take = (key: string, row: Row): boolean => {
    if (bytes >= chunkBytes) {
      resume = key;
      return false;
    }
    rows.push(row);
    bytes += mvcc.recordSize(row);
    return true;
  };
  const pruned = held(start);
  let next = pruned.next();
  /** Adds held rows of keys up to `key`, which may have left the index. @returns whether the chunk has room. */
  const takeHeld = (key: string | undefined): boolean => {
    while (next.done !== true && (key === undefined || next.value[0] <= key)) {
      if (!take(...next.value)) return false;
      next = pruned.next();
    }
    return true;
  };
  mvcc.index.scan(start, undefined, (key, newest) => {
    if (!takeHeld(key)) return false;
    const row = mvcc.visible(newest, revision);
    return row === noRow || take(key, row);
  });
  if (resume === undefined) takeHeld(undefined);
  return { rows, bytes, resume };
}

class Chunk {
  #space = new Uint8Array(chunkBytes);

  /** The records of `rows`, which have `bytes` in all. Borrowed until the next call. */
  fill(mvcc: Mvcc, rows: readonly Row[], bytes: number): Uint8Array {
    if (bytes > this.#space.length) this.#space = new Uint8Array(bytes);
    let at = 0;
    for (const row of rows) {
      const record = mvcc.record(row);
      this.#space.set(record, at);
      at += record.length;
    }
    return this.#space.subarray(0, bytes);
  }
}

/** All changes of a revision as one group record, even if there is only one delete. */
function changesRecord(mvcc: Mvcc, revision: number): Uint8Array {
  const changes = mvcc.log.rows(revision).map((row) => changeRecord(mvcc, row, revision));
  const body = concatBytes(changes);
  const chunk = new Uint8Array(recordSize(0, body.length));
  writeFields(
    recordSpace(chunk),
    { kind: RecordKind.group, revision, version: changes.length },
    "",
    body,
  );
  return chunk;
}

function changeRecord(mvcc: Mvcc, row: Row, revision: number): Uint8Array {
  if (!mvcc.versions.isTombstone(row)) return mvcc.record(row);
  const key = mvcc.versions.key(row);
  const record = new Uint8Array(recordSize(key.length, 0));
  writeFields(recordSpace(record), { kind: RecordKind.delete, revision, version: 0 }, key, empty);
  return record;
}

function leaseRecords(
  leases: readonly { readonly id: bigint; readonly ttlMs: number }[],
  revision: number,
): Uint8Array {
  const size = recordSize(0, 0);
  const chunk = new Uint8Array(size * leases.length);
  const space = recordSpace(chunk);
  leases.forEach(({ id, ttlMs }, i) => {
    const header = { ...noFields, kind: RecordKind.leaseGrant, revision };
    writeRecord(space, i * size, { ...header, version: ttlMs, lease: id }, "", empty);
  });
  return chunk;
}

function endRecord(revision: number, count: number): Uint8Array {
  const chunk = new Uint8Array(recordSize(0, 0));
  const fields = { kind: RecordKind.checkpointEnd, revision, version: count };
  writeFields(recordSpace(chunk), fields, "", empty);
  return chunk;
}

const noFields = { epoch: 0, batchOffset: 0, createRevision: 0, version: 0, lease: 0n };

function writeFields(
  space: RecordSpace,
  fields: { readonly kind: RecordKind; readonly revision: number; readonly version: number },
  key: string,
  body: Uint8Array,
): void {
  writeRecord(space, 0, { ...noFields, ...fields }, key, body);
}
