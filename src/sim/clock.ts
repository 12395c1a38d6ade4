/**
 * Virtual time: it advances on command only, and every timer can be listed and fired by its name.
 *
 * Timers due at the same instant fire in the order they were set. `run` lets promises settle between
 * timers (one host turn each), so code that awaits goes on as it would; the order stays the seed's.
 */
import { setImmediate as hostTurn } from "node:timers/promises";
import { Heap } from "#base/heap.ts";
import type { Clock, Timer, TimerName } from "#platform/clock.ts";

interface ArmedTimer {
  readonly name: TimerName;
  /** On the monotonic scale. */
  readonly dueMs: number;
}

interface Entry extends ArmedTimer {
  readonly sequence: number;
  readonly f: () => void;
  cancelled: boolean;
}

export class SimClock implements Clock {
  readonly #timers = new Heap<Entry>((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #sequence = 0;

  /** `startMs`: what the wall clock shows first; defaults to a fixed day, so runs repeat. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallOffsetMs = startMs;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(name: TimerName, delayMs: number, f: () => void): Timer {
    // A turn of the loop takes no time, virtual or not: nobody has to fire it.
    if (name === "request.turn") return afterMicrotasks(f);
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

  /** The armed timers, earliest first. */
  timers(): readonly ArmedTimer[] {
    this.#timers.filter((entry) => !entry.cancelled);
    const all: Entry[] = [];
    for (let entry = this.#timers.pop(); entry !== undefined; entry = this.#timers.pop()) {
      all.push(entry);
    }
    for (const entry of all) this.#timers.push(entry);
    return all.map(({ name, dueMs }) => ({ name, dueMs }));
  }

  /** Moves time on by `ms`, firing what falls due in order, without letting promises run between. */
  advance(ms: number): void {
    const untilMs = this.#monotonicMs + ms;
    while (this.#fireNext(untilMs));
    this.#monotonicMs = untilMs;
  }

  /** As `advance`, but promises settle before, between and after the timers. */
  async run(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.settle();
    while (this.#fireNext(untilMs)) await this.settle();
    this.#monotonicMs = untilMs;
  }

  /** Moves to the earliest timer called `name` and fires it alone. @returns false: none is armed. */
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

  /** Steps the wall clock only, as an operator or NTP would. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Lets every promise that can settle without a timer or real I/O do so. */
  async settle(): Promise<void> {
    await hostTurn();
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
