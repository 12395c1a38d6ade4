/**
 * One of several processes over one log. It follows the log and serves reads and watches, until it takes the log over
 * and becomes the store. Watches continue through a takeover.
 *
 * Holds  `latest` resolves with a revision at or above that of every write that any process acknowledged before the
 *        call: a follower reads the log up to its end, the holder checks that it still holds the log.
 *        A follower refuses writes and questions about the time of leases: its caller sends them to the holder.
 */
import type { ObserveCommit } from "./commit.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { EmbeddedStore } from "./embedded.ts";
import {
  FencedError,
  LogSilentError,
  type LogHolder,
  type SharedEngine,
} from "./engines/engine.ts";
import { Followed } from "./followed.ts";
import {
  StoreStoppedError,
  type FullStore,
  type StoreSnapshot,
  type StoreStats,
} from "./full-store.ts";
import type { LeaseInfo } from "./leases.ts";
import type { StoreOptions } from "./options.ts";
import { stopped } from "./refusals.ts";
import { sharingNext } from "./sharing-next.ts";
import { openSnapshot } from "./snapshot.ts";
import { storedVersions, type StoredVersion } from "./stored-versions.ts";
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

interface ReplicaDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly engine: SharedEngine;
}

/** Follows the log up to its end. Rejects with FellBehindError: try again with a new engine. */
export async function openReplica(deps: ReplicaDeps, options: StoreOptions): Promise<Replica> {
  const followed = new Followed(deps, options);
  await followed.catchUp();
  return new Replica(deps, options, followed);
}

export class Replica implements FullStore {
  readonly failed: Promise<Error>;
  readonly #deps: ReplicaDeps;
  readonly #options: StoreOptions;
  readonly #followed: Followed;
  readonly #fail: (error: Error) => void;
  readonly #confirm: () => Promise<void>;
  #owner: EmbeddedStore | undefined;
  #observeCommit: ObserveCommit | undefined;
  #firstEpoch: number | undefined;

  constructor(deps: ReplicaDeps, options: StoreOptions, followed: Followed) {
    this.#deps = deps;
    this.#options = options;
    this.#followed = followed;
    this.#confirm = sharingNext(() => deps.engine.checkHeld());
    const failed = Promise.withResolvers<Error>();
    this.failed = failed.promise;
    this.#fail = failed.resolve;
  }

  /** It took the log over, and may have lost it since: then it has `failed`, or is about to. */
  get isOwner(): boolean {
    return this.#owner !== undefined;
  }

  /** Who holds the log, as far as this follower has read. */
  get holder(): LogHolder {
    return this.#followed.holder;
  }

  /** Reads the log up to its end. Rejects with FellBehindError: the process begins anew. */
  catchUp(): Promise<void> {
    return this.#followed.catchUp();
  }

  /** From now on this sees records as the log sends them. `failed` gets the errors that `catchUp` rejects with. */
  listen(failed: (error: unknown) => void): void {
    this.#deps.engine.listen(() => {
      this.#followed.takePushed().catch(failed);
    });
  }

  /**
   * Takes the log over, but only if no other process took it over since `after`. @returns whether this process is the
   * store now; false: it continues to follow. Rejects when it can do neither: the process must restart.
   */
  async takeOver(after: LogHolder): Promise<boolean> {
    try {
      this.#owner = await this.#followed.alone(() => this.#open(after.epoch + 1));
      return true;
    } catch (error) {
      const isFollower = this.#followed.settled === undefined;
      if (isFollower && mayFollowOn(error)) return false;
      throw error;
    }
  }

  async latest(): Promise<Revision> {
    await (this.isOwner ? this.#confirm() : this.catchUp());
    return this.commitRevision;
  }

  get commitRevision(): Revision {
    return this.#followed.mvcc.commitRevision as Revision;
  }

  get compactRevision(): Revision {
    return this.#followed.mvcc.compactRevision as Revision;
  }

  get(key: Key, at?: Revision): GetResult {
    return this.#followed.mvcc.get(key, at);
  }

  range(request: RangeRequest): RangeResult {
    return this.#followed.mvcc.range(request);
  }

  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused {
    return this.#followed.mvcc.scan(request, visit);
  }

  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#followed.watches.watch(range, after, sink);
  }

  watchFrom(
    range: { readonly start: Key; readonly end: Key },
    start: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#followed.watches.watch(range, start - 1, sink, "from compacted");
  }

  put(
    key: Key,
    value: Uint8Array,
    options: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult> {
    return this.#owner?.put(key, value, options) ?? Promise.resolve(notHolder());
  }

  delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult> {
    return this.#owner?.delete(key, options) ?? Promise.resolve(notHolder());
  }

  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused> {
    return this.#owner?.transact(run) ?? Promise.resolve(notHolder());
  }

  async compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused> {
    return this.#held().compact(revision);
  }

  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    return this.#held().grantLease(ttlSeconds);
  }

  async grantLeaseAs(id: LeaseId, ttlSeconds: number): Promise<boolean> {
    return this.#held().grantLeaseAs(id, ttlSeconds);
  }

  async revokeLease(id: LeaseId): Promise<boolean> {
    return this.#held().revokeLease(id);
  }

  /** False at a follower: only the holder's leases have a time. */
  renewLease(id: LeaseId): boolean {
    return this.#owner?.renewLease(id) ?? false;
  }

  lease(id: LeaseId): LeaseInfo | undefined {
    return this.#followed.leases.info(id);
  }

  leaseKeys(id: LeaseId): readonly Key[] {
    return this.#followed.leases.keys(id) as readonly Key[];
  }

  leases(): readonly LeaseInfo[] {
    const { leases } = this.#followed;
    return [...leases.all()].map(({ id }) => must(leases.info(id), "a lease that is listed"));
  }

  async settled(): Promise<void> {
    await this.#owner?.settled();
  }

  versions(revision: number): readonly StoredVersion[] {
    return storedVersions(this.#followed.mvcc, Math.min(revision, this.commitRevision));
  }

  snapshot(): StoreSnapshot {
    const { mvcc, leases, maintenance: pins } = this.#followed;
    return openSnapshot({ ...this.#deps, mvcc, leases, pins });
  }

  /** A follower that cannot read the log is not asked by those who look for a replica. */
  problem(): string | undefined {
    const { behindMs } = this.#followed;
    if (this.isOwner) return this.#heldUp();
    if (behindMs < behindMsMax) return undefined;
    return `the log was last read to its end ${Math.round(behindMs / 1000)} s ago`;
  }

  /** One stripe that does not answer holds the commit of all. */
  #heldUp(): string | undefined {
    const { stripes = [] } = this.#deps.engine.stats();
    const slow = stripes.find(({ holdsSeconds }) => holdsSeconds * 1000 > behindMsMax);
    if (slow === undefined) return undefined;
    return `${slow.name} holds the commit for ${Math.round(slow.holdsSeconds)} s`;
  }

  /** Of the process that holds the log while it is this one. */
  observeCommits(observe: ObserveCommit): void {
    this.#observeCommit = observe;
    this.#owner?.observeCommits(observe);
  }

  /** Processes that held the log since this one looks, each time it changed hands; 0: none was seen. */
  get holdersSeen(): number {
    const { epoch } = this.holder;
    if (epoch === 0) return 0;
    this.#firstEpoch ??= epoch;
    return epoch - this.#firstEpoch + 1;
  }

  stats(): StoreStats {
    return this.#owner?.stats() ?? this.#followed.stats();
  }

  async close(): Promise<void> {
    await (this.#owner ?? this.#followed).close();
  }

  async #open(wanted: number): Promise<EmbeddedStore> {
    const followed = this.#followed;
    const { mvcc, leases } = followed;
    const { epoch } = await this.#deps.engine.open(followed, wanted);
    followed.publish();
    const deps = { ...this.#deps, mvcc, leases, followed };
    const owner = new EmbeddedStore(deps, this.#options, epoch);
    void owner.failed.then(this.#fail);
    followed.settled = () => owner.settled();
    await owner.start();
    if (this.#observeCommit !== undefined) owner.observeCommits(this.#observeCommit);
    return owner;
  }

  #held(): EmbeddedStore {
    if (this.#owner === undefined) throw new StoreStoppedError(new Error(notHolderText));
    return this.#owner;
  }
}

/** Another process was quicker, or nobody can reach the log at present. */
function mayFollowOn(error: unknown): boolean {
  return error instanceof FencedError || error instanceof LogSilentError;
}

/** Longer than a follower that works is ever behind, and shorter than a client's patience. */
const behindMsMax = 3000;

const notHolderText = "this process follows the log, another one holds it";

function notHolder(): WriteRefused {
  return stopped(new Error(notHolderText));
}
