/**
 * The store over any engine: wires sequencer, committer, watches, leases and compaction together.
 *
 * All state is in Mvcc; this class only decides in which order the parts hear of things. The order
 * when a batch is durable: commit revision, then watchers, then writers.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { Committer } from "./commit.ts";
import type { Engine, Room } from "./engines/engine.ts";
import { StoreStoppedError } from "./full-store.ts";
import type { FullStore, StoreSnapshot, StoreStats } from "./full-store.ts";
import type { LeaseInfo, Leases } from "./leases.ts";
import { Maintenance } from "./maintenance.ts";
import type { Mvcc } from "./mvcc.ts";
import type { StoreOptions } from "./options.ts";
import { noSpace, stopped, tooLarge } from "./refusals.ts";
import { Sequencer } from "./sequencer.ts";
import { openSnapshot } from "./snapshot.ts";
import { storedVersions } from "./stored-versions.ts";
import type { StoredVersion } from "./stored-versions.ts";
import { inTurn, submitWrite, whenDurable } from "./submissions.ts";
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
  VersionView,
  WriteRefused,
} from "./store.ts";
import type { Transaction } from "./transaction.ts";
import { Watches } from "./watches.ts";

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
      refusePut: (key, value) => tooLarge(key, value, options.valueBytesMax),
    });
    this.#maintenance = new Maintenance({
      ...deps,
      settled: () => whenDurable(this.#committer),
    });
  }

  /** Makes the epoch durable, then starts lease time. Once, before anything else. */
  async start(): Promise<void> {
    this.#sequencer.markEpoch();
    await whenDurable(this.#committer);
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
      const refused = tooLarge(key, value, this.#options.valueBytesMax) ?? noSpace(room);
      if (refused !== undefined) return Promise.resolve(refused);
      const lease = options.lease ?? (0n as LeaseId);
      return submitWrite(this.#committer, () =>
        this.#sequencer.put(key, value, options.guard, lease),
      );
    });
  }

  delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult> {
    if (this.#closing) return Promise.resolve(stopped(closedError()));
    return submitWrite(this.#committer, () => this.#sequencer.delete(key, options.guard));
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
    await whenDurable(this.#committer, () => this.#compacted(revision));
    return { kind: "ok" };
  }

  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    const id = this.#leases.unusedId(this.#deps.random) as LeaseId;
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
    await whenDurable(this.#committer, () => {
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
    await whenDurable(this.#committer);
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
    return whenDurable(this.#committer);
  }

  versions(revision: number): readonly StoredVersion[] {
    return storedVersions(this.#mvcc, Math.min(revision, this.#mvcc.commitRevision));
  }

  snapshot(): StoreSnapshot {
    return openSnapshot({ ...this.#deps, pins: this.#maintenance });
  }

  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused> {
    return this.#inRoom((room) =>
      submitWrite(this.#committer, () => this.#sequencer.transact(run, noSpace(room))),
    );
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
      historyBytes: mvcc.bytes - mvcc.stateBytes,
      slabHeldBytes: mvcc.slabs.heldBytes,
      slabLiveBytes: mvcc.slabs.liveBytes,
      commits: this.#committer.stats(),
      watches: this.#watches.stats(),
      engine: engine.stats(),
    };
  }

  /** While there is room, no write waits for the disk. A refusal needs a check that began after the write came. */
  #inRoom<Result>(
    write: (room: Room) => Promise<Result | WriteRefused>,
  ): Promise<Result | WriteRefused> {
    const { engine } = this.#deps;
    const refused = (): Promise<WriteRefused> => Promise.resolve(stopped(closedError()));
    if (this.#closing) return refused();
    const { room } = engine;
    if (room.kind === "ok") return write(room);
    return engine.lookForRoom().then((seen) => (this.#closing ? refused() : write(seen)));
  }

  #admitted(sequence: () => void): Promise<void> {
    if (this.#closing) return Promise.reject(new StoreStoppedError(closedError()));
    return inTurn(this.#committer, sequence);
  }

  #publish(revision: number): void {
    this.#mvcc.commit(revision);
    this.#watches.publish(revision);
  }

  #onFailed(error: Error, resolve: (error: Error) => void): void {
    this.#leases.stop();
    resolve(error);
  }

  #expireLease(id: bigint): void {
    this.#committer.submit({ sequence: () => this.#sequencer.endLease(id), stopped: () => {} });
  }

  #compacted(revision: number): void {
    // Two compactions may be in one batch, in either order.
    if (revision <= this.#mvcc.compactRevision) return;
    this.#mvcc.compact(revision);
    this.#watches.compacted();
    this.#maintenance.wake();
  }
}

function closedError(): Error {
  return new Error("the store is closed");
}
