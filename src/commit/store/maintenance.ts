/**
 * Background work beside the writes: compacted history is removed, slabs left half empty are
 * emptied, and then, when it pays, a checkpoint is made and the log trimmed.
 *
 *   compact ─▶ prune, slice by slice ─▶ clean, then pack rows, slice by slice ─▶ checkpoint, while pruning goes on
 *
 * M1  A slice holds the loop for about `sliceMs`, and then leaves it free for `restFactor` times as
 *     long as it took: concurrent writers lose at most a third of the loop.
 * M2  Nothing is removed that a snapshot or a checkpoint under way still reads. A snapshot keeps all
 *     history; a checkpoint keeps only one version of each key that it has not passed yet.
 * M3  At most one checkpoint is under way; a failed one is not tried again at its revision.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { checkpointSource } from "./checkpoint.ts";
import { Cleaner } from "./cleaner.ts";
import type { Engine, PossibleCheckpoint } from "./engines/engine.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { RowPacker } from "./row-packer.ts";

/** Length of a slice, and so the wait that it adds to a request: about the duration of a request. */
const sliceMs = 0.25;
const restFactor = 2;
/** Maximum steps per slice, in case the clock stands still; steps are short. */
const stepsMax = 64;
/** Revisions pruned per step: about 0.1 ms. */
const stepRevisions = 128;

/**
 * Limit for "quiet": with no more history than this, or than `quietHistoryShare` of the state, little is being written.
 * For comparison: a plane in which the events of a busy hour expire, 200 a minute, and that renews its leases has
 * 1.3 MB in the five minutes that it keeps.
 */
const quietHistoryBytes = 2 * 2 ** 20;
const quietHistoryShare = 1 / 8;

interface MaintenanceDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Pick<Engine, "wantsCheckpoint" | "checkpoint">;
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  /** Resolves once everything sequenced is durable; rejects when the store has stopped. */
  readonly settled: () => Promise<void>;
}

interface Pin {
  readonly revision: number;
}

export class Maintenance {
  readonly #deps: MaintenanceDeps;
  readonly #cleaner: Cleaner;
  readonly #packer: RowPacker;
  /** Revisions of snapshots being read. */
  readonly #pinned = new Set<Pin>();
  readonly #closed = new AbortController();
  #timer: Timer | undefined;
  #checkpointing: Promise<void> | undefined;
  /** A checkpoint at or below this revision failed and is not tried again. */
  #checkpointFailed = 0;

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps;
    this.#cleaner = new Cleaner(deps.mvcc);
    this.#packer = new RowPacker(deps.mvcc);
  }

  /** Schedules work, because there may be something to do. */
  wake(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#closed.signal.aborted) this.#slice();
  }

  /** Keeps everything visible from `revision` on until it is unpinned. */
  pin(revision: number): Pin {
    const pin = { revision };
    this.#pinned.add(pin);
    return pin;
  }

  unpin(pin: Pin): void {
    if (this.#pinned.delete(pin)) this.wake();
  }

  /** Resolves when the running checkpoint is finished. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#timer?.cancel();
    await this.#checkpointing;
  }

  #slice(): void {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    let tookMs = 0;
    let done = false;
    for (let steps = 0; steps < stepsMax && tookMs < sliceMs && !done; steps++) {
      done = this.#step();
      tookMs = clock.monotonicMs() - startMs;
    }
    if (done) this.#maybeCheckpoint();
    else this.#timer = clock.after("store.compact", tookMs * restFactor, () => this.wake());
  }

  /** @returns whether nothing is left to do. */
  #step(): boolean {
    const { mvcc } = this.#deps;
    let until = mvcc.compactRevision;
    for (const pin of this.#pinned) until = Math.min(until, pin.revision);
    const isPruned = mvcc.pruning.prune(until, stepRevisions);
    return isPruned && this.#cleaner.step() && this.#packer.step();
  }

  #maybeCheckpoint(): void {
    const revision = this.#deps.mvcc.pruning.revision;
    if (this.#checkpointing !== undefined || revision <= this.#checkpointFailed) return;
    const possible = this.#possible(revision);
    if (!this.#deps.engine.wantsCheckpoint(possible)) return;
    this.#checkpointing = this.#checkpoint(possible).then(() => {
      this.#checkpointing = undefined;
      this.wake();
    });
  }

  #possible(revision: number): PossibleCheckpoint {
    const { bytes, stateBytes } = this.#deps.mvcc;
    const quietBytes = Math.max(quietHistoryBytes, stateBytes * quietHistoryShare);
    return { revision, stateBytes, quiet: bytes - stateBytes <= quietBytes };
  }

  async #checkpoint({ revision, quiet }: PossibleCheckpoint): Promise<void> {
    const { mvcc, leases, engine, log, settled } = this.#deps;
    const source = checkpointSource({ mvcc, leases, revision });
    try {
      // The checkpoint has the leases as sequenced: a lease that ended is not in it, so the lease's end must be in
      // the log before the checkpoint counts.
      await settled();
      const next = (): Uint8Array | undefined => source.next();
      await engine.checkpoint({ revision, next, quiet, hurried: this.#closed.signal });
    } catch (error) {
      // The log still holds everything; the next compaction tries again.
      this.#checkpointFailed = revision;
      log.warn("a checkpoint failed; the log is kept", { revision, error: String(error) });
    } finally {
      source.ended();
    }
  }
}
