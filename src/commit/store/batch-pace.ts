/**
 * Decides when the next batch goes to the engine. No clock, no I/O: callers pass the time in.
 *
 *   nothing in flight   at once. After a batch of many commands: as soon as about as many have arrived again, or after
 *                       `gatherMs`. Callers that were answered together tend to return together. Without the wait they
 *                       would split into two halves that wait for each other, and twice as many batches would be
 *                       written.
 *   some in flight      beside them, `besideMs` after the newest of them; at most `appendsMax` (commit.ts). On a medium
 *                       that answers faster, one batch at a time is cheaper and as fast.
 *
 * The pace learns whether waiting pays: after a wait in which too few commands came, it skips the next 4 to 64 waits.
 */
import type { AppendPace } from "./engines/engine.ts";

/** The batch waits only for at least this many expected commands. */
const gatherItemsMin = 8;
/** Share of the answered callers after which the batch starts without the rest. */
const gatheredEnough = 0.9;
const gatheredWorth = 0.5;
const skippedMin = 4;
const skippedMax = 64;

interface Gathering {
  readonly untilMs: number;
  /** Commands that were already waiting when the gathering began. */
  readonly before: number;
  readonly answered: number;
}

export class BatchPace {
  readonly #options: AppendPace;
  #gathering: Gathering | undefined;
  #startedMs = 0;
  /** Number of gatherings still to be skipped, and the number skipped last time. */
  #skips = 0;
  #skipped = 0;

  constructor(options: AppendPace) {
    this.#options = options;
  }

  /** Time that the next batch, which has `items` so far, should wait. Fewer than `appendsMax` appends are in flight. */
  waitMs(nowMs: number, items: number, inFlight: number): number {
    const startMs = inFlight > 0 ? this.#startedMs + this.#options.besideMs : this.#gatherMs(items);
    return Math.max(0, startMs - nowMs);
  }

  /** Records that a batch of `items` starts. */
  started(nowMs: number, items: number): void {
    this.#startedMs = nowMs;
    const gathering = this.#gathering;
    if (gathering === undefined) return;
    this.#gathering = undefined;
    const isWorth = items - gathering.before >= gathering.answered * gatheredWorth;
    this.#skipped = isWorth ? 0 : Math.min(skippedMax, Math.max(skippedMin, 2 * this.#skipped));
    this.#skips = this.#skipped;
  }

  /** Records that a batch of `answered` items ended while `waiting` items are in the next one. */
  ended(nowMs: number, answered: number, waiting: number): void {
    const { gatherMs } = this.#options;
    if (gatherMs === 0 || answered < gatherItemsMin) return;
    if (this.#skips > 0) this.#skips--;
    else this.#gathering = { untilMs: nowMs + gatherMs, before: waiting, answered };
  }

  #gatherMs(items: number): number {
    if (this.#gathering === undefined) return 0;
    const { untilMs, before, answered } = this.#gathering;
    return items >= before + answered * gatheredEnough ? 0 : untilMs;
  }
}
