/**
 * The state of a log that another process holds: reads and watches see what that process made durable.
 *
 * Holds  after `catchUp` has resolved, everything is visible that was durable when it was called; whole batches only.
 * Bounds memory is the log's state and its history since the last compaction, which the holder decides.
 */
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { LogHolder, RecordSource, ReplaySink, SharedEngine } from "./engines/engine.ts";
import type { StoreStats } from "./full-store.ts";
import { Leases } from "./leases.ts";
import { Maintenance } from "./maintenance.ts";
import { Mvcc } from "./mvcc.ts";
import { Recovery } from "./recover.ts";
import { sharingNext } from "./sharing-next.ts";
import { Slabs } from "./slabs.ts";
import { stateStats } from "./state-stats.ts";
import { Watches } from "./watches.ts";

/** An empty store is at revision 1, as etcd's. */
const emptyRevision = 1;

interface FollowedDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: SharedEngine;
}

export class Followed implements ReplaySink {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly watches: Watches;
  readonly maintenance: Maintenance;
  /** Set once this process holds the log: what is sequenced is durable, and checkpoints are its own. */
  settled: (() => Promise<void>) | undefined;
  readonly #engine: SharedEngine;
  readonly #recovery: Recovery;
  /**
   * Replays what is durable. Calls that arrive during a replay share the next one. Rejects with
   * FellBehindError, or with the engine's read error; the state that is already visible stays correct.
   */
  readonly catchUp: () => Promise<void>;
  /** As `catchUp`, of what the log sent by itself. */
  readonly takePushed: () => Promise<void>;
  #turn: Promise<unknown> = Promise.resolve();
  /** The first reading is over: each batch is seen at once. */
  #isLive = false;
  readonly #clock: Clock;
  /** When the log was last read up to its end. */
  #readMs = 0;

  constructor(
    deps: FollowedDeps,
    options: { readonly slabBytes: number; readonly watchBatchCommitsMax: number },
  ) {
    const mvcc = new Mvcc(new Slabs(options.slabBytes), emptyRevision);
    const leases = new Leases(deps.clock);
    this.mvcc = mvcc;
    this.leases = leases;
    this.#clock = deps.clock;
    this.#engine = deps.engine;
    this.#recovery = new Recovery(mvcc, leases);
    this.watches = new Watches(
      { ...deps, mvcc },
      { batchCommitsMax: options.watchBatchCommitsMax },
    );
    this.catchUp = sharingNext(() => this.alone(() => this.#read("all")));
    this.takePushed = sharingNext(() => this.alone(() => this.#read("pushed")));
    this.maintenance = new Maintenance({
      ...deps,
      mvcc,
      leases,
      settled: () => must(this.settled, "a follower makes no checkpoint")(),
      engine: {
        wantsCheckpoint: (possible) =>
          this.settled !== undefined && deps.engine.wantsCheckpoint(possible),
        checkpoint: (source) => deps.engine.checkpoint(source),
      },
    });
  }

  /** For how long the log was not read up to its end. */
  get behindMs(): number {
    return this.#clock.monotonicMs() - this.#readMs;
  }

  get holder(): LogHolder {
    return this.#engine.holder;
  }

  /** The engine does one thing at a time: reads wait for `run`, and it for them. */
  alone<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.catch(ignore).then(run);
    this.#turn = result;
    return result;
  }

  checkpoint(revision: number): void {
    this.#recovery.checkpoint(revision);
  }

  records(bytes: Uint8Array, source: RecordSource): void {
    this.#recovery.records(bytes, source);
    if (this.#isLive) this.publish();
  }

  /** What was replayed is durable: it is seen from now on. */
  publish(): void {
    const { mvcc } = this;
    mvcc.index.endLoading();
    if (mvcc.headRevision > mvcc.commitRevision) {
      mvcc.commit(mvcc.headRevision);
      this.watches.publish(mvcc.headRevision);
    }
    const { compactRevision } = this.#recovery;
    if (compactRevision <= mvcc.compactRevision) return;
    mvcc.compact(compactRevision);
    this.watches.compacted();
    this.maintenance.wake();
  }

  stats(): StoreStats {
    return {
      ...stateStats(this.mvcc),
      leases: this.leases.size,
      commits: { batches: 0, records: 0, bytes: 0, waiting: 0 },
      watches: this.watches.stats(),
      engine: this.#engine.stats(),
    };
  }

  async close(): Promise<void> {
    this.watches.closeAll();
    await this.maintenance.close();
    await this.#engine.close();
  }

  async #read(what: "all" | "pushed"): Promise<void> {
    // Taking the log over has read it up to its end.
    if (this.settled !== undefined) return;
    await this.#engine.follow(this, what);
    this.publish();
    this.#isLive = true;
    if (what === "all") this.#readMs = this.#clock.monotonicMs();
  }
}

const ignore = (): void => undefined;
