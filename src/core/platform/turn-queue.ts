/**
 * Who begins next: of the callers that wait, the one that has used least of the loop since others waited.
 *
 *   add(caller, connection, begin) ──► waits ──► next ──► used(ms): of its caller
 *
 * Holds  a caller that comes after a pause starts level with the one that is served, with no credit for the pause: it
 *        waits for what runs, and for those that came level before it, however much the others have waiting.
 *        Of one caller's connections each has one begin in rotation.
 * Bounds entries of callers that do not wait any more are swept when they are more than the others.
 * Cost   O(log callers that wait) per begin.
 * After  Goyal, Vin, Cheng: Start-time fair queueing (1996).
 * Why not one rotation of all connections: a caller with 400 of them had 400 turns for each one of a quiet caller,
 *        who waited a second of CPU time for his.
 */
import { Heap } from "#base/heap.ts";

interface Caller {
  /** Of the loop, since the queue was last empty; a caller that comes back begins at the least of those that wait. */
  usedMs: number;
  /** Among equals: who came first. */
  order: number;
  /** In the heap, or running. */
  isQueued: boolean;
  /** What waits, by connection; the first has its turn next. */
  readonly waiting: Map<object, (() => void)[]>;
}

const sweptMin = 64;

export class TurnQueue {
  readonly #callers = new Map<string, Caller>();
  readonly #queue = new Heap<Caller>((a, b) => a.usedMs - b.usedMs || a.order - b.order);
  /** Of the caller that began last: no one that waits has used less. */
  #levelMs = 0;
  #order = 0;
  #sweepAt = sweptMin;
  #running: Caller | undefined;

  get isEmpty(): boolean {
    return this.#queue.size === 0 && (this.#running?.waiting.size ?? 0) === 0;
  }

  /** Callers that are remembered. */
  get callers(): number {
    return this.#callers.size;
  }

  add(name: string, connection: object, begin: () => void): void {
    const caller = this.#callers.get(name) ?? this.#newcomer(name);
    const others = caller.waiting.get(connection);
    if (others === undefined) caller.waiting.set(connection, [begin]);
    else others.push(begin);
    if (caller.isQueued) return;
    caller.usedMs = Math.max(caller.usedMs, this.#levelMs);
    this.#enqueue(caller);
  }

  /** To be called when what began before has run (`used`). */
  next(): (() => void) | undefined {
    const caller = this.#queue.pop();
    const [first] = caller?.waiting ?? [];
    if (caller === undefined || first === undefined) return undefined;
    const [connection, begins] = first;
    const begin = begins.shift();
    caller.waiting.delete(connection);
    if (begins.length > 0) caller.waiting.set(connection, begins);
    this.#levelMs = caller.usedMs;
    this.#running = caller;
    return begin;
  }

  /** What `next` gave last has run for so long. */
  used(ms: number): void {
    const caller = this.#running;
    if (caller === undefined) return;
    this.#running = undefined;
    caller.usedMs += ms;
    caller.isQueued = false;
    if (caller.waiting.size > 0) this.#enqueue(caller);
    else if (this.#queue.size === 0) this.#forgetAll();
    else if (this.#callers.size > this.#sweepAt) this.#sweep();
  }

  #newcomer(name: string): Caller {
    const caller = { usedMs: 0, order: 0, isQueued: false, waiting: new Map() };
    this.#callers.set(name, caller);
    return caller;
  }

  #enqueue(caller: Caller): void {
    caller.isQueued = true;
    caller.order = this.#order++;
    this.#queue.push(caller);
  }

  #forgetAll(): void {
    this.#callers.clear();
    this.#levelMs = 0;
    this.#sweepAt = sweptMin;
  }

  #sweep(): void {
    for (const [name, { isQueued, usedMs }] of this.#callers) {
      if (!isQueued && usedMs <= this.#levelMs) this.#callers.delete(name);
    }
    this.#sweepAt = Math.max(sweptMin, 2 * this.#callers.size);
  }
}
