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

/** What a watchdog needs to tell progress from liveness. */
export interface WorkQueueMetrics {
  /** Ready to be taken now. */
  readonly waiting: number;
  readonly working: number;
  readonly delayed: number;
  /** Keys with at least one failure that was not forgotten. */
  readonly failing: number;
  /** Since the queue was made. */
  readonly added: number;
  readonly done: number;
  readonly retries: number;
  /** How long the oldest ready key has waited; 0 when none waits. */
  readonly oldestWaitingMs: number;
}

const upstreamRetry = { firstMs: 5, mostMs: 1_000_000 };

export class WorkQueue {
  readonly name: string;
  readonly log: Log;
  readonly #clock: Clock;
  readonly #retry: { readonly firstMs: number; readonly mostMs: number };
  readonly #delayed: DelayHeap;
  /** Ready keys in order, with the time they got ready. A Map, so taking the first is O(1). */
  readonly #waiting = new Map<string, number>();
  readonly #working = new Set<string>();
  /** Added while under work. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;
  #added = 0;
  #done = 0;
  #retries = 0;

  constructor(deps: { clock: Clock; log: Log }, options: WorkQueueOptions) {
    this.name = options.name;
    this.log = deps.log.child({ queue: options.name });
    this.#clock = deps.clock;
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
    const oldest = this.#waiting.values().next();
    return {
      waiting: this.#waiting.size,
      working: this.#working.size,
      delayed: this.#delayed.size,
      failing: this.#failures.size,
      added: this.#added,
      done: this.#done,
      retries: this.#retries,
      oldestWaitingMs: oldest.done === true ? 0 : this.#clock.monotonicMs() - oldest.value,
    };
  }

  add(key: string): void {
    if (this.#closed) return;
    this.#added++;
    if (this.#working.has(key)) return void this.#again.add(key);
    if (this.#waiting.has(key)) return;
    const taker = this.#takers.shift();
    if (taker === undefined) return void this.#waiting.set(key, this.#clock.monotonicMs());
    this.#working.add(key);
    taker(key);
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
    const first = this.#waiting.keys().next();
    if (first.done === true) return new Promise((resolve) => void this.#takers.push(resolve));
    this.#waiting.delete(first.value);
    this.#working.add(first.value);
    return Promise.resolve(first.value);
  }

  done(key: string): void {
    this.#working.delete(key);
    this.#done++;
    if (this.#again.delete(key)) this.add(key);
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
