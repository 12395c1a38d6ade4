/**
 * Who begins next: of the callers that wait, the one that has used least of the loop since others waited.
 *
 *   add(caller, connection, begin) ──► waits ──► next ──► used(ms): of its caller
 *
 * Holds  a caller that comes after a pause starts level with the one that is served, with no credit for the pause: it
 *        waits for what runs, and for those that came level before it, however much the others have waiting.
 *        Of one caller's own what is next says `Waiting`: one of each connection in rotation, or the oldest request.
 * Bounds entries of callers that do not wait any more are swept when they are more than the others.
 * Cost   O(log callers that wait) per begin.
 * After  Goyal, Vin, Cheng: Start-time fair queueing (1996).
 * Why not one rotation of all connections: a caller with 400 of them had 400 turns for each one of a quiet caller,
 *        who waited a second of CPU time for his.
 */
import { Heap } from "#base/heap.ts";

interface Caller<Key> {
  /** Loop time used since the queue was last empty. A caller that returns is raised to the level of the last beginning. */
  usedMs: number;
  /** Order of arrival: of two callers with equal time the one with the smaller order begins. */
  order: number;
  /** Whether the caller is in the heap or running. */
  isQueued: boolean;
  readonly waiting: Waiting<Key>;
}

/** Work of one caller that waits. */
interface Waiting<Key> {
  readonly size: number;
  add(key: Key, begin: () => void): void;
  take(): (() => void) | undefined;
}

const sweptMin = 64;

export class TurnQueue<Key> {
  readonly #waitingOf: () => Waiting<Key>;
  readonly #callers = new Map<string, Caller<Key>>();
  readonly #queue = new Heap<Caller<Key>>((a, b) => a.usedMs - b.usedMs || a.order - b.order);
  /** Time used by the caller that began last: no waiting caller has used less. */
  #levelMs = 0;
  #order = 0;
  #sweepAt = sweptMin;
  #running: Caller<Key> | undefined;

  /** `waitingOf` makes the queue of each caller. */
  constructor(waitingOf: () => Waiting<Key>) {
    this.#waitingOf = waitingOf;
  }

  get isEmpty(): boolean {
    return this.#queue.size === 0 && (this.#running?.waiting.size ?? 0) === 0;
  }

  /** Number of callers with an entry. */
  get callers(): number {
    return this.#callers.size;
  }

  add(name: string, key: Key, begin: () => void): void {
    const caller = this.#callers.get(name) ?? this.#newcomer(name);
    caller.waiting.add(key, begin);
    if (caller.isQueued) return;
    caller.usedMs = Math.max(caller.usedMs, this.#levelMs);
    this.#enqueue(caller);
  }

  /** Returns the beginning of the next work. Call it only after the work before has run (`used`). */
  next(): (() => void) | undefined {
    const caller = this.#queue.pop();
    if (caller === undefined) return undefined;
    const begin = caller.waiting.take();
    this.#levelMs = caller.usedMs;
    this.#running = caller;
    return begin;
  }

  /** Charges `ms` to the caller of the work that `next` returned last. */
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

  #newcomer(name: string): Caller<Key> {
    const caller = { usedMs: 0, order: 0, isQueued: false, waiting: this.#waitingOf() };
    this.#callers.set(name, caller);
    return caller;
  }

  #enqueue(caller: Caller<Key>): void {
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

/** Takes one beginning of each connection in rotation. */
export class Rotation implements Waiting<object> {
  readonly #byConnection = new Map<object, (() => void)[]>();

  get size(): number {
    return this.#byConnection.size;
  }

  add(connection: object, begin: () => void): void {
    const others = this.#byConnection.get(connection);
    if (others === undefined) this.#byConnection.set(connection, [begin]);
    else others.push(begin);
  }

  take(): (() => void) | undefined {
    const [first] = this.#byConnection;
    if (first === undefined) return undefined;
    const [connection, begins] = first;
    const begin = begins.shift();
    this.#byConnection.delete(connection);
    if (begins.length > 0) this.#byConnection.set(connection, begins);
    return begin;
  }
}

/** Takes the beginning with the lowest number first. */
export class Oldest implements Waiting<number> {
  readonly #heap = new Heap<{ readonly age: number; readonly begin: () => void }>(
    (a, b) => a.age - b.age,
  );

  get size(): number {
    return this.#heap.size;
  }

  add(age: number, begin: () => void): void {
    this.#heap.push({ age, begin });
  }

  take(): (() => void) | undefined {
    return this.#heap.pop()?.begin;
  }
}
