/**
 * The one clock of tests and simulation: virtual time, which passes on command only. Every timer can be
 * listed, and fired by its name.
 *
 * Timers due at the same instant fire in the order they were set. `advance` lets promises settle before,
 * between and after the timers, so code that awaits continues as it would; `tick` does not.
 */
import { setImmediate as hostTurn } from "node:timers/promises";
import { Heap } from "#base/heap.ts";
import type { Clock, Timer, TimerName } from "../clock.ts";

interface ArmedTimer {
  readonly name: TimerName;
  /** Due time on the monotonic scale. */
  readonly dueMs: number;
}

interface FakeClockOptions {
  /** First value of the wall clock. */
  readonly startMs: number;
  /** Time that each reading of the monotonic clock costs, so that code that works until a deadline comes to an end. */
  readonly readMs: number;
}

interface Entry extends ArmedTimer {
  readonly sequence: number;
  readonly f: () => void;
  cancelled: boolean;
}

export class FakeClock implements Clock {
  /** Number of turns of the loop (`request.turn`) requested so far: each comes by itself, in no time. */
  turns = 0;
  readonly #timers = new Heap<Entry>((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
  readonly #readMs: number;
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #sequence = 0;

  constructor(options: Partial<FakeClockOptions> = {}) {
    // A fixed day, so that runs repeat.
    this.#wallOffsetMs = options.startMs ?? Date.UTC(2026, 0, 1);
    this.#readMs = options.readMs ?? 0;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    this.#monotonicMs += this.#readMs;
    return this.#monotonicMs;
  }

  after(name: TimerName, delayMs: number, f: () => void): Timer {
    if (name === "request.turn") {
      this.turns++;
      return afterMicrotasks(f);
    }
    const entry: Entry = {
      name,
      dueMs: this.#monotonicMs + Math.max(0, delayMs),
      sequence: this.#sequence++,
      f,
      cancelled: false,
    };
    this.#timers.push(entry);
    return {
      cancel: () => {
        entry.cancelled = true;
      },
    };
  }

  /** Returns the armed timers, earliest first. */
  timers(): readonly ArmedTimer[] {
    this.#timers.filter((entry) => !entry.cancelled);
    const all: Entry[] = [];
    for (let entry = this.#timers.pop(); entry !== undefined; entry = this.#timers.pop()) {
      all.push(entry);
    }
    for (const entry of all) this.#timers.push(entry);
    return all.map(({ name, dueMs }) => ({ name, dueMs }));
  }

  /** Returns the names of the armed timers, earliest first. */
  armed(): readonly TimerName[] {
    return this.timers().map(({ name }) => name);
  }

  /** Returns the milliseconds until the next timer is due; undefined: no timer is armed. */
  nextMs(): number | undefined {
    const next = this.timers()[0];
    return next === undefined ? undefined : next.dueMs - this.#monotonicMs;
  }

  /** Moves time forward by `ms` and fires the due timers in order, without letting promises run between them. */
  tick(ms: number): void {
    const untilMs = this.#monotonicMs + ms;
    while (this.#fireNext(untilMs));
    this.#monotonicMs = Math.max(this.#monotonicMs, untilMs);
  }

  /** As `tick`, but lets promises settle before, between and after the timers. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await settle();
    while (this.#fireNext(untilMs)) await settle();
    this.#monotonicMs = Math.max(this.#monotonicMs, untilMs);
  }

  /** Moves to the earliest timer called `name` and fires it alone. @returns false when no such timer is armed. */
  fire(name: TimerName): boolean {
    let found: Entry | undefined;
    this.#timers.filter((entry) => !entry.cancelled);
    const passed: Entry[] = [];
    while (found === undefined) {
      const entry = this.#timers.pop();
      if (entry === undefined) break;
      if (entry.name === name) found = entry;
      else passed.push(entry);
    }
    for (const entry of passed) this.#timers.push(entry);
    if (found === undefined) return false;
    this.#monotonicMs = Math.max(this.#monotonicMs, found.dueMs);
    found.f();
    return true;
  }

  /** Lets time pass while the process stands still (SIGSTOP): due timers fire with the next `tick` or `advance`. */
  pause(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** Steps the wall clock only, as an operator or NTP would. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Sets the wall clock to `wallMs`; no time passes. */
  setWall(wallMs: number): void {
    this.jumpWall(wallMs - this.#wallOffsetMs - this.#monotonicMs);
  }

  #fireNext(untilMs: number): boolean {
    for (;;) {
      const entry = this.#timers.peek();
      if (entry === undefined || entry.dueMs > untilMs) return false;
      this.#timers.pop();
      if (entry.cancelled) continue;
      this.#monotonicMs = Math.max(this.#monotonicMs, entry.dueMs);
      entry.f();
      return true;
    }
  }
}

/** Lets every promise that can settle without a timer or real I/O do so. */
export async function settle(): Promise<void> {
  await hostTurn();
}

/** A turn of the loop takes no time, virtual or not. */
function afterMicrotasks(f: () => void): Timer {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) f();
  });
  return {
    cancel: () => {
      cancelled = true;
    },
  };
}
