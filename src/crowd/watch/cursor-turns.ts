/**
 * Cursors that have something to read and take long: they have a long selector, or a sink that makes its own form
 * of each object. They continue in turns of the loop. One turn serves as many as `lookupsPerTurn` and
 * `cursorsPerTurn` allow, so that neither a single cursor nor a crowd holds the loop.
 *
 * Why not the turns of all requests (`onNextTurn`): one entry continues per turn there, so a crowd of watchers
 * would delay all other requests.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Cursor } from "./cursor.ts";
import { lookupsPerTurn } from "./judged-portion.ts";

/** Cursors per turn; each writes to its socket. */
const cursorsPerTurn = 100;

export class CursorTurns {
  readonly #clock: Clock;
  /** Waiting cursors in the order of their turns. */
  readonly #waiting = new Set<Cursor>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(cursor: Cursor): void {
    this.#waiting.add(cursor);
    this.#timer ??= this.#clock.after("watch.flush", 0, () => this.#run());
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting.clear();
  }

  #run(): void {
    this.#timer = undefined;
    // Cursors that were served in this turn move to the end of the order.
    if (this.#waiting.size > 1)
      this.#timer = this.#clock.after("watch.flush", 0, () => this.#run());
    let lookups = lookupsPerTurn;
    let cursors = cursorsPerTurn;
    for (const cursor of this.#waiting) {
      if (lookups <= 0 || cursors <= 0) return;
      this.#waiting.delete(cursor);
      cursors--;
      lookups -= cursor.proceed();
    }
  }
}
