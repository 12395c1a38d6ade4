/**
 * Work queue of keys for level-triggered loops.
 *
 * Holds  a key waits at most once; a key under work is never given to a second worker: added again
 *        meanwhile it waits until `done`, then once more.
 * Out    keys in the order of their adding; after a failure later, 5 ms doubling to 1,000 s.
 * Bounds as many entries as there are distinct keys, which the informers bound; no request rate limit
 *        (the server's flow control paces us: see retryAfterMs in run-workers.ts).
 * After  client-go util/workqueue.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { stepMs } from "./backoff.ts";
import { DelayHeap } from "./delay-heap.ts";

interface WorkQueueOptions {
  /** For log lines and metrics: the controller's name. */
  readonly name: string;
  readonly retryFirstMs?: number;
  readonly retryMostMs?: number;
}

/** The state of a queue when it is asked: what a watchdog needs to tell progress from liveness. */
export interface WorkQueueMetrics {
  /** Ready to be taken now. */
  readonly waiting: number;
  readonly working: number;
  readonly delayed: number;
  /** Keys with at least one failure that was not forgotten. */
  readonly failing: number;
  /** Since the queue was made, as the observer is called. */
  readonly added: number;
  readonly done: number;
  readonly retries: number;
  /** Since the key that waits longest was added; 0 when none waits. */
  readonly oldestWaitingMs: number;
  /** Of the keys under work, the time since each was taken: summed, and the longest. */
  readonly unfinishedMs: number;
  readonly longestRunningMs: number;
}

/**
 * Called at each step of a key, synchronously, for counters and histograms. Steps are counted as client-go's
 * `workqueue_*` metrics count them, but for retries.
 */
export interface WorkQueueObserver {
  /** A key that was not waiting yet was added: `adds_total`. */
  added(): void;
  /** A worker took a key so long after it was added: `queue_duration_seconds`. */
  taken(waitedMs: number): void;
  /** A worker gave a key back so long after it took it: `work_duration_seconds`. */
  done(workedMs: number): void;
  /** A key failed and is tried again: `retries_total`. client-go counts keys to look at again later as well. */
  retried(): void;
}

/** What a source of keys does to a queue. */
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
  /** Ready keys in order, with the time they were added. A Map, so taking the first is O(1). */
  readonly #waiting = new Map<string, number>();
  /** With the time they were taken. */
  readonly #working = new Map<string, number>();
  /** Added while under work, with the time they were added. */
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

  /** Adds the key after `delayMs`; of two delays for one key the sooner counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) return this.add(key);
    this.#delayed.add(key, delayMs);
  }

  /** Adds the key after its own backoff, which doubles until `forget`. */
  addRateLimited(key: string): void {
    this.addAfter(key, this.failed(key));
  }

  /** Counts one failure and returns the delay it earns. */
  failed(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#retries++;
    this.#observer?.retried();
    return stepMs(this.#retry, failures);
  }

  /** The key did well, or its object is gone: the next failure starts at the first step. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  retriesOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, which the taker must give back by `done`; undefined once the queue is closed. */
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

  /** Drops what waits and wakes all takers with undefined. Keys under work may still call `done`. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#again.clear();
    this.#delayed.clear();
    this.#failures.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }
}
