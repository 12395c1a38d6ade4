/**
 * Work queue of keys for level-triggered loops.
 *
 * Holds  a key waits at most once. A key under work is never given to a second worker: if it is added again
 *        meanwhile, it waits until `done`, then runs once more.
 * Out    keys in the order in which they were added; after a failure later, 5 ms doubling to 1,000 s.
 * Bounds as many entries as there are distinct keys, which the informers bound; no request rate limit
 *        (the server's flow control paces this process: see retryAfterMs in run-workers.ts).
 * After  client-go util/workqueue.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { stepMs } from "./backoff.ts";
import { DelayHeap } from "./delay-heap.ts";

interface WorkQueueOptions {
  /** The controller's name, used in log lines and metrics. */
  readonly name: string;
  readonly retryFirstMs?: number;
  readonly retryMostMs?: number;
}

/** A queue's current state: what a watchdog needs to distinguish progress from liveness. */
export interface WorkQueueMetrics {
  /** Number of keys ready to be taken. */
  readonly waiting: number;
  readonly working: number;
  readonly delayed: number;
  /** Number of keys with a failure that was not forgotten. */
  readonly failing: number;
  /** Counted since the queue was created, like the observer's calls. */
  readonly added: number;
  readonly done: number;
  readonly retries: number;
  /** Time since the longest-waiting key was added; 0 when none waits. */
  readonly oldestWaitingMs: number;
  /** Time since each key in work was taken: the sum, and the maximum. */
  readonly unfinishedMs: number;
  readonly longestRunningMs: number;
}

/**
 * Called at each step of a key, synchronously, for counters and histograms. Steps are counted as client-go's
 * `workqueue_*` metrics count them, except retries.
 */
export interface WorkQueueObserver {
  /** A key that was not waiting was added: `adds_total`. */
  added(): void;
  /** A worker took a key that had waited this long: `queue_duration_seconds`. */
  taken(waitedMs: number): void;
  /** A worker finished a key after this time: `work_duration_seconds`. */
  done(workedMs: number): void;
  /** A key failed and is retried: `retries_total`. As in client-go, keys to be reconciled again later count too. */
  retried(): void;
}

/** The operations that sources of keys use. */
export type KeySink = Pick<WorkQueue, "add" | "addAfter">;

interface WorkQueueDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: WorkQueueObserver;
}

const upstreamRetry = { firstMs: 5, mostMs: 1_000_000 };

export class WorkQueue {
  readonly name: string;
  readonly log: Log;
  readonly #clock: Clock;
  readonly #retry: { readonly firstMs: number; readonly mostMs: number };
  readonly #delayed: DelayHeap;
  readonly #observer: WorkQueueObserver | undefined;
  /** Ready keys in order, with the time they were added. A Map, so that taking the first is O(1). */
  readonly #waiting = new Map<string, number>();
  /** Keys in work, with the time they were taken. */
  readonly #working = new Map<string, number>();
  /** Keys added while in work, with the time they were added. */
  readonly #again = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;
  #added = 0;
  #done = 0;
  #retries = 0;

  constructor(deps: WorkQueueDeps, options: WorkQueueOptions) {
    this.name = options.name;
    this.log = deps.log.child({ queue: options.name });
    this.#clock = deps.clock;
    this.#observer = deps.observer;
    this.#retry = {
      firstMs: options.retryFirstMs ?? upstreamRetry.firstMs,
      mostMs: options.retryMostMs ?? upstreamRetry.mostMs,
    };
    this.#delayed = new DelayHeap({
      clock: deps.clock,
      timerName: "client.delay",
      due: (key) => this.add(key),
    });
  }

  metrics(): WorkQueueMetrics {
    const nowMs = this.#clock.monotonicMs();
    const [oldestMs = nowMs] = this.#waiting.values();
    const runningMs = [...this.#working.values()].map((takenMs) => nowMs - takenMs);
    return {
      waiting: this.#waiting.size,
      working: this.#working.size,
      delayed: this.#delayed.size,
      failing: this.#failures.size,
      added: this.#added,
      done: this.#done,
      retries: this.#retries,
      oldestWaitingMs: nowMs - oldestMs,
      unfinishedMs: runningMs.reduce((sum, ms) => sum + ms, 0),
      longestRunningMs: Math.max(0, ...runningMs),
    };
  }

  add(key: string): void {
    if (this.#closed || this.#waiting.has(key) || this.#again.has(key)) return;
    this.#added++;
    this.#observer?.added();
    const addedMs = this.#clock.monotonicMs();
    if (this.#working.has(key)) this.#again.set(key, addedMs);
    else this.#makeReady(key, addedMs);
  }

  #makeReady(key: string, addedMs: number): void {
    const taker = this.#takers.shift();
    if (taker === undefined) return void this.#waiting.set(key, addedMs);
    this.#startWork(key, addedMs);
    taker(key);
  }

  #startWork(key: string, addedMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#working.set(key, nowMs);
    this.#observer?.taken(nowMs - addedMs);
  }

  /** Adds the key after `delayMs`; of several delays for one key the shortest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) return this.add(key);
    this.#delayed.add(key, delayMs);
  }

  /** Adds the key after its own backoff, which doubles until `forget`. */
  addRateLimited(key: string): void {
    this.addAfter(key, this.failed(key));
  }

  /** Counts a failure and returns the resulting delay. */
  failed(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#retries++;
    this.#observer?.retried();
    return stepMs(this.#retry, failures);
  }

  /** Resets the key's backoff after a success, or when its object is gone. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  retriesOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key; the caller must call `done` for it. Undefined once the queue is closed. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const [first] = this.#waiting;
    if (first === undefined) return new Promise((resolve) => void this.#takers.push(resolve));
    const [key, addedMs] = first;
    this.#waiting.delete(key);
    this.#startWork(key, addedMs);
    return Promise.resolve(key);
  }

  done(key: string): void {
    const nowMs = this.#clock.monotonicMs();
    this.#observer?.done(nowMs - (this.#working.get(key) ?? nowMs));
    this.#working.delete(key);
    this.#done++;
    const addedMs = this.#again.get(key);
    if (addedMs === undefined) return;
    this.#again.delete(key);
    this.#makeReady(key, addedMs);
  }

  /** Drops waiting keys and resolves all takers with undefined. `done` may still be called for keys in work. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#again.clear();
    this.#delayed.clear();
    this.#failures.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }
}
