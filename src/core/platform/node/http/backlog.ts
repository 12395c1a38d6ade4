/**
 * Frames of one stream that its client has not taken: charged to what the stream holds, and watched for
 * progress. A stream whose caller may not hold more is cut: its client comes back to where it was.
 */
import type { Holding } from "../../ledger.ts";
import type { AnswerProgress, Unsent } from "./answer-progress.ts";

/** The stream or socket that is full, so that frames wait. */
export interface Full {
  readonly destroyed: boolean;
  destroy(error?: Error): unknown;
}

export class Backlog implements Unsent {
  movedAt = 0;
  readonly isStream = true;
  readonly #progress: AnswerProgress | undefined;
  readonly #held: Holding | undefined;
  readonly #full: Full;
  #charged = 0;
  #waits = false;

  /** `progress` undefined: the stream may make no progress for as long as it is open. */
  constructor(progress: AnswerProgress | undefined, held: Holding | undefined, full: Full) {
    this.#progress = progress;
    this.#held = held;
    this.#full = full;
  }

  get isOver(): boolean {
    return this.#full.destroyed;
  }

  cut(): void {
    this.#full.destroy(new Error("the frames of a stream were not taken"));
  }

  /** Adds bytes that were written while there was no room, or that took the last of the room. */
  add(bytes: number): void {
    if (!this.#waits) this.#progress?.begin(this);
    this.#waits = true;
    if (this.#held === undefined) return;
    if (!this.#held.take("frames", bytes)) return this.cut();
    this.#charged += bytes;
  }

  /** Notes that the client has taken all frames. */
  clear(): void {
    this.#progress?.done(this);
    this.#waits = false;
    this.#held?.give("frames", this.#charged);
    this.#charged = 0;
  }
}
