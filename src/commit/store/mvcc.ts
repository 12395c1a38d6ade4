/**
 * The state in memory: every version of every key since compactRevision, and history by revision.
 *
 * Holds  head >= commitRevision >= compactRevision >= pruned (pruning.ts). Versions in (commit, head]
 *        are sequenced but not durable: guards see them, reads and watchers do not.
 *        The chain of rows of each key falls in revision (a transaction may make two rows of one revision).
 * Cost   get O(log keys + newer versions). A key of 40 bytes with one version costs about 200 bytes
 *        besides its record (56 row, 8 reference, 56 string, ~24 tree), half of that off the heap.
 */
import { assert } from "#base/assert.ts";
import { BTree } from "#base/btree.ts";
import { RevisionLog } from "./log.ts";
import { Pruning } from "./pruning.ts";
import { headerBytes, recordSize } from "./record.ts";
import type { Slab, Slabs } from "./slabs.ts";
import type {
  GetResult,
  Key,
  KeyValue,
  LeaseId,
  RangeRequest,
  RangeResult,
  Refused,
  Revision,
  StoreEvent,
  VersionView,
} from "./store.ts";
import { noRow, Versions } from "./versions.ts";
import type { Row, RowView, VersionFields } from "./versions.ts";

/** Size of a tombstone for the quota: its row and its place in the log. */
const tombstoneBytes = 64;

const noBytes = new Uint8Array(0);

export class Mvcc {
  versions = new Versions();
  readonly slabs: Slabs;
  /** The newest row of each key, durable or not. */
  readonly index = new BTree<Row>();
  log: RevisionLog;
  readonly pruning: Pruning;
  /** A record was moved there (cleaner.ts). */
  onMoved: ((slab: Slab, offset: number) => void) | undefined;
  #commitRevision: number;
  #compactRevision: number;
  readonly #view: RowView = {
    key: "" as Key,
    bytes: noBytes,
    valueStart: 0,
    valueLength: 0,
    createRevision: 0,
    modRevision: 0,
    version: 0,
    lease: 0n as LeaseId,
    offset: 0,
  };
  #bytes = 0;
  #stateBytes = 0;
  #stateKeys = 0;

  constructor(slabs: Slabs, baseRevision: number) {
    this.slabs = slabs;
    this.pruning = new Pruning(this, baseRevision);
    this.log = new RevisionLog(baseRevision);
    this.#commitRevision = baseRevision;
    this.#compactRevision = baseRevision;
  }

  /** Size of state and history as the quota counts it. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of `bytes` that belongs to the newest version of each key. */
  get stateBytes(): number {
    return this.#stateBytes;
  }

  /** Number of existing keys. */
  get stateKeys(): number {
    return this.#stateKeys;
  }

  get headRevision(): number {
    return this.log.head;
  }

  /** Highest durable revision, which readers and watchers may see. */
  get commitRevision(): number {
    return this.#commitRevision;
  }

  get compactRevision(): number {
    return this.#compactRevision;
  }

  /** Records that revisions up to `revision` are durable. */
  commit(revision: number): void {
    const isNext = revision >= this.#commitRevision && revision <= this.headRevision;
    assert(isNext, "a commit revision that was not sequenced, or falls", { revision });
    this.#commitRevision = revision;
  }

  /** Refuses reads below `revision` from now on, so that their history can be pruned. */
  compact(revision: number): void {
    const isNext = revision >= this.#compactRevision && revision <= this.#commitRevision;
    assert(isNext, "a compact revision that is not committed, or falls", { revision });
    this.#compactRevision = revision;
  }

  /** Drops everything and starts from a checkpoint; nothing before `revision` is known. */
  rebase(revision: number): void {
    this.index.clear();
    this.slabs.clear();
    this.versions = new Versions();
    this.#bytes = 0;
    this.#stateBytes = 0;
    this.#stateKeys = 0;
    this.pruning.rebase(revision);
    this.log = new RevisionLog(revision);
    this.#commitRevision = revision;
    this.#compactRevision = revision;
  }

  /** Called directly after `rebase`: the changes of `revision` itself will be appended. */
  reopen(revision: number): void {
    const fresh = revision === this.pruning.revision && this.index.size === 0;
    assert(fresh, "reopened too late", { revision });
    this.log = new RevisionLog(revision - 1);
  }

  /** Adds a put whose record is already in its slab. The caller appends the row to `log`. */
  addPut(fields: VersionFields): Row {
    const before = this.index.get(fields.key) ?? noRow;
    const row = this.versions.add(fields, before);
    const size = recordSize(fields.key.length, fields.valueLength);
    this.index.set(fields.key, row);
    this.slabs.retain(this.slabs.get(fields.slab), size);
    this.#bytes += size;
    const bytesBefore = this.#putBytes(before);
    this.#stateBytes += size - bytesBefore;
    if (bytesBefore === 0) this.#stateKeys++;
    return row;
  }

  addDelete(key: string, revision: number): Row {
    const before = this.index.get(key) ?? noRow;
    const row = this.versions.addTombstone(key, revision, before);
    this.index.set(key, row);
    this.#bytes += tombstoneBytes;
    const bytesBefore = this.#putBytes(before);
    this.#stateBytes -= bytesBefore;
    if (bytesBefore > 0) this.#stateKeys--;
    return row;
  }

  #putBytes(row: Row): number {
    return row === noRow || this.versions.isTombstone(row) ? 0 : this.recordSize(row);
  }

  /** The newest version, durable or not; undefined when the key does not exist. */
  newest(key: string): Row | undefined {
    const row = this.index.get(key);
    return row === undefined || this.versions.isTombstone(row) ? undefined : row;
  }

  /** Revision of the last change of `key`, durable or not; 0: no change is known. */
  newestRevision(key: string): number {
    const row = this.index.get(key);
    return row === undefined ? 0 : this.versions.revision(row);
  }

  get(key: Key, at: number | undefined): GetResult {
    const refused = this.#refuse(at);
    if (refused !== undefined) return refused;
    const newest = this.index.get(key);
    if (newest === undefined) return { kind: "missing" };
    const row = this.visible(newest, at ?? this.commitRevision);
    return row === noRow ? { kind: "missing" } : { kind: "found", kv: this.keyValue(row) };
  }

  range(request: RangeRequest): RangeResult {
    const refused = this.#refuse(request.at);
    if (refused !== undefined) return refused;
    return this.rangeAt(request, request.at ?? this.commitRevision);
  }

  /** The range as of `at`, durable or not; the caller knows that `at` is not compacted. */
  rangeAt(request: RangeRequest, at: number): Extract<RangeResult, { readonly kind: "ok" }> {
    const limit = request.limit ?? Number.POSITIVE_INFINITY;
    const kvs: KeyValue[] = [];
    let count = 0;
    this.index.scan(request.start, request.end, (_key, newest) => {
      const row = this.visible(newest, at);
      if (row === noRow) return;
      if (count < limit) kvs.push(this.keyValue(row));
      count++;
    });
    return { kind: "ok", kvs, count, more: count > kvs.length, revision: at as Revision };
  }

  /**
   * Reads the range as `rangeAt` does, and passes each key up to the limit to `visit`, until `visit` returns false;
   * `count` then covers the keys seen. The same view object is passed each time, so a list allocates none per key.
   */
  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused {
    const refused = this.#refuse(request.at);
    if (refused !== undefined) return refused;
    const { at = this.commitRevision, limit = Number.POSITIVE_INFINITY } = request;
    let count = 0;
    this.index.scan(request.start, request.end, (_key, newest) => {
      const row = this.visible(newest, at);
      if (row === noRow) return true;
      return ++count > limit || visit(this.#show(row)) !== false;
    });
    return { kind: "ok", count };
  }

  #show(row: Row): VersionView {
    const view = this.#view;
    view.bytes = this.slabs.get(this.versions.show(row, view)).bytes;
    view.valueStart = view.offset + headerBytes + view.key.length;
    return view;
  }

  keyValue(row: Row): KeyValue {
    const versions = this.versions;
    const key = versions.key(row) as Key;
    const start = versions.offset(row) + headerBytes + key.length;
    const bytes = this.slabs.get(versions.slab(row)).bytes;
    return {
      key,
      value: bytes.subarray(start, start + versions.valueLength(row)),
      createRevision: versions.createRevision(row) as Revision,
      modRevision: versions.revision(row) as Revision,
      version: versions.version(row),
      lease: versions.lease(row),
    };
  }

  /** Size of a put's record, including its header. */
  recordSize(row: Row): number {
    return recordSize(this.versions.key(row).length, this.versions.valueLength(row));
  }

  /** The whole record of a put in its slab. Shared and immutable. */
  record(row: Row): Uint8Array {
    const offset = this.versions.offset(row);
    const { bytes } = this.slabs.get(this.versions.slab(row));
    return bytes.subarray(offset, offset + this.recordSize(row));
  }

  /**
   * Returns the change that made `row`; the caller knows that its revision is not below compactRevision. At
   * compactRevision itself the state before is gone: a put has no `previous`, a delete one of version 0.
   */
  event(row: Row): StoreEvent {
    const before = this.versions.previous(row);
    const held = before !== noRow && !this.versions.isTombstone(before);
    const previous = held ? this.keyValue(before) : undefined;
    const key = this.versions.key(row) as Key;
    if (!this.versions.isTombstone(row)) {
      return { kind: "put", key, kv: this.keyValue(row), previous };
    }
    const revision = this.versions.revision(row);
    const known = previous !== undefined || revision <= this.pruning.revision;
    assert(known, "a delete of nothing", { key });
    return { kind: "delete", key, previous: previous ?? forgotten(key) };
  }

  /** Frees a row that nothing refers to. */
  drop(row: Row): void {
    const versions = this.versions;
    if (versions.isTombstone(row)) this.#bytes -= tombstoneBytes;
    else {
      const size = recordSize(versions.key(row).length, versions.valueLength(row));
      this.slabs.release(versions.slab(row), size);
      this.#bytes -= size;
    }
    versions.remove(row);
  }

  /** The row visible at `at`, searched backwards from `newest`; `noRow`: there is none. */
  visible(newest: Row, at: number): Row {
    const versions = this.versions;
    let row = newest;
    while (row !== noRow && versions.revision(row) > at) row = versions.previous(row);
    return row === noRow || versions.isTombstone(row) ? noRow : row;
  }

  #refuse(at: number | undefined): Refused | undefined {
    if (at === undefined) return undefined;
    if (at < this.compactRevision) {
      return { kind: "compacted", compactRevision: this.compactRevision as Revision };
    }
    if (at > this.commitRevision) {
      return { kind: "future", commitRevision: this.commitRevision as Revision };
    }
    return undefined;
  }
}

/** The previous value of a delete, if that version has been compacted. */
function forgotten(key: Key): KeyValue {
  const revision = 0 as Revision;
  const numbers = { createRevision: revision, modRevision: revision, version: 0 };
  return { key, value: noBytes, ...numbers, lease: 0n as LeaseId };
}
