/**
 * Writes one change to all places that need it: its record into a slab and the batch, its rows into index
 * and history, its key to its lease. `recover.ts` makes the same state from the same records.
 *
 * W1  A record is complete in its slab before any index names it.
 * W2  A change of keys takes the next revision; other records carry the head revision.
 * W3  A batch's records, back to back, are the changes in the order of their revisions.
 */
import type { Batch } from "./batch.ts";
import type { EndingLease, Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { encodeKeys, headerBytes, RecordKind, recordSize, writeRecord } from "./record.ts";
import type { Slab } from "./slabs.ts";
import type { Key, KeyValue, LeaseId } from "./store.ts";
import type { Change } from "./transaction.ts";
import type { Row } from "./versions.ts";

const empty = new Uint8Array(0);

interface Fields {
  readonly kind: RecordKind;
  readonly revision: number;
  readonly createRevision: number;
  readonly version: number;
  readonly lease: bigint;
}

/** Header of a record within a group. */
interface ChangeHeader extends Omit<Fields, "kind"> {
  readonly epoch: number;
  readonly batchOffset: number;
  readonly place: number;
}

const noFields = { createRevision: 0, version: 0, lease: 0n } as const;

export class StateWriter {
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  readonly #epoch: number;

  constructor(state: { readonly mvcc: Mvcc; readonly leases: Leases }, epoch: number) {
    this.#mvcc = state.mvcc;
    this.#leases = state.leases;
    this.#epoch = epoch;
  }

  /** @returns the change's revision. */
  put(
    batch: Batch,
    key: Key,
    value: Uint8Array,
    lease: LeaseId,
    previous: KeyValue | undefined,
  ): number {
    const revision = this.#mvcc.headRevision + 1;
    const fields = {
      kind: RecordKind.put,
      revision,
      createRevision: previous?.createRevision ?? revision,
      version: (previous?.version ?? 0) + 1,
      lease: lease as bigint,
    };
    const slab = this.#write(batch, fields, key, value);
    const row = this.#mvcc.addPut({
      key,
      revision,
      createRevision: fields.createRevision,
      version: fields.version,
      lease: fields.lease,
      slab: slab.id,
      offset: slab.used - recordSize(key.length, value.length),
      valueLength: value.length,
    });
    this.#mvcc.log.appendOne(revision, row);
    this.#leases.moveKey(key, previous?.lease ?? 0n, lease);
    return revision;
  }

  /** The key must exist. @returns the change's revision. */
  delete(batch: Batch, key: Key, previous: KeyValue): number {
    const revision = this.#mvcc.headRevision + 1;
    this.#write(batch, { ...noFields, kind: RecordKind.delete, revision }, key, empty);
    this.#leases.moveKey(key, previous.lease, 0n);
    this.#mvcc.log.appendOne(revision, this.#mvcc.addDelete(key, revision));
    return revision;
  }

  /** Applies all changes as one revision; without changes nothing happens. */
  change(batch: Batch, changes: readonly Change[]): void {
    const first = changes[0];
    if (first === undefined) return;
    if (changes.length > 1) this.#group(batch, changes);
    else if (first.kind === "put") {
      this.put(batch, first.kv.key, first.kv.value, first.kv.lease, first.before);
    } else this.delete(batch, first.key, first.before);
  }

  grantLease(batch: Batch, id: bigint, ttlMs: number): void {
    const fields = { ...noFields, kind: RecordKind.leaseGrant, version: ttlMs, lease: id };
    this.#writeAtHead(batch, fields);
    this.#leases.grant(id, ttlMs);
  }

  /** The lease must exist. Its keys are deleted, sorted, in one revision; without keys there is no revision. */
  endLease(batch: Batch, id: bigint): EndingLease {
    const keys = this.#leases.keys(id);
    const head = this.#mvcc.headRevision;
    const revision = keys.length === 0 ? head : head + 1;
    const fields = { ...noFields, kind: RecordKind.leaseEnd, version: keys.length, lease: id };
    this.#write(batch, { ...fields, revision }, "", encodeKeys(keys));
    const rows = keys.map((key) => this.#mvcc.addDelete(key, revision));
    if (rows.length > 0) this.#mvcc.log.append(revision, rows);
    return this.#leases.beginEnd(id);
  }

  compact(batch: Batch, revision: number): void {
    const fields = { ...noFields, kind: RecordKind.compact, createRevision: revision };
    this.#writeAtHead(batch, fields);
  }

  epoch(batch: Batch): void {
    this.#writeAtHead(batch, { ...noFields, kind: RecordKind.epoch });
  }

  #writeAtHead(batch: Batch, fields: Omit<Fields, "revision">): void {
    this.#write(batch, { ...fields, revision: this.#mvcc.headRevision }, "", empty);
  }

  /** Writes a record after the last one and adds it to the batch. */
  #write(batch: Batch, fields: Fields, key: string, body: Uint8Array): Slab {
    const size = recordSize(key.length, body.length);
    const slab = this.#mvcc.slabs.room(size);
    const header = {
      kind: fields.kind,
      epoch: this.#epoch,
      batchOffset: batch.bytes,
      revision: fields.revision,
      createRevision: fields.createRevision,
      version: fields.version,
      lease: fields.lease,
    };
    writeRecord(slab, slab.used, header, key, body);
    batch.extend(slab, slab.used, size, fields.revision);
    slab.used += size;
    return slab;
  }

  /** One record around all changes, so that after a crash all or none of them exist. */
  #group(batch: Batch, changes: readonly Change[]): void {
    const { slabs, log } = this.#mvcc;
    const revision = this.#mvcc.headRevision + 1;
    const size = headerBytes + changes.reduce((sum, change) => sum + changeSize(change), 0);
    const slab = slabs.room(size);
    const start = slab.used;
    const rows = this.#groupRecords(batch, changes, revision, slab);
    const body = slab.bytes.subarray(start + headerBytes, start + size);
    const fields = { ...noFields, kind: RecordKind.group, version: changes.length, revision };
    const header = { ...fields, epoch: this.#epoch, batchOffset: batch.bytes };
    writeRecord(slab, start, header, "", body);
    batch.extend(slab, start, size, revision);
    slab.used += size;
    log.append(revision, rows);
  }

  /** Writes the changes' records after the place reserved for the group's header. */
  #groupRecords(batch: Batch, changes: readonly Change[], revision: number, slab: Slab): Row[] {
    const rows: Row[] = [];
    const fields = { ...noFields, epoch: this.#epoch, revision };
    let batchOffset = batch.bytes + headerBytes;
    for (const change of changes) {
      const offset = slab.used + batchOffset - batch.bytes;
      rows.push(
        this.#groupRecord(change, slab, offset, { ...fields, batchOffset, place: rows.length }),
      );
      batchOffset += changeSize(change);
    }
    return rows;
  }

  #groupRecord(change: Change, slab: Slab, offset: number, header: ChangeHeader): Row {
    const { revision } = header;
    if (change.kind === "delete") {
      writeRecord(slab, offset, { ...header, kind: RecordKind.delete }, change.key, empty);
      this.#leases.moveKey(change.key, change.before.lease, 0n);
      return this.#mvcc.addDelete(change.key, revision);
    }
    const { key, value, createRevision, version, lease } = change.kv;
    const fields = { revision, createRevision, version, lease: lease as bigint };
    writeRecord(slab, offset, { ...header, ...fields, kind: RecordKind.put }, key, value);
    this.#leases.moveKey(key, change.before?.lease ?? 0n, lease);
    return this.#mvcc.addPut({ key, ...fields, slab: slab.id, offset, valueLength: value.length });
  }
}

function changeSize(change: Change): number {
  if (change.kind === "delete") return recordSize(change.key.length, 0);
  return recordSize(change.kv.key.length, change.kv.value.length);
}
