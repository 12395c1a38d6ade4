/**
 * Slices of watchers that want the latest state only, served at most once per window: the first event
 * after a quiet window goes out at once, what follows is gathered until the next one begins.
 *
 * Holds  windows begin at least `windowMs` apart. A slice that still waits for its turn is not added
 *        again, so in overload it gets fewer batches, each with the newest state.
 */
import type { Slice } from "./slice.ts";

export interface PacerOptions {
  readonly windowMs: number;
  /** Any monotonic clock. */
  readonly nowMs: () => number;
  /** 0: in another turn. */
  readonly after: (delayMs: number, f: () => void) => void;
}

export class Pacer {
  readonly #options: PacerOptions;
  readonly #serve: (slices: Iterable<Slice>) => void;
  #due = new Set<Slice>();
  #beganMs = Number.NEGATIVE_INFINITY;
  #armed = false;

  constructor(options: PacerOptions, serve: (slices: Iterable<Slice>) => void) {
    this.#options = options;
    this.#serve = serve;
  }

  add(slice: Slice): void {
    this.#due.add(slice);
    if (this.#armed) return;
    this.#armed = true;
    const { windowMs, nowMs, after } = this.#options;
    after(Math.max(0, this.#beganMs + windowMs - nowMs()), () => this.#begin());
  }

  #begin(): void {
    this.#armed = false;
    this.#beganMs = this.#options.nowMs();
    const due = this.#due;
    this.#due = new Set();
    this.#serve(due);
  }
}
