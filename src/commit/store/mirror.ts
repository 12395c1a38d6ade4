/**
 * A copy of part of another store, at that store's revisions. Reads and watches work as on a store of its own;
 * the follower of the other store feeds it.
 *
 * Holds  after `apply(r)` or `advance(r)` every read and watch sees all changes up to r, whole revisions only.
 *        Revisions rise but need not be dense: others change keys that are not copied.
 * Bounds memory is the copied keys and their history since the last `compact`; old history is removed in
 *        slices (maintenance.ts).
 */
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { addCopiedPut } from "./copied-put.ts";
import type { StoreStats } from "./full-store.ts";
import { Leases } from "./leases.ts";
import { Maintenance } from "./maintenance.ts";
import { Mvcc } from "./mvcc.ts";
import { Slabs } from "./slabs.ts";
import type {
  CommitSink,
  GetResult,
  Key,
  KeyValue,
  RangeRequest,
  RangeResult,
  Revision,
  StoreWatch,
} from "./store.ts";
import { stateStats } from "./state-stats.ts";
import { noRow, type Row } from "./versions.ts";
import { Watches } from "./watches.ts";

/** A change as the followed store tells it; `kv` undefined: the key is gone. */
export interface MirroredChange {
  readonly key: Key;
  readonly kv: Omit<KeyValue, "key" | "modRevision"> | undefined;
}

interface MirrorOptions {
  readonly slabBytes: number;
  readonly watchBatchCommitsMax: number;
}

/** A longer leap of revisions is not filled in: load anew. Four bytes a revision. */
export const leapMax = 2 ** 20;

const neverCheckpoints = {
  wantsCheckpoint: () => false,
  checkpoint: () => Promise.resolve(),
};

export class Mirror {
  readonly #mvcc: Mvcc;
  readonly #watches: Watches;
  readonly #maintenance: Maintenance;

  constructor(deps: { readonly clock: Clock; readonly log: Log }, options: MirrorOptions) {
    const mvcc = new Mvcc(new Slabs(options.slabBytes), 0);
    this.#mvcc = mvcc;
    this.#watches = new Watches(
      { ...deps, mvcc },
      { batchCommitsMax: options.watchBatchCommitsMax },
    );
    const leases = new Leases(deps.clock);
    const settled = (): Promise<void> => Promise.resolve();
    this.#maintenance = new Maintenance({
      ...deps,
      mvcc,
      leases,
      settled,
      engine: neverCheckpoints,
    });
  }

  get commitRevision(): Revision {
    return this.#mvcc.commitRevision as Revision;
  }

  get compactRevision(): Revision {
    return this.#mvcc.compactRevision as Revision;
  }

  /** Forgets all and begins with this state; watches that stand before it end as compacted. */
  load(revision: number, kvs: Iterable<KeyValue>): void {
    assert(revision > this.#mvcc.commitRevision, "a state that is older than what is known");
    this.#mvcc.rebase(revision);
    for (const kv of kvs) addCopiedPut(this.#mvcc, kv.key, kv.modRevision, kv);
    this.#watches.rebased();
  }

  /** All changes of one revision. */
  apply(revision: number, changes: readonly MirroredChange[]): void {
    this.#skipTo(revision - 1);
    const rows = changes
      .map((change) => this.#change(revision, change))
      .filter((row) => row !== noRow);
    if (rows.length > 0) this.#mvcc.log.append(revision, rows);
    this.#publish(revision);
    if (rows.length === 0) this.#watches.tellProgress();
  }

  /** Nothing was changed up to and with `revision`. */
  advance(revision: number): void {
    if (revision <= this.commitRevision) return;
    this.#publish(revision);
    this.#watches.tellProgress();
  }

  get(key: Key, at?: Revision): GetResult {
    return this.#mvcc.get(key, at);
  }

  range(request: RangeRequest): RangeResult {
    return this.#mvcc.range(request);
  }

  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#watches.watch(range, after, sink);
  }

  /** History below `revision` is forgotten; one that is not known yet, or was forgotten, changes nothing. */
  compact(revision: number): void {
    if (revision <= this.compactRevision || revision > this.commitRevision) return;
    this.#mvcc.compact(revision);
    this.#watches.compacted();
    this.#maintenance.wake();
  }

  async close(): Promise<void> {
    this.#watches.closeAll();
    await this.#maintenance.close();
  }

  stats(): Omit<StoreStats, "commits" | "engine"> {
    return { ...stateStats(this.#mvcc), leases: 0, watches: this.#watches.stats() };
  }

  #publish(revision: number): void {
    this.#skipTo(revision);
    this.#mvcc.commit(revision);
    this.#watches.publish(revision);
  }

  #skipTo(revision: number): void {
    assert(revision - this.#mvcc.headRevision <= leapMax, "a leap that is too long to fill in");
    this.#mvcc.log.skipTo(revision);
  }

  /** `noRow`: a deletion of what was not there, as when a key came and went within one transaction. */
  #change(revision: number, { key, kv }: MirroredChange): Row {
    if (kv !== undefined) return addCopiedPut(this.#mvcc, key, revision, kv);
    return this.#mvcc.newest(key) === undefined ? noRow : this.#mvcc.addDelete(key, revision);
  }
}
