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

/** For a turn of the loop, or for somebody outside of this process: the client that sends its body, a webhook. */
export type WaitsFor = "turn" | "outside";

/** For the one whose request it is: called before each wait, and when it is over. */
interface PaceListener {
  rests(waitsFor: WaitsFor): void;
  goesOn(): void;
}

/** A pod has 2 or 3 KB; a step over an object of this size takes up to a millisecond. */
const longBytesMin = 8 * 1024;
/** Of a body that comes right after its head: who waited longer goes on in a turn of its own. */
const briefMs = 10;

export class Pace {
  readonly clock: Clock;
  readonly #caller: string;
  readonly #listener: PaceListener | undefined;
  #isLong = false;
  /** Among those of its caller; 0: it did not wait yet. */
  #age = 0;

  /** `caller`: whose time it takes. */
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

  /** Stands between two steps of a request: `await pace.step();`. Short work goes on in the same turn. */
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

/** Resolves in a turn of the loop of its own: the others that wait here go on in other turns. */
export function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => onNextTurn(clock, resolve));
}

/** Calls `f` in a turn of the loop of its own: the others that wait here go on in other turns. */
export function onNextTurn(clock: Clock, f: () => void): void {
  const turns = turnsOf(clock);
  turns.add("", turns.age(), f);
}

/** Who waits for a turn. As many as there are requests. */
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

/** By clock: there is one loop to share. */
const allTurns = new WeakMap<Clock, Turns>();

function turnsOf(clock: Clock): Turns {
  const known = allTurns.get(clock);
  if (known !== undefined) return known;
  const made = new Turns(clock);
  allTurns.set(clock, made);
  return made;
}
