/**
 * The frame of every controller: sources of keys, a work queue, workers, an election, metrics.
 *
 *   made ─► connected ─► (run) every informer has its first list ─► [leads] ─► workers ─► (abort) disconnected
 *              ▲                                                       │
 *              └────────────── with an election: at the start of a term ──────────────┘
 *
 * Holds  workers run only after the first lists, and with an election only while the lease is held. A key is never
 *        reconciled by two workers of one process at once. `run` ends after the last reconcile.
 *        Keys are collected from the moment the frame is made, so no change before `run` is lost. A new leader gets
 *        all keys.
 * Out    counts and times under controller-runtime's names (`metricsText`); the queue's state, and an observer of it.
 * Bounds one queue entry per key; a reconcile that throws is retried after 5 ms, doubling to 1,000 s.
 */
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Client } from "./client.ts";
import { electionTimes, runElected } from "./election.ts";
import type { InformerSet } from "./informer-set.ts";
import { ReconcileMetrics } from "./reconcile-metrics.ts";
import { runWorkers, type Reconcile } from "./run-workers.ts";
import type { Source } from "./sources.ts";
import { WorkQueue, type WorkQueueMetrics, type WorkQueueObserver } from "./workqueue.ts";

export interface ControllerDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The properties of a controller. */
export interface FrameOptions {
  /** Value of the label `controller` in its metrics. */
  readonly name: string;
  /** Maximum keys reconciled concurrently; controller-runtime's default is 1. */
  readonly workers: number;
  /** Absent: the controller runs without a lease, so only one process may run it. */
  readonly election?: {
    readonly namespace: string;
    readonly name: string;
    /** Unique per process: host name and a random part. */
    readonly identity: string;
  };
  /** Workers start when this resolves; absent: when every informer of the set has its first list. */
  sync?(signal: AbortSignal): Promise<void>;
  /** Runs in parallel to the workers; `signal` aborts when they end. */
  background?(signal: AbortSignal): Promise<void>;
}

/** Settings by which the process overrides a controller's properties. */
export interface ControllerSettings {
  /** Overrides the controller's own number. */
  readonly workers?: number;
  readonly observer?: WorkQueueObserver;
}

export interface FrameWork {
  readonly sources: readonly Source[];
  readonly reconcile: Reconcile;
}

export interface Controller {
  readonly name: string;
  /** Resolves after `signal` aborts, when the last reconcile has ended and the lease is released. */
  run(signal: AbortSignal): Promise<void>;
  /** Whether it runs and every informer has its first list; for a readiness probe. */
  isReady(): boolean;
  isLeading(): boolean;
  metrics(): WorkQueueMetrics;
  /** Metrics in Prometheus text format. */
  metricsText(): string;
}

export class ControllerFrame implements Controller {
  readonly name: string;
  readonly #deps: ControllerDeps;
  readonly #options: FrameOptions;
  readonly #work: FrameWork;
  readonly #workers: number;
  readonly #observer: { readonly observer?: WorkQueueObserver };
  readonly #metrics: ReconcileMetrics;
  /** The queue of the current term; a closed queue is not opened again. */
  #queue: WorkQueue | undefined;
  #disconnects: readonly (() => void)[] = [];
  /** The workers of `#queue`. If the background task fails, they go on until `run` is called again. */
  #working: Promise<void> | undefined;
  #isLeading = false;
  #hasSynced = false;

  constructor(
    deps: ControllerDeps,
    options: FrameOptions,
    work: FrameWork,
    { workers = options.workers, observer }: ControllerSettings,
  ) {
    this.name = options.name;
    this.#deps = deps;
    this.#options = options;
    this.#work = work;
    this.#workers = workers;
    this.#observer = given({ observer });
    this.#metrics = new ReconcileMetrics({ name: options.name, workers });
    if (options.election === undefined) this.#connect();
  }

  isReady(): boolean {
    const { sources } = this.#work;
    return this.#hasSynced && sources.every(({ informer }) => informer?.hasSynced !== false);
  }

  isLeading(): boolean {
    return this.#isLeading;
  }

  metrics(): WorkQueueMetrics {
    return this.#queue?.metrics() ?? noMetrics;
  }

  metricsText(): string {
    return this.#metrics.text(this.metrics(), this.#isLeading);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { election } = this.#options;
    if (this.#options.sync === undefined) await this.#deps.informers.synced(signal);
    else await this.#options.sync(signal);
    this.#hasSynced = !signal.aborted;
    if (election === undefined) return this.#lead(signal);
    const term = { ...election, ...electionTimes };
    await runElected(this.#deps, term, (lead) => this.#lead(lead), signal);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const queue = this.#queue ?? this.#connect();
    const end = new AbortController();
    this.#isLeading = true;
    try {
      await Promise.all([
        this.#runWorkers(queue, signal),
        this.#options.background?.(AbortSignal.any([signal, end.signal])),
      ]);
    } finally {
      end.abort();
      this.#isLeading = false;
      if (signal.aborted) this.#disconnect();
    }
  }

  #runWorkers(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    const reconcile: Reconcile = (key) =>
      this.#metrics.measure(this.#deps.clock, () => this.#work.reconcile(key, signal));
    this.#working ??= runWorkers(queue, this.#workers, reconcile, signal).finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  #connect(): WorkQueue {
    const queue = new WorkQueue({ ...this.#deps, ...this.#observer }, { name: this.name });
    this.#queue = queue;
    this.#disconnects = this.#work.sources.map((source) => source.connect(queue));
    return queue;
  }

  #disconnect(): void {
    for (const disconnect of this.#disconnects) disconnect();
    this.#disconnects = [];
    this.#queue = undefined;
  }
}

/** Queue metrics of a controller that is not the leader. */
const noMetrics: WorkQueueMetrics = {
  waiting: 0,
  working: 0,
  delayed: 0,
  failing: 0,
  added: 0,
  done: 0,
  retries: 0,
  oldestWaitingMs: 0,
  unfinishedMs: 0,
  longestRunningMs: 0,
};
