/**
 * Answers that their clients do not take: one that makes no progress for `stallMs` is cut, and what it holds
 * is given back; a stream (a watch, a log) is cut after `streamStallMs` with frames that nobody takes.
 *
 *   begin ──► moved, moved, ... ──► done
 *      └──── nothing for 8 sweeps ──► cut            while the ledger is tight: an answer after one,
 *                                                    a stream after 8
 *
 * Holds  each answer that was begun and is not done is looked at once a sweep; progress is a piece of at most
 *        `pieceBytesMax` that the socket took, so a client is cut below that per `stallMs` (256 KiB per 30 s).
 * Cost   a Set entry per answer that was not taken at once; one timer, armed while there are any.
 */
import type { Clock } from "../../clock.ts";

export interface StallLimits {
  /** An answer of which the client takes nothing for this time is cut, with its connection or its HTTP/2 stream. */
  readonly stallMs: number;
  /** The same limit for a stream whose frames wait. It may be longer, because readers pause. */
  readonly streamStallMs: number;
}

/** Sweeps per time limit: a stalled answer is cut at most an eighth late. */
const sweepsPerStall = 8;

/** An answer that the client has not taken yet, or a stream with frames that wait. */
export interface Unsent {
  /** Number of the sweep in which it last made progress. */
  movedAt: number;
  readonly isStream: boolean;
  /** Whether it has ended in another way. */
  readonly isOver: boolean;
  cut(): void;
}

export class AnswerProgress {
  readonly clock: Clock;
  readonly #limits: StallLimits;
  readonly #isTight: () => boolean;
  readonly #unsent = new Set<Unsent>();
  #sweep = 0;
  #isArmed = false;
  cut = 0;

  constructor(clock: Clock, limits: StallLimits, isTight: () => boolean) {
    this.clock = clock;
    this.#limits = limits;
    this.#isTight = isTight;
  }

  get unsent(): number {
    return this.#unsent.size;
  }

  begin(unsent: Unsent): void {
    unsent.movedAt = this.#sweep;
    this.#unsent.add(unsent);
    this.#arm();
  }

  moved(unsent: Unsent): void {
    unsent.movedAt = this.#sweep;
  }

  done(unsent: Unsent): void {
    this.#unsent.delete(unsent);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.clock.after("http.stall", this.#limits.stallMs / sweepsPerStall, () => this.#look());
  }

  #look(): void {
    this.#isArmed = false;
    this.#sweep++;
    const isTight = this.#isTight();
    for (const unsent of this.#unsent) {
      if (!unsent.isOver && this.#sweep - unsent.movedAt <= this.#sweepsFor(unsent, isTight))
        continue;
      this.#unsent.delete(unsent);
      if (unsent.isOver) continue;
      this.cut++;
      unsent.cut();
    }
    if (this.#unsent.size > 0) this.#arm();
  }

  /** Number of whole sweeps without progress after which it is cut. The first sweep began before the answer did. */
  #sweepsFor({ isStream }: Unsent, isTight: boolean): number {
    if (!isStream) return isTight ? 1 : sweepsPerStall;
    if (isTight) return sweepsPerStall;
    return (sweepsPerStall * this.#limits.streamStallMs) / this.#limits.stallMs;
  }
}
