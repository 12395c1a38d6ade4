/**
 * The store of a process, read in another thread than the one that writes it: reads and watches are of this thread's
 * own index over the shared records; writes go to the writer.
 *
 * Holds  what this thread shows at a revision is what the writer's store shows at it, and watches get the same commits.
 *        `latest` resolves when everything shows here that was durable when it was called. A durable batch is in the
 *        port before any write of it is answered, so this thread takes it from there and waits for no turn of the loop.
 *        A write resolves when its own revision shows here.
 * Fails  by `failed`: what comes in does not add up, which is a bug. The thread ends then, and another takes its place.
 * Cost   of a batch: an index entry, and a version's row, for each record; no copy of it.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { OpenedStore, StoreStats } from "#store/full-store.ts";
import { Leases } from "#store/leases.ts";
import { Maintenance } from "#store/maintenance.ts";
import { Mvcc } from "#store/mvcc.ts";
import { RecordReader } from "#store/record.ts";
import { Recovery } from "#store/recover.ts";
import { loadState, type SharedState } from "#store/shared-state.ts";
import { type Slab, Slabs } from "#store/slabs.ts";
import { stateStats } from "#store/state-stats.ts";
import type {
  CommitSink,
  DeleteResult,
  GetResult,
  Guard,
  Key,
  LeaseId,
  PutResult,
  RangeRequest,
  RangeResult,
  Refused,
  Revision,
  StoreWatch,
  WriteRefused,
} from "#store/store.ts";
import { noRow } from "#store/versions.ts";
import { Watches } from "#store/watches.ts";
import type { AnswerResult, DurableBatch, FromReader, ToReader } from "./messages.ts";
import { ForwardedWrites } from "./forwarded-writes.ts";
import type { Progress } from "./progress.ts";
import type { ThreadPort } from "./thread-port.ts";

interface ThreadStoreDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly port: ThreadPort<FromReader, ToReader>;
  readonly progress: Progress;
  /** Number of this reader. */
  readonly reader: number;
  /** Calls `f` at the end of this turn of the loop. */
  readonly atEndOfTurn: (f: () => void) => void;
}

interface ThreadStoreOptions {
  readonly slabBytes: number;
  readonly watchBatchCommitsMax: number;
}

/** Silence of the writer's loop, in milliseconds, after which the writer's thread is reported as stuck. */
const silentMsMax = 3_000;

const neverCheckpoints = {
  wantsCheckpoint: () => false,
  checkpoint: () => Promise.resolve(),
};

export class ThreadStore implements OpenedStore {
  readonly failed: Promise<Error>;
  readonly #deps: ThreadStoreDeps;
  readonly #mvcc: Mvcc;
  readonly #watches: Watches;
  readonly #maintenance: Maintenance;
  readonly #recovery: Recovery;
  readonly #leases: Leases;
  readonly #writes: ForwardedWrites;
  readonly #inbox: ToReader[] = [];
  readonly #fail: (error: Error) => void;
  /** The writer's newest slab that this thread has received. */
  #newest: { readonly serial: number; readonly slab: Slab } | undefined;
  #isTaking = false;
  #failure: Error | undefined;
  #writerBeat = { count: -1, seenMs: 0 };

  constructor(deps: ThreadStoreDeps, options: ThreadStoreOptions, shared: SharedState) {
    const failed = Promise.withResolvers<Error>();
    this.failed = failed.promise;
    this.#fail = failed.resolve;
    this.#deps = deps;
    const mvcc = new Mvcc(new Slabs(options.slabBytes), shared.base);
    this.#mvcc = mvcc;
    this.#leases = new Leases(deps.clock);
    this.#newest = loadState({ mvcc, leases: this.#leases }, shared);
    this.#recovery = new Recovery(mvcc, this.#leases);
    mvcc.index.endLoading();
    this.#watches = new Watches(
      { ...deps, mvcc },
      { batchCommitsMax: options.watchBatchCommitsMax },
    );
    this.#maintenance = new Maintenance({
      ...deps,
      mvcc,
      leases: this.#leases,
      settled: () => Promise.resolve(),
      engine: neverCheckpoints,
    });
    this.#writes = new ForwardedWrites(deps);
    deps.progress.setApplied(deps.reader, shared.head);
    deps.port.listen((message) => this.#take(message));
  }

  get commitRevision(): Revision {
    return this.#mvcc.commitRevision as Revision;
  }

  get compactRevision(): Revision {
    return this.#mvcc.compactRevision as Revision;
  }

  async latest(): Promise<Revision> {
    const { head } = this.#deps.progress;
    if (this.commitRevision < head) this.#takeAll();
    if (this.#failure !== undefined) throw this.#failure;
    // Called while a batch is being applied: the messages behind it in the port are taken right afterwards.
    if (this.commitRevision < head) await Promise.resolve();
    return this.commitRevision < head ? this.latest() : this.commitRevision;
  }

  problem(): string | undefined {
    const { clock, progress } = this.#deps;
    const nowMs = clock.monotonicMs();
    const count = progress.writerBeat;
    if (count !== this.#writerBeat.count) this.#writerBeat = { count, seenMs: nowMs };
    const silentMs = nowMs - this.#writerBeat.seenMs;
    if (silentMs < silentMsMax) return undefined;
    return `the thread that orders writes has stood for ${Math.round(silentMs / 1_000)} s`;
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

  async put(
    key: Key,
    value: Uint8Array,
    { guard, lease }: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult> {
    const result = await this.#writes.put(key, value, guard?.modRevision, lease);
    if (result.kind === "committed")
      return { kind: "committed", revision: result.revision as Revision, previous: undefined };
    return result.kind === "conflict" ? this.#conflict(key) : refusal(result);
  }

  async delete(key: Key, { guard }: { readonly guard?: Guard }): Promise<DeleteResult> {
    const result = await this.#writes.send({ kind: "delete", key, guard: guard?.modRevision });
    if (result.kind === "committed") return this.#deleted(key, result.revision);
    if (result.kind === "missing") return result;
    return result.kind === "conflict" ? this.#conflict(key) : refusal(result);
  }

  /** Compacts nothing: the history of this thread follows the writer's compactions. */
  async compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused> {
    const { commitRevision } = this;
    return revision > commitRevision ? { kind: "future", commitRevision } : { kind: "ok" };
  }

  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    const result = await this.#writes.send({ kind: "grant", ttlSeconds });
    if (result.kind === "granted") return result.lease;
    throw new Error(result.kind === "rejected" ? result.message : `no lease: ${result.kind}`);
  }

  stats(): StoreStats {
    return {
      ...stateStats(this.#mvcc),
      leases: this.#leases.size,
      commits: { batches: 0, records: 0, bytes: 0, waiting: this.#writes.count },
      watches: this.#watches.stats(),
      engine: { kind: "thread", storedBytes: 0, logBytes: 0, checkpointRevision: 0 },
    };
  }

  async close(): Promise<void> {
    this.#watches.closeAll();
    await this.#maintenance.close();
    this.#writes.stop("the store is closed");
    this.#deps.port.close();
  }

  // ---- messages from the writer

  #takeAll(): void {
    for (let next = this.#deps.port.take(); next !== undefined; next = this.#deps.port.take())
      this.#take(next);
  }

  /** Handles messages one after the other, even when applying a batch takes the next one from the port. */
  #take(message: ToReader): void {
    this.#inbox.push(message);
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift())
        this.#handle(next);
    } catch (error) {
      this.#stop(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isTaking = false;
    }
  }

  #handle(message: ToReader): void {
    if (this.#failure !== undefined) return;
    if (message.kind === "batch") this.#show(message);
    else for (const { id, result } of message.answers) this.#writes.answered(id, result);
  }

  #show({ slabs, extents, moves, head }: DurableBatch): void {
    const fresh = [...slabs];
    const slabOf = (serial: number): Slab => {
      while ((this.#newest?.serial ?? 0) < serial) {
        const next = fresh.shift();
        if (next === undefined) throw new Error(`records in slab ${serial}, which was not shared`);
        this.#attach(next.serial, next.bytes);
      }
      if (this.#newest?.serial !== serial) throw new Error(`records in slab ${serial} come late`);
      return this.#newest.slab;
    };
    let moved = 0;
    const moveUpTo = (serial: number): void => {
      for (; moved < moves.length && (moves[moved] ?? 0) <= serial; moved += 2)
        this.#move(slabOf(moves[moved] ?? 0), moves[moved + 1] ?? 0);
    };
    for (let at = 0; at < extents.length; at += 3) {
      const serial = extents[at] ?? 0;
      moveUpTo(serial - 1);
      const { bytes } = slabOf(serial);
      const source = { kind: "log", file: "shared memory", offset: extents[at + 1] ?? 0 } as const;
      this.#recovery.records(bytes.subarray(extents[at + 1], extents[at + 2]), source);
    }
    moveUpTo(Number.POSITIVE_INFINITY);
    this.#publish(head);
  }

  #publish(head: number): void {
    const mvcc = this.#mvcc;
    if (mvcc.headRevision !== head) throw new Error(`revision ${mvcc.headRevision}, not ${head}`);
    if (head > mvcc.commitRevision) {
      mvcc.commit(head);
      this.#watches.publish(head);
    }
    this.#deps.progress.setApplied(this.#deps.reader, head);
    const { compactRevision } = this.#recovery;
    if (compactRevision <= mvcc.compactRevision) return;
    mvcc.compact(compactRevision);
    this.#watches.compacted();
    this.#maintenance.wake();
  }

  #attach(serial: number, bytes: Uint8Array): void {
    const before = this.#newest;
    this.#newest = { serial, slab: this.#mvcc.slabs.attach(bytes) };
    if (before !== undefined) this.#mvcc.slabs.seal(before.slab);
  }

  /** Follows a copy of a record that the writer's cleaner made. Its version may have been forgotten here already. */
  #move(slab: Slab, offset: number): void {
    const { index, versions, slabs } = this.#mvcc;
    const reader = new RecordReader(slab.bytes);
    const revision = reader.revision(offset);
    const key = reader.key(offset);
    let row = index.get(key) ?? noRow;
    while (row !== noRow && versions.revision(row) > revision) row = versions.previous(row);
    if (row === noRow || versions.revision(row) !== revision || versions.isTombstone(row)) return;
    const size = reader.size(offset);
    const from = versions.slab(row);
    slabs.retain(slab, size);
    versions.move(row, slab.id, offset);
    slabs.release(from, size);
  }

  #stop(error: Error): void {
    this.#failure = error;
    this.#deps.log.error("a serving thread's state does not follow the store", {
      error: error.message,
    });
    this.#writes.stop(error.message);
    this.#fail(error);
  }

  // ---- answers

  #conflict(key: Key): PutResult & DeleteResult {
    const found = this.#mvcc.get(key, undefined);
    return { kind: "conflict", actual: found.kind === "found" ? found.kv : undefined };
  }

  #deleted(key: Key, at: number): DeleteResult {
    const before = this.#mvcc.get(key, (at - 1) as Revision);
    if (before.kind === "found")
      return { kind: "committed", revision: at as Revision, previous: before.kv };
    const message = "the key is deleted; what it held was compacted before the answer came";
    return { kind: "stopped", message };
  }
}

function refusal(result: Exclude<AnswerResult, { kind: "committed" | "conflict" }>): WriteRefused {
  switch (result.kind) {
    case "missing":
    case "granted":
      return { kind: "stopped", message: `an answer of another kind came: ${result.kind}` };
    case "rejected":
      return { kind: "stopped", message: result.message };
    default:
      return result;
  }
}
