/**
 * When the next batch goes to the engine. No clock, no I/O: times come in.
 *
 *   nothing in flight   at once; after a batch of many commands as soon as about as many have come again, or `gatherMs`
 *                       later. Callers that were answered together tend to come together: without the wait they
 *                       would fall into two halves, each waiting for the other, and twice as many batches.
 *   some in flight      beside them, `besideMs` after the newest of them; at most `appendsMax` (commit.ts). On a medium
 *                       that answers faster one batch at a time is cheaper and as fast.
 *
 * Whether a wait is worth while is learnt: after one in which too few came, the next ones are left out, 4 to 64.
 */
import type { AppendPace } from "./engines/engine.ts";

/** Fewer commands than these are not waited for. */
const gatherItemsMin = 8;
/** Of those that were answered: stragglers are not waited for. */
const gatheredEnough = 0.9;
const gatheredWorth = 0.5;
const skippedMin = 4;
const skippedMax = 64;

interface Gathering {
  readonly untilMs: number;
  /** Commands that waited already when the gathering began. */
  readonly before: number;
  readonly answered: number;
}

export class BatchPace {
  readonly #options: AppendPace;
  #gathering: Gathering | undefined;
  #startedMs = 0;
  /** How many gatherings are left out yet, and how many were the last time. */
  #skips = 0;
  #skipped = 0;

  constructor(options: AppendPace) {
    this.#options = options;
  }

  /** How long the next batch, of `items` by now, is to wait. Fewer than `appendsMax` are in flight. */
  waitMs(nowMs: number, items: number, inFlight: number): number {
    const startMs = inFlight > 0 ? this.#startedMs + this.#options.besideMs : this.#gatherMs(items);
    return Math.max(0, startMs - nowMs);
  }

  /** A batch of `items` starts. */
  started(nowMs: number, items: number): void {
    this.#startedMs = nowMs;
    const gathering = this.#gathering;
    if (gathering === undefined) return;
    this.#gathering = undefined;
    const isWorth = items - gathering.before >= gathering.answered * gatheredWorth;
    this.#skipped = isWorth ? 0 : Math.min(skippedMax, Math.max(skippedMin, 2 * this.#skipped));
    this.#skips = this.#skipped;
  }

  /** A batch of `answered` items ended, while `waiting` are in the next one. */
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
