/**
 * The store over any engine: it turns calls into commands to the committer or reads of the state, and publishes
 * what is durable.
 *
 * Reads and watches take no turn: they see the state at the commit revision. When a batch is durable, the order is:
 * commit revision, watchers, effects (here, `#publish`), then writers (`commit.ts`).
 */
import { given } from "#base/given.ts";
import type { ObserveCommit } from "./commit.ts";
import { must, unreachable } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { TurnRest } from "#platform/turn-rest.ts";
import type { Effect, Stopped } from "./command.ts";
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
import { stateStats } from "./state-stats.ts";
import { storedVersions } from "./stored-versions.ts";
import type { StoredVersion } from "./stored-versions.ts";
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

interface EmbeddedDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly engine: Engine;
  /** Recovered, with `commitRevision` at the head. */
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly requests?: TurnRest;
  /** Of a replica that took the log over: watches and snapshots go on. */
  readonly followed?: { readonly watches: Watches; readonly maintenance: Maintenance };
}

export class EmbeddedStore implements FullStore {
  readonly failed: Promise<Error>;
  readonly #deps: EmbeddedDeps;
  readonly #options: StoreOptions;
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  readonly #committer: Committer;
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
    this.#watches =
      deps.followed?.watches ??
      new Watches(deps, { batchCommitsMax: options.watchBatchCommitsMax });
    const sequencer = new Sequencer(deps, { ...options, epoch });
    this.#committer = new Committer(
      {
        engine: deps.engine,
        clock: deps.clock,
        log: deps.log,
        requests: deps.requests,
        sequence: (batch, command) => sequencer.sequence(batch, command),
        publish: (revision, effects) => this.#publish(revision, effects),
        onFailed: (error) => this.#onFailed(error, failed.resolve),
      },
      { ...options, epoch, headRevision: deps.mvcc.headRevision },
    );
    this.#maintenance =
      deps.followed?.maintenance ?? new Maintenance({ ...deps, settled: () => this.settled() });
    void deps.engine.deposed?.then((error) => {
      if (this.#committer.stopped !== undefined) return;
      this.#committer.stop(error);
      this.#onFailed(error, failed.resolve);
    });
  }

  /** Makes the epoch durable, then starts lease time. Once, before anything else. */
  async start(): Promise<void> {
    this.#unlessStopped(await this.#committer.submit({ kind: "epoch" }));
    this.#leases.start((id) => this.#committer.post({ kind: "end-lease", id }));
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
      const { guard, lease = noLease } = options;
      return this.#committer.submit({ kind: "put", key, value, guard, lease });
    });
  }

  delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult> {
    if (this.#closing) return Promise.resolve(stopped(closedError()));
    return this.#committer.submit({ kind: "delete", key, guard: options.guard });
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
    this.#refuseClosed();
    this.#unlessStopped(await this.#committer.submit({ kind: "compact", revision }));
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
    this.#refuseClosed();
    const ttlMs = Math.ceil(ttlSeconds * 1000);
    const answer = await this.#committer.submit({ kind: "grant-lease", id, ttlMs });
    return !this.#unlessStopped(answer).isThere;
  }

  async revokeLease(id: LeaseId): Promise<boolean> {
    this.#refuseClosed();
    return this.#unlessStopped(await this.#committer.submit({ kind: "end-lease", id })).isThere;
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

  async settled(): Promise<void> {
    this.#unlessStopped(await this.#committer.submit({ kind: "barrier" }));
  }

  versions(revision: number): readonly StoredVersion[] {
    return storedVersions(this.#mvcc, Math.min(revision, this.#mvcc.commitRevision));
  }

  snapshot(): StoreSnapshot {
    return openSnapshot({ ...this.#deps, pins: this.#maintenance });
  }

  async transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused> {
    const result = await this.#inRoom((room) =>
      this.#committer.submit({ kind: "transact", run, noSpace: noSpace(room) }),
    );
    if (result.kind === "threw") throw result.error;
    return result;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#leases.stop();
    await this.#committer.submit({ kind: "barrier" });
    this.#watches.closeAll();
    await this.#maintenance.close();
    this.#committer.stop(closedError());
    await this.#deps.engine.close();
  }

  /** None: it answers until it has failed. */
  problem(): undefined {
    return undefined;
  }

  observeCommits(observe: ObserveCommit): void {
    this.#committer.observe(observe);
  }

  stats(): StoreStats {
    const { mvcc, leases, engine } = this.#deps;
    const { stateQuota } = this.#options;
    return {
      ...stateStats(mvcc),
      leases: leases.size,
      commits: this.#committer.stats(),
      watches: this.#watches.stats(),
      engine: engine.stats(),
      ...given({ stateQuota }),
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

  #refuseClosed(): void {
    if (this.#closing) throw new StoreStoppedError(closedError());
  }

  #unlessStopped<Result extends { readonly kind: string }>(
    answer: Result | Stopped,
  ): Exclude<Result, Stopped> {
    if (answer.kind !== "stopped") return answer as Exclude<Result, Stopped>;
    throw new StoreStoppedError(must(this.#committer.stopped, "stopped for no reason"));
  }

  #publish(revision: number, effects: readonly Effect[]): void {
    this.#mvcc.commit(revision);
    this.#watches.publish(revision);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case "lease-granted":
        return this.#leases.startTime(effect.id);
      case "lease-ended":
        return this.#leases.ended(effect.lease);
      case "compacted":
        return this.#compacted(effect.revision);
      default:
        return unreachable(effect);
    }
  }

  #compacted(revision: number): void {
    // Two compactions may be on their way at once, in either order.
    if (revision <= this.#mvcc.compactRevision) return;
    this.#mvcc.compact(revision);
    this.#watches.compacted();
    this.#maintenance.wake();
  }

  #onFailed(error: Error, resolve: (error: Error) => void): void {
    this.#leases.stop();
    resolve(error);
  }
}

const noLease = 0n as LeaseId;

function closedError(): Error {
  return new Error("the store is closed");
}
