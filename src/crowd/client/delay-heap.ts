/**
 * Keys that become due later: each key once, at the earliest requested time, on one clock timer.
 *
 * Cost   add and pop O(log n). A key moved to an earlier time leaves a dead entry in the heap, which
 *        is dropped when it reaches the top: at most one per add.
 */
import { Heap } from "#base/heap.ts";
import type { Clock, Timer, TimerName } from "#platform/clock.ts";

interface Entry {
  readonly key: string;
  readonly dueMs: number;
}

export class DelayHeap {
  readonly #clock: Clock;
  readonly #timerName: TimerName;
  readonly #due: (key: string) => void;
  readonly #dueMs = new Map<string, number>();
  readonly #heap = new Heap<Entry>((a, b) => a.dueMs - b.dueMs);
  #timer: Timer | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  constructor(deps: { clock: Clock; timerName: TimerName; due: (key: string) => void }) {
    this.#clock = deps.clock;
    this.#timerName = deps.timerName;
    this.#due = deps.due;
  }

  get size(): number {
    return this.#dueMs.size;
  }

  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.monotonicMs() + delayMs;
    const known = this.#dueMs.get(key);
    if (known !== undefined && known <= dueMs) return;
    this.#dueMs.set(key, dueMs);
    this.#heap.push({ key, dueMs });
    this.#arm();
  }

  delete(key: string): void {
    this.#dueMs.delete(key);
    if (this.#dueMs.size === 0) this.clear();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    this.#heap.filter(() => false);
    this.#dueMs.clear();
  }

  #arm(): void {
    const first = this.#heap.peek();
    if (first === undefined || first.dueMs >= this.#timerDueMs) return;
    this.#timer?.cancel();
    this.#timerDueMs = first.dueMs;
    const delayMs = Math.max(0, first.dueMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.after(this.#timerName, delayMs, () => this.#fire());
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    try {
      for (;;) {
        const top = this.#heap.peek();
        if (top === undefined || top.dueMs > nowMs) break;
        this.#heap.pop();
        if (this.#dueMs.get(top.key) !== top.dueMs) continue;
        this.#dueMs.delete(top.key);
        this.#due(top.key);
      }
    } finally {
      this.#arm();
    }
  }
}
