/**
 * Turns of the loop within one request: between two steps of long work the loop serves others.
 *
 * Short work never gives way: `isLong` is false until a step told of a large object.
 */
import type { Clock } from "./clock.ts";

/** A pod has 2 or 3 KB; a step over an object of this size takes up to a millisecond. */
const longBytesMin = 8 * 1024;

export class Pace {
  readonly #clock: Clock;
  #isLong = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isLong(): boolean {
    return this.#isLong;
  }

  /** Notes that the request works on an object of this many bytes. */
  note(bytes: number): void {
    if (bytes >= longBytesMin) this.#isLong = true;
  }

  /** `if (pace.isLong) await pace.turn();` */
  turn(): Promise<void> {
    return new Promise((resolve) => void this.#clock.after("request.turn", 0, resolve));
  }
}
