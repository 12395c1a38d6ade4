/**
 * Keys that are due later: each key once, at the earliest time asked for, on one clock timer.
 *
 * Cost   add and pop O(log n). A key moved to an earlier time leaves a dead entry in the heap, which
 *        is dropped when it comes up: at most one per add.
 */
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
  #heap: Entry[] = [];
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
    push(this.#heap, { key, dueMs });
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
    this.#heap = [];
    this.#dueMs.clear();
  }

  #arm(): void {
    const first = this.#heap[0];
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
    for (let top = this.#heap[0]; top !== undefined && top.dueMs <= nowMs; top = this.#heap[0]) {
      pop(this.#heap);
      if (this.#dueMs.get(top.key) !== top.dueMs) continue;
      this.#dueMs.delete(top.key);
      this.#due(top.key);
    }
    this.#arm();
  }
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || above.dueMs <= entry.dueMs) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const right = heap[child + 1];
    if (right !== undefined && right.dueMs < (heap[child]?.dueMs ?? 0)) child++;
    const below = heap[child];
    if (below === undefined || below.dueMs >= last.dueMs) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
}
