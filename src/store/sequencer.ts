/**
 * The single writer: checks the guard against the newest state (durable or not), takes the next
 * revision, writes the record into a slab, and applies it. Synchronous, so there are no locks.
 *
 * S1  Revisions are dense: a refused write takes none.
 * S2  A record is complete in its slab before any index names it.
 * S3  An outcome that depends on a sequenced but not yet durable change names that revision in `after`:
 *     the caller gets it only once that revision is durable.
 */
import type { Committer } from "./commit.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { encodeKeys, headerBytes, RecordKind, recordSize, writeRecord } from "./record.ts";
import type { Slab } from "./slabs.ts";
import type {
  DeleteResult,
  Guard,
  Key,
  KeyValue,
  LeaseId,
  PutResult,
  Revision,
  WriteRefused,
} from "./store.ts";
import { Staging } from "./transaction.ts";
import type { Change, Transaction } from "./transaction.ts";
import type { Row } from "./versions.ts";

const empty = new Uint8Array(0);

/** An outcome, and the revision that must be durable before the caller gets it. */
export interface Decided<Result> {
  readonly result: Result;
  /** "all": what was decided hangs on a lease, whose end may have no revision of its own. */
  readonly after: number | "all";
}

interface Fields {
  readonly kind: RecordKind;
  readonly revision: number;
  readonly createRevision: number;
  readonly version: number;
  readonly lease: bigint;
}

export interface SequencerOptions {
  readonly epoch: number;
  readonly quotaBytes: number;
  /** Whether a key or a value is too large; asked of a transaction's puts here. */
  readonly refusePut: (key: Key, value: Uint8Array) => WriteRefused | undefined;
}

export class Sequencer {
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  readonly #committer: Committer;
  readonly #epoch: number;
  readonly #quotaBytes: number;
  readonly #refusePut: SequencerOptions["refusePut"];

  constructor(
    deps: { readonly mvcc: Mvcc; readonly leases: Leases; readonly committer: Committer },
    options: SequencerOptions,
  ) {
    this.#mvcc = deps.mvcc;
    this.#leases = deps.leases;
    this.#committer = deps.committer;
    this.#epoch = options.epoch;
    this.#quotaBytes = options.quotaBytes;
    this.#refusePut = options.refusePut;
  }

  put(key: Key, value: Uint8Array, guard: Guard | undefined, lease: LeaseId): Decided<PutResult> {
    const mvcc = this.#mvcc;
    const before = mvcc.newest(key);
    if (guard !== undefined && guard.modRevision !== this.#revisionOf(before)) {
      return this.#conflict(key, before);
    }
    if (lease !== 0n && !this.#leases.has(lease)) {
      return { result: { kind: "lease-not-found" }, after: "all" };
    }
    const refused = this.#overQuota(recordSize(key.length, value.length));
    if (refused !== undefined) return { result: refused, after: 0 };
    const previous = before === undefined ? undefined : mvcc.keyValue(before);
    const revision = this.#put(key, value, previous, lease);
    return {
      result: { kind: "committed", revision: revision as Revision, previous },
      after: revision,
    };
  }

  delete(key: Key, guard: Guard | undefined): Decided<DeleteResult> {
    const mvcc = this.#mvcc;
    const before = mvcc.newest(key);
    if (guard !== undefined && guard.modRevision !== this.#revisionOf(before)) {
      return this.#conflict(key, before);
    }
    if (before === undefined) {
      return { result: { kind: "missing" }, after: mvcc.newestRevision(key) };
    }
    const previous = mvcc.keyValue(before);
    const revision = mvcc.headRevision + 1;
    this.#write({ ...noFields, kind: RecordKind.delete, revision }, key, empty);
    this.#applyDelete(key, revision);
    this.#sequenced(revision);
    return {
      result: { kind: "committed", revision: revision as Revision, previous },
      after: revision,
    };
  }

  /** Runs `run` against the newest state, and makes what it changed one revision. `noSpace`: unless it puts. */
  transact<Answer>(
    run: (transaction: Transaction) => Answer,
    noSpace: WriteRefused | undefined,
  ): Decided<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused> {
    const staging = new Staging(this.#mvcc, (id) => this.#leases.has(id));
    const answer = run(staging);
    const { changes } = staging;
    const refused = this.#refuseChanges(changes, noSpace);
    if (refused !== undefined) return { result: refused, after: 0 };
    this.#change(changes);
    const after = staging.missedLease ? "all" : this.#mvcc.headRevision;
    return { result: { kind: "done", answer }, after };
  }

  grantLease(id: bigint, ttlMs: number): void {
    const fields = { ...noFields, kind: RecordKind.leaseGrant, version: ttlMs, lease: id };
    this.#write({ ...fields, revision: this.#mvcc.headRevision }, "", empty);
    this.#leases.grant(id, ttlMs);
    this.#committer.wake();
  }

  /** Ends a lease and deletes its keys, sorted, in one revision; none when it has no keys. */
  endLease(id: bigint): void {
    if (!this.#leases.has(id)) return;
    const keys = this.#leases.keys(id);
    const head = this.#mvcc.headRevision;
    const revision = keys.length === 0 ? head : head + 1;
    const fields = { ...noFields, kind: RecordKind.leaseEnd, version: keys.length, lease: id };
    this.#write({ ...fields, revision }, "", encodeKeys(keys));
    const rows = keys.map((key) => this.#mvcc.addDelete(key, revision));
    if (rows.length > 0) this.#mvcc.log.append(revision, rows);
    const durable = this.#leases.beginEnd(id);
    this.#committer.settleAfterAll({ durable, stopped: () => undefined });
    this.#sequenced(revision);
  }

  compact(revision: number): void {
    const fields = { ...noFields, kind: RecordKind.compact, createRevision: revision };
    this.#write({ ...fields, revision: this.#mvcc.headRevision }, "", empty);
    this.#committer.wake();
  }

  /** The first record of an opening: from here on the log is of this epoch. */
  markEpoch(): void {
    const fields = { ...noFields, kind: RecordKind.epoch };
    this.#write({ ...fields, revision: this.#mvcc.headRevision }, "", empty);
    this.#committer.wake();
  }

  #put(key: Key, value: Uint8Array, previous: KeyValue | undefined, lease: LeaseId): number {
    const revision = this.#mvcc.headRevision + 1;
    const fields = {
      kind: RecordKind.put,
      revision,
      createRevision: previous?.createRevision ?? revision,
      version: (previous?.version ?? 0) + 1,
      lease: lease as bigint,
    };
    const slab = this.#write(fields, key, value);
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
    this.#sequenced(revision);
    return revision;
  }

  #change(changes: readonly Change[]): void {
    const first = changes[0];
    if (first === undefined) return;
    if (changes.length > 1) this.#changeMany(changes);
    else if (first.kind === "put") {
      this.#put(first.kv.key, first.kv.value, first.before, first.kv.lease);
    } else this.delete(first.key, undefined);
  }

  /** One record around all, so that a crash leaves all or nothing of them. */
  #changeMany(changes: readonly Change[]): void {
    const mvcc = this.#mvcc;
    const batch = this.#committer.filling;
    const revision = mvcc.headRevision + 1;
    const size = headerBytes + changes.reduce((sum, change) => sum + changeSize(change), 0);
    const slab = mvcc.slabs.room(size);
    const start = slab.used;
    const rows = this.#changeRecords(changes, revision, slab, start);
    const fields = { ...noFields, kind: RecordKind.group, version: changes.length, revision };
    const header = { ...fields, epoch: this.#epoch, batchOffset: batch.bytes };
    const body = slab.bytes.subarray(start + headerBytes, start + size);
    writeRecord(slab, start, header, "", body);
    batch.extend(slab, start, size);
    slab.used += size;
    mvcc.log.append(revision, rows);
    this.#sequenced(revision);
  }

  #changeRecords(changes: readonly Change[], revision: number, slab: Slab, start: number): Row[] {
    const rows: Row[] = [];
    let offset = start + headerBytes;
    for (const change of changes) {
      const batchOffset = this.#committer.filling.bytes + offset - start;
      const where = { epoch: this.#epoch, batchOffset, place: rows.length };
      rows.push(this.#changeRecord(change, revision, slab, offset, where));
      offset += changeSize(change);
    }
    return rows;
  }

  #changeRecord(
    change: Change,
    revision: number,
    slab: Slab,
    offset: number,
    where: { readonly epoch: number; readonly batchOffset: number; readonly place: number },
  ): Row {
    if (change.kind === "delete") {
      const header = { ...noFields, ...where, kind: RecordKind.delete, revision };
      writeRecord(slab, offset, header, change.key, empty);
      this.#leases.moveKey(change.key, change.before.lease, 0n);
      return this.#mvcc.addDelete(change.key, revision);
    }
    const { key, value, createRevision, version, lease } = change.kv;
    const fields = { revision, createRevision, version, lease: lease as bigint };
    writeRecord(slab, offset, { kind: RecordKind.put, ...where, ...fields }, key, value);
    this.#leases.moveKey(key, change.before?.lease ?? 0n, lease);
    const valueLength = value.length;
    return this.#mvcc.addPut({ key, ...fields, slab: slab.id, offset, valueLength });
  }

  #applyDelete(key: Key, revision: number): void {
    const before = this.#mvcc.newest(key) as Row;
    this.#leases.moveKey(key, this.#mvcc.versions.lease(before), 0n);
    this.#mvcc.log.appendOne(revision, this.#mvcc.addDelete(key, revision));
  }

  /** Writes a record behind the last one and counts it into the filling batch. */
  #write(fields: Fields, key: string, body: Uint8Array): Slab {
    const batch = this.#committer.filling;
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
    batch.extend(slab, slab.used, size);
    slab.used += size;
    return slab;
  }

  #sequenced(revision: number): void {
    this.#committer.filling.lastRevision = revision;
    this.#committer.wake();
  }

  #conflict(
    key: Key,
    before: Row | undefined,
  ): Decided<{ readonly kind: "conflict"; readonly actual: KeyValue | undefined }> {
    const actual = before === undefined ? undefined : this.#mvcc.keyValue(before);
    return { result: { kind: "conflict", actual }, after: this.#mvcc.newestRevision(key) };
  }

  #revisionOf(row: Row | undefined): number {
    return row === undefined ? 0 : this.#mvcc.versions.revision(row);
  }

  #refuseChanges(
    changes: readonly Change[],
    noSpace: WriteRefused | undefined,
  ): WriteRefused | undefined {
    let size = 0;
    for (const change of changes) {
      if (change.kind !== "put") continue;
      const refused = this.#refusePut(change.kv.key, change.kv.value) ?? noSpace;
      if (refused !== undefined) return refused;
      size += putSize(change.kv);
    }
    return size === 0 ? undefined : this.#overQuota(size);
  }

  #overQuota(size: number): { readonly kind: "no-space"; readonly message: string } | undefined {
    const bytes = this.#mvcc.bytes;
    if (bytes + size <= this.#quotaBytes) return undefined;
    const message = `database is full: ${bytes} bytes held, ${size} more asked for, quota ${this.#quotaBytes}; compact or delete`;
    return { kind: "no-space", message };
  }
}

function putSize(kv: KeyValue): number {
  return recordSize(kv.key.length, kv.value.length);
}

function changeSize(change: Change): number {
  return change.kind === "put" ? putSize(change.kv) : recordSize(change.key.length, 0);
}

const noFields = { revision: 0, createRevision: 0, version: 0, lease: 0n } as const;
