/**
 * Turns of the loop within one request: between two steps of long work the loop serves others.
 *
 * Short work never gives way: `isLong` is false until a step told of a large object.
 * Holds  of all who wait for a turn one goes on per turn of the loop, in order: twenty requests of 5 ms a step
 *        hold it for 5 ms, not for 100.
 */
import type { Clock } from "./clock.ts";

/** A pod has 2 or 3 KB; a step over an object of this size takes up to a millisecond. */
const longBytesMin = 8 * 1024;

export class Pace {
  readonly clock: Clock;
  readonly #goesOn: (() => void) | undefined;
  #isLong = false;

  /** `goesOn` is called when the request has a turn again. */
  constructor(clock: Clock, goesOn?: () => void) {
    this.clock = clock;
    this.#goesOn = goesOn;
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
    const goesOn = this.#goesOn;
    if (goesOn === undefined) return nextTurn(this.clock);
    return new Promise((resolve) => {
      onNextTurn(this.clock, () => {
        goesOn();
        resolve();
      });
    });
  }
}

/** Resolves in a turn of the loop in which nobody else who asked here goes on. */
export function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => onNextTurn(clock, resolve));
}

/** Who waits for a turn, by clock: there is one loop to share. As many as there are requests. */
const waiting = new WeakMap<Clock, (() => void)[]>();

/** Calls `f` in a turn of the loop in which nobody else who asked here goes on. */
export function onNextTurn(clock: Clock, f: () => void): void {
  const queue = waiting.get(clock) ?? [];
  waiting.set(clock, queue);
  queue.push(f);
  if (queue.length === 1) clock.after("request.turn", 0, () => goOn(clock, queue));
}

function goOn(clock: Clock, queue: (() => void)[]): void {
  const f = queue.shift();
  if (queue.length > 0) clock.after("request.turn", 0, () => goOn(clock, queue));
  f?.();
}
