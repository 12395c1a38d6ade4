/** Adds a put that another store already decided, with that store's revisions and lease. */
import type { Mvcc } from "./mvcc.ts";
import { RecordKind, recordSize, writeRecord } from "./record.ts";
import type { Key, KeyValue } from "./store.ts";
import type { Row } from "./versions.ts";

/** Written as a record into a slab, so that cleaning and history reads treat it like any other. */
export function addCopiedPut(
  mvcc: Mvcc,
  key: Key,
  revision: number,
  kv: Omit<KeyValue, "key" | "modRevision">,
): Row {
  const { value, createRevision, version, lease } = kv;
  const size = recordSize(key.length, value.length);
  const slab = mvcc.slabs.room(size);
  const offset = slab.used;
  const header = { epoch: 0, batchOffset: 0, revision, createRevision, version, lease };
  writeRecord(slab, offset, { kind: RecordKind.put, ...header }, key, value);
  slab.used += size;
  const at = { slab: slab.id, offset, valueLength: value.length };
  return mvcc.addPut({ key, revision, createRevision, version, lease, ...at });
}
