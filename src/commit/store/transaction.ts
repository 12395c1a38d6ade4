/**
 * A transaction over many keys: reads see the newest sequenced state and the transaction's own
 * changes; all changes take effect in one revision, or none does.
 *
 * T1  The store does not change while the caller's function runs: changes are kept aside, so a
 *     transaction that is finally refused leaves no trace.
 * T2  A key may change more than once; each change is kept, in order, as a version of its own.
 * Cost   a range costs O(changes) more than without changes.
 */
import { assert } from "#base/assert.ts";
import type { Mvcc } from "./mvcc.ts";
import type {
  Key,
  KeyValue,
  LeaseId,
  RangeRequest,
  RangeResult,
  Refused,
  Revision,
} from "./store.ts";

/** The operations available to the function of a transaction. Valid only while it runs. */
export interface Transaction {
  /** The newest sequenced revision, plus one as soon as the transaction has changed something. */
  readonly revision: Revision;
  get(key: Key): KeyValue | undefined;
  range(request: RangeRequest): RangeResult;
  hasLease(id: LeaseId): boolean;
  /** `value` is borrowed until the transaction settles. */
  put(key: Key, value: Uint8Array, lease: LeaseId): void;
  /** Does nothing when the key does not exist. */
  delete(key: Key): void;
  /** Discards all changes so far; the transaction leaves no trace. */
  abandon(): void;
}

export type Change =
  | { readonly kind: "put"; readonly kv: KeyValue; readonly before: KeyValue | undefined }
  | { readonly kind: "delete"; readonly key: Key; readonly before: KeyValue };

export class Staging implements Transaction {
  readonly #mvcc: Mvcc;
  readonly #hasLease: (id: bigint) => boolean;
  readonly #head: number;
  readonly #changes: Change[] = [];
  #isFinished = false;
  /** Whether the transaction named a lease that does not exist. */
  missedLease = false;
  /** Current values of the changed keys. */
  readonly #changed = new Map<Key, KeyValue | undefined>();

  constructor(mvcc: Mvcc, hasLease: (id: bigint) => boolean) {
    this.#mvcc = mvcc;
    this.#hasLease = hasLease;
    this.#head = mvcc.headRevision;
  }

  get revision(): Revision {
    return (this.#changes.length === 0 ? this.#head : this.#head + 1) as Revision;
  }

  /** Called when the function has returned. @returns its changes, in order. */
  finish(): readonly Change[] {
    assert(this.#mvcc.headRevision === this.#head, "the store changed while a transaction ran");
    this.#isFinished = true;
    return this.#changes;
  }

  get(key: Key): KeyValue | undefined {
    if (this.#changed.has(key)) return this.#changed.get(key);
    const row = this.#mvcc.newest(key);
    return row === undefined ? undefined : this.#mvcc.keyValue(row);
  }

  range(request: RangeRequest): RangeResult {
    const refused = this.#refuse(request.at);
    if (refused !== undefined) return refused;
    const { revision } = this;
    if (request.at !== undefined && request.at < revision) {
      return { ...this.#mvcc.rangeAt(request, request.at), revision: request.at };
    }
    if (this.#changes.length === 0) return this.#mvcc.rangeAt(request, this.#head);
    return this.#rangeChanged(request);
  }

  hasLease(id: LeaseId): boolean {
    const there = this.#hasLease(id);
    if (!there) this.missedLease = true;
    return there;
  }

  put(key: Key, value: Uint8Array, lease: LeaseId): void {
    assert(!this.#isFinished, "a transaction is used after its function has returned");
    const before = this.get(key);
    const revision = (this.#head + 1) as Revision;
    const kv: KeyValue = {
      key,
      value,
      createRevision: before?.createRevision ?? revision,
      modRevision: revision,
      version: (before?.version ?? 0) + 1,
      lease,
    };
    this.#changes.push({ kind: "put", kv, before });
    this.#changed.set(key, kv);
  }

  delete(key: Key): void {
    assert(!this.#isFinished, "a transaction is used after its function has returned");
    const before = this.get(key);
    if (before === undefined) return;
    this.#changes.push({ kind: "delete", key, before });
    this.#changed.set(key, undefined);
  }

  abandon(): void {
    this.#changes.length = 0;
    this.#changed.clear();
  }

  #rangeChanged(request: RangeRequest): RangeResult {
    const all = this.#mvcc.rangeAt({ start: request.start, end: request.end }, this.#head);
    const kvs = all.kvs.filter((kv) => !this.#changed.has(kv.key));
    for (const kv of this.#changed.values()) {
      if (kv !== undefined && kv.key >= request.start && kv.key < request.end) kvs.push(kv);
    }
    kvs.sort((a, b) => (a.key < b.key ? -1 : 1));
    const kept = kvs.slice(0, request.limit ?? kvs.length);
    const more = kept.length < kvs.length;
    return { kind: "ok", kvs: kept, count: kvs.length, more, revision: this.revision };
  }

  #refuse(at: number | undefined): Refused | undefined {
    if (at === undefined) return undefined;
    const { compactRevision } = this.#mvcc;
    if (at < compactRevision) {
      return { kind: "compacted", compactRevision: compactRevision as Revision };
    }
    return at > this.revision ? { kind: "future", commitRevision: this.revision } : undefined;
  }
}
