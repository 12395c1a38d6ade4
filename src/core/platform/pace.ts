/**
 * Turns of the loop within one request: between two steps of long work the loop serves others.
 *
 * Short work never gives way: `isLong` is false until a step told of a large object.
 * Holds  of all who wait for a turn one goes on per turn of the loop: twenty requests of 5 ms a step
 *        hold it for 5 ms, not for 100. Next is the caller who had fewest (turn-queue.ts), and of his requests the
 *        oldest: if all of them went on in rotation, all would end late, and keep seats and memory until then.
 */
import type { Clock } from "./clock.ts";
import { Oldest, TurnQueue } from "./turn-queue.ts";

/** Reason of a wait: for a turn of the loop, or for work outside of this process (a client's body, a webhook). */
export type WaitsFor = "turn" | "outside";

/** Is notified before each wait of a request, and after it. */
interface PaceListener {
  rests(waitsFor: WaitsFor): void;
  goesOn(): void;
}

/** Size from which an object counts as long: a step over it takes up to a millisecond. A pod has 2 or 3 KB. */
const longBytesMin = 8 * 1024;
/** Maximum wait for a body right after its head. After a longer wait the request goes on in a turn of its own. */
const briefMs = 10;

export class Pace {
  readonly clock: Clock;
  readonly #caller: string;
  readonly #listener: PaceListener | undefined;
  #isLong = false;
  /** Rank of the request among those of its caller. 0: the request has not waited yet. */
  #age = 0;

  /** `caller`: the caller whose share of the loop's time the request uses. */
  constructor(clock: Clock, caller = "", listener?: PaceListener) {
    this.clock = clock;
    this.#caller = caller;
    this.#listener = listener;
  }

  get isLong(): boolean {
    return this.#isLong;
  }

  /** Notes that the request works on an object of this many bytes. */
  note(bytes: number): void {
    if (bytes >= longBytesMin) this.#isLong = true;
  }

  /** Waits between two steps of a request: `await pace.step();`. Short work goes on in the same turn. */
  step(): Promise<void> | undefined {
    return this.#isLong ? this.turn() : undefined;
  }

  /** Resolves when the request has a turn of the loop again. */
  turn(): Promise<void> {
    const listener = this.#listener;
    listener?.rests("turn");
    const turns = turnsOf(this.clock);
    this.#age ||= turns.age();
    return new Promise((resolve) => {
      turns.add(this.#caller, this.#age, () => {
        listener?.goesOn();
        resolve();
      });
    });
  }

  /**
   * `work` takes nothing of this process until it settles. After a long wait the request goes on in a turn of its own:
   * a thousand bodies may end at once.
   */
  async outside<T>(work: Promise<T>): Promise<T> {
    const { clock } = this;
    const startMs = clock.monotonicMs();
    this.#listener?.rests("outside");
    try {
      return await work;
    } finally {
      this.#listener?.goesOn();
      if (clock.monotonicMs() - startMs >= briefMs) await this.turn();
    }
  }
}

/** Resolves in a turn of the loop of its own: other waiting work goes on in other turns. */
export function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => onNextTurn(clock, resolve));
}

/** Calls `f` in a turn of the loop of its own: other waiting work goes on in other turns. */
export function onNextTurn(clock: Clock, f: () => void): void {
  const turns = turnsOf(clock);
  turns.add("", turns.age(), f);
}

/** Queue of requests that wait for a turn of the loop. Bounded by the number of requests. */
class Turns {
  readonly #clock: Clock;
  readonly #queue = new TurnQueue(() => new Oldest());
  #age = 0;
  #isArmed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  age(): number {
    return ++this.#age;
  }

  add(caller: string, age: number, f: () => void): void {
    this.#queue.add(caller, age, f);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#clock.after("request.turn", 0, () => this.#goOn());
  }

  #goOn(): void {
    this.#isArmed = false;
    const f = this.#queue.next();
    // Steps take about the same time, so they are counted.
    this.#queue.used(1);
    if (!this.#queue.isEmpty) this.#arm();
    f?.();
  }
}

/** By clock: all work on one clock shares one loop. */
const allTurns = new WeakMap<Clock, Turns>();

function turnsOf(clock: Clock): Turns {
  const known = allTurns.get(clock);
  if (known !== undefined) return known;
  const made = new Turns(clock);
  allTurns.set(clock, made);
  return made;
}
