/**
 * The store over any engine: wires sequencer, committer, watches, leases and compaction together.
 *
 * All state is in Mvcc; this class only decides in which order the parts hear of things. The order
 * when a batch is durable: commit revision, then watchers, then writers.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Settlement } from "./batch.ts";
import { stateSource } from "./checkpoint.ts";
import { Committer } from "./commit.ts";
import type { CommitStats, Submission } from "./commit.ts";
import type { Engine, EngineStats, Room } from "./engines/engine.ts";
import type { LeaseInfo, Leases } from "./leases.ts";
import { encodeFileHeader } from "./engines/local-files.ts";
import { Maintenance } from "./maintenance.ts";
import type { Mvcc, StoredVersion } from "./mvcc.ts";
import type { StoreOptions } from "./options.ts";
import { keyBytesLimit } from "./record.ts";
import { Sequencer } from "./sequencer.ts";
import type { Decided } from "./sequencer.ts";
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
  Store,
  StoreWatch,
  VersionView,
  WriteRefused,
} from "./store.ts";
import type { Transaction } from "./transaction.ts";
import { Watches } from "./watches.ts";
import type { WatchStats } from "./watches.ts";

/** A call that has no refusal of its own (lease, compaction) rejects with this once stopped. */
export class StoreStoppedError extends Error {
  constructor(cause: Error) {
    super(`the store has stopped: ${cause.message}`, { cause });
    this.name = "StoreStoppedError";
  }
}

export interface StoreStats {
  readonly keys: number;
  readonly versions: number;
  readonly leases: number;
  /** What the quota counts. */
  readonly bytes: number;
  readonly slabHeldBytes: number;
  readonly slabLiveBytes: number;
  readonly commits: CommitStats;
  readonly watches: WatchStats;
  readonly engine: EngineStats;
}

/** A Store with what `cmd` needs besides. */
export interface OpenedStore extends Store {
  /** Resolves, never rejects, when a world failure stopped the store: end the process. */
  readonly failed: Promise<Error>;
  stats(): StoreStats;
}

export type { StoredVersion };

/** The state at one revision as the bytes of a checkpoint file, chunk by chunk. */
export interface StoreSnapshot {
  readonly revision: number;
  /** About how many bytes it will be. */
  readonly bytes: number;
  /** Borrowed until the next call; undefined: that was all. */
  next(): Uint8Array | undefined;
  /** Lets compaction go on. Call it in any case. */
  close(): void;
}

/** An OpenedStore with what only the etcd API asks for: many keys at once, leases in full. */
export interface FullStore extends OpenedStore {
  /** Runs once, synchronously, in its turn among the writes; resolves when what it saw is durable. */
  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused>;
  /** As `range`, key by key: `visit` sees those up to the limit, until it returns false. */
  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused;
  /** As `watch` after the revision before `start`, which may be the compacted revision itself. */
  watchFrom(
    range: { readonly start: Key; readonly end: Key },
    start: Revision,
    sink: CommitSink,
  ): StoreWatch;
  /** @returns false when a lease of this id is there. Rejects as `grantLease` does. */
  grantLeaseAs(id: LeaseId, ttlSeconds: number): Promise<boolean>;
  /** Ends it and deletes its keys in one revision. @returns false when there is none. */
  revokeLease(id: LeaseId): Promise<boolean>;
  /** Its time starts anew. @returns false when there is no such lease. */
  renewLease(id: LeaseId): boolean;
  lease(id: LeaseId): LeaseInfo | undefined;
  /** Attached keys, sorted. Of leases all is as sequenced: tell it only once `settled` resolves. */
  leaseKeys(id: LeaseId): readonly Key[];
  leases(): readonly LeaseInfo[];
  /** Resolves once all that was sequenced so far is durable; rejects when that cannot be. */
  settled(): Promise<void>;
  /** Every version held up to `revision`, in order. O(versions); for checks. */
  versions(revision: number): readonly StoredVersion[];
  /** The state as of now. What it needs is kept from compaction until it is closed. */
  snapshot(): StoreSnapshot;
}

export interface EmbeddedDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly engine: Engine;
  /** Recovered, with `commitRevision` at the head. */
  readonly mvcc: Mvcc;
  readonly leases: Leases;
}

export class EmbeddedStore implements FullStore {
  readonly failed: Promise<Error>;
  readonly #deps: EmbeddedDeps;
  readonly #options: StoreOptions;
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  readonly #committer: Committer;
  readonly #sequencer: Sequencer;
  readonly #watches: Watches;
  readonly #maintenance: Maintenance;
  #closing = false;

  constructor(deps: EmbeddedDeps, options: StoreOptions, epoch: number) {
    this.#deps = deps;
    this.#options = options;
    this.#mvcc = deps.mvcc;
    this.#leases = deps.leases;
    const failed = Promise.withResolvers<Error>();
    this.failed = failed.promise;
    this.#watches = new Watches(deps, { batchCommitsMax: options.watchBatchCommitsMax });
    this.#committer = new Committer(deps, {
      epoch,
      batchBytesMax: options.batchBytesMax,
      batchItemsMax: options.batchItemsMax,
      headRevision: deps.mvcc.headRevision,
      publish: (revision) => this.#publish(revision),
      onFailed: (error) => this.#onFailed(error, failed.resolve),
    });
    const parts = { mvcc: this.#mvcc, leases: this.#leases, committer: this.#committer };
    this.#sequencer = new Sequencer(parts, {
      epoch,
      quotaBytes: options.quotaBytes,
      refusePut: (key, value) => this.#refusePut(key, value),
    });
    this.#maintenance = new Maintenance({
      ...deps,
      settled: () => this.#settled(() => undefined),
    });
  }

  /** Makes the epoch durable, then starts lease time. Once, before anything else. */
  async start(): Promise<void> {
    this.#sequencer.markEpoch();
    await this.#settled(() => undefined);
    this.#leases.start((id) => this.#expireLease(id));
    this.#maintenance.wake();
  }

  get commitRevision(): Revision {
    return this.#mvcc.commitRevision as Revision;
  }

  get compactRevision(): Revision {
    return this.#mvcc.compactRevision as Revision;
  }

  get(key: Key, at?: Revision): GetResult {
    return this.#mvcc.get(key, at);
  }

  range(request: RangeRequest): RangeResult {
    return this.#mvcc.range(request);
  }

  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused {
    return this.#mvcc.scan(request, visit);
  }

  put(
    key: Key,
    value: Uint8Array,
    options: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult> {
    return this.#inRoom((room) => {
      const refused = this.#refusePut(key, value) ?? noSpace(room);
      if (refused !== undefined) return Promise.resolve(refused);
      const lease = options.lease ?? (0n as LeaseId);
      return this.#write(() => this.#sequencer.put(key, value, options.guard, lease));
    });
  }

  delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult> {
    if (this.#closing) return Promise.resolve(stoppedResult(closedError()));
    return this.#write(() => this.#sequencer.delete(key, options.guard));
  }

  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#watches.watch(range, after, sink);
  }

  watchFrom(
    range: { readonly start: Key; readonly end: Key },
    start: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#watches.watch(range, start - 1, sink, "from compacted");
  }

  async compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused> {
    if (revision > this.commitRevision) {
      return { kind: "future", commitRevision: this.commitRevision };
    }
    if (revision <= this.compactRevision) {
      return { kind: "compacted", compactRevision: this.compactRevision };
    }
    await this.#admitted(() => this.#sequencer.compact(revision));
    await this.#settled(() => this.#compacted(revision));
    return { kind: "ok" };
  }

  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    const id = this.#newLeaseId();
    await this.grantLeaseAs(id, ttlSeconds);
    return id;
  }

  async grantLeaseAs(id: LeaseId, ttlSeconds: number): Promise<boolean> {
    if (this.#leases.size >= this.#options.leasesMax) {
      throw new Error(
        `too many leases: ${this.#leases.size} alive, at most ${this.#options.leasesMax}`,
      );
    }
    let granted = false;
    await this.#admitted(() => {
      granted = !this.#leases.has(id);
      if (granted) this.#sequencer.grantLease(id, Math.ceil(ttlSeconds * 1000));
    });
    await this.#settled(() => {
      if (granted) this.#leases.startTime(id);
    });
    return granted;
  }

  async revokeLease(id: LeaseId): Promise<boolean> {
    let there = false;
    await this.#admitted(() => {
      there = this.#leases.has(id);
      this.#sequencer.endLease(id);
    });
    await this.#settled(() => undefined);
    return there;
  }

  renewLease(id: LeaseId): boolean {
    return this.#leases.renew(id);
  }

  lease(id: LeaseId): LeaseInfo | undefined {
    return this.#leases.info(id);
  }

  leaseKeys(id: LeaseId): readonly Key[] {
    return this.#leases.keys(id) as readonly Key[];
  }

  leases(): readonly LeaseInfo[] {
    return [...this.#leases.all()].map(({ id }) => this.#leases.info(id) as LeaseInfo);
  }

  settled(): Promise<void> {
    return this.#settled(() => undefined);
  }

  versions(revision: number): readonly StoredVersion[] {
    return this.#mvcc.allVersions(Math.min(revision, this.#mvcc.commitRevision));
  }

  snapshot(): StoreSnapshot {
    const { mvcc, random } = this.#deps;
    const revision = mvcc.commitRevision;
    const pin = this.#maintenance.pin(revision);
    const source = stateSource({ mvcc, leases: this.#leases, revision });
    const fields = { storeId: random.uuid(), number: revision, revision, previousEnd: 0, epoch: 0 };
    let header: Uint8Array | undefined = encodeFileHeader({ kind: "checkpoint", ...fields });
    return {
      revision,
      bytes: mvcc.bytes,
      next: () => {
        const chunk = header ?? source.next();
        header = undefined;
        return chunk;
      },
      close: () => this.#maintenance.unpin(pin),
    };
  }

  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused> {
    return this.#inRoom((room) => this.#write(() => this.#sequencer.transact(run, noSpace(room))));
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#leases.stop();
    await this.#committer.drain();
    this.#watches.closeAll();
    await this.#maintenance.close();
    this.#committer.stop(closedError());
    await this.#deps.engine.close();
  }

  stats(): StoreStats {
    const { mvcc, leases, engine } = this.#deps;
    return {
      keys: mvcc.index.size,
      versions: mvcc.versions.size,
      leases: leases.size,
      bytes: mvcc.bytes,
      slabHeldBytes: mvcc.slabs.heldBytes,
      slabLiveBytes: mvcc.slabs.liveBytes,
      commits: this.#committer.stats(),
      watches: this.#watches.stats(),
      engine: engine.stats(),
    };
  }

  #refusePut(key: Key, value: Uint8Array): WriteRefused | undefined {
    const max = this.#options.valueBytesMax;
    if (value.length > max) {
      const message = `value of ${value.length} bytes is over the limit of ${max}`;
      return { kind: "too-large", message };
    }
    if (key.length > keyBytesLimit) {
      const message = `key of ${key.length} bytes is over the limit of ${keyBytesLimit}`;
      return { kind: "too-large", message };
    }
    return undefined;
  }

  /** Nobody is refused by an older look at the disk than its own; while there is room, none waits for it. */
  #inRoom<Result>(
    write: (room: Room) => Promise<Result | WriteRefused>,
  ): Promise<Result | WriteRefused> {
    const { engine } = this.#deps;
    const stopped = (): Promise<WriteRefused> => Promise.resolve(stoppedResult(closedError()));
    if (this.#closing) return stopped();
    const { room } = engine;
    if (room.kind === "ok") return write(room);
    return engine.lookForRoom().then((seen) => (this.#closing ? stopped() : write(seen)));
  }

  #write<Result>(decide: () => Decided<Result>): Promise<Result | WriteRefused> {
    return new Promise((resolve) => {
      this.#committer.submit(new Write(this.#committer, decide, resolve));
    });
  }

  /** Resolves, synchronously after `sequence` ran, in the next microtask. */
  #admitted(sequence: () => void): Promise<void> {
    if (this.#closing) return Promise.reject(new StoreStoppedError(closedError()));
    return new Promise((resolve, reject) => {
      this.#committer.submit({
        sequence: () => {
          sequence();
          resolve();
        },
        stopped: (error) => reject(new StoreStoppedError(error)),
      });
    });
  }

  #settled(durable: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#committer.settleAfterAll({
        durable: () => {
          durable();
          resolve();
        },
        stopped: (error) => reject(new StoreStoppedError(error)),
      });
    });
  }

  #publish(revision: number): void {
    this.#mvcc.commitRevision = revision;
    this.#watches.publish(revision);
  }

  #onFailed(error: Error, resolve: (error: Error) => void): void {
    this.#leases.stop();
    resolve(error);
  }

  #expireLease(id: bigint): void {
    this.#committer.submit({ sequence: () => this.#sequencer.endLease(id), stopped: () => {} });
  }

  /** Positive and below 2^63, so that every client's int64 shows it the same. */
  #newLeaseId(): LeaseId {
    for (;;) {
      const bytes = this.#deps.random.bytes(8);
      const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
      const id = view.getBigUint64(0) & 0x7fff_ffff_ffff_ffffn;
      if (id !== 0n && !this.#leases.has(id)) return id as LeaseId;
    }
  }

  #compacted(revision: number): void {
    // Two compactions may be in one batch, in either order.
    if (revision <= this.#mvcc.compactRevision) return;
    this.#mvcc.compactRevision = revision;
    this.#watches.compacted();
    this.#maintenance.wake();
  }
}

/** A put or delete on its way: one object, because there are a hundred thousand a second. */
class Write<Result> implements Submission, Settlement {
  readonly #committer: Committer;
  readonly #decide: () => Decided<Result>;
  readonly #resolve: (result: Result | WriteRefused) => void;
  #result: Result | undefined;

  constructor(
    committer: Committer,
    decide: () => Decided<Result>,
    resolve: (result: Result | WriteRefused) => void,
  ) {
    this.#committer = committer;
    this.#decide = decide;
    this.#resolve = resolve;
  }

  sequence(): void {
    const { result, after } = this.#decide();
    this.#result = result;
    if (after === "all") this.#committer.settleAfterAll(this);
    else this.#committer.settleAfter(after, this);
  }

  durable(): void {
    this.#resolve(this.#result as Result);
  }

  stopped(error: Error): void {
    this.#resolve(stoppedResult(error));
  }
}

function closedError(): Error {
  return new Error("the store is closed");
}

function stoppedResult(error: Error): WriteRefused {
  return { kind: "stopped", message: error.message };
}

function noSpace(room: Room): WriteRefused | undefined {
  return room.kind === "ok" ? undefined : room;
}
