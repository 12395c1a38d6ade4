/**
 * A controller as other projects write one: a kind, the kinds it makes for it, and `reconcile`.
 *
 *   informer of `ref` ────── key of the object ──────┐
 *   informers of `owns` ──── key of its controller ──┴─► work queue ─► `workers` × reconcile
 *
 * Holds  workers run only after every informer has its first list, and with `election` only while the lease is held.
 *        A key is never reconciled by two workers of one process at once.
 * Out    counts and times under controller-runtime's names (`metricsText`).
 * Bounds one queue entry per key; a reconcile that throws is tried again after 5 ms, doubling to 1,000 s.
 */
import type { KubeObject } from "#api/object.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Client, ResourceRef } from "./client.ts";
import { electionTimes, runElected } from "./election.ts";
import { commonIndexes, keyOf } from "./indexer.ts";
import type { Informer } from "./informer.ts";
import type { InformerSet } from "./informer-set.ts";
import { ReconcileMetrics } from "./reconcile-metrics.ts";
import { runWorkers, type ReconcileResult } from "./run-workers.ts";
import { WorkQueue } from "./workqueue.ts";

export interface ControllerDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ReconcileRequest<T> {
  /** `namespace/name`, or `name` of an object without a namespace. */
  readonly key: string;
  /** As the informer has it, frozen and perhaps a little old; undefined: it is gone. */
  readonly object: T | undefined;
  /** Aborts when the controller stops or loses its lease: write nothing after that. */
  readonly signal: AbortSignal;
}

export interface ControllerOptions<T extends KubeObject> {
  /** The label `controller` of its metrics. */
  readonly name: string;
  readonly ref: ResourceRef;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** A change of one of these reconciles the object that its controller reference names. */
  readonly owns?: readonly ResourceRef[];
  /** Keys reconciled at a time; controller-runtime's default is 1. */
  readonly workers: number;
  /** Absent: works without a lease, so only one process may run it. */
  readonly election?: {
    readonly namespace: string;
    readonly name: string;
    /** Unique per process: host name and a random part. */
    readonly identity: string;
  };
  /** Makes the world as the object says; running it twice is harmless. Throws to be tried again. */
  readonly reconcile: (request: ReconcileRequest<T>) => Promise<ReconcileResult>;
}

export interface CustomController<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Resolves after `signal` aborts, when the last reconcile has ended and the lease is released. Call once. */
  run(signal: AbortSignal): Promise<void>;
  /** Every informer has its first list. For a readiness probe. */
  isReady(): boolean;
  isLeading(): boolean;
  /** Prometheus text. */
  metricsText(): string;
}

/** Asks for its informers at once; `deps.informers.run(signal)` is the caller's, because sets are shared. */
export function createController<T extends KubeObject>(
  deps: ControllerDeps,
  options: ControllerOptions<T>,
): CustomController<T> {
  return new FramedController(deps, options);
}

class FramedController<T extends KubeObject> implements CustomController<T> {
  readonly informer: Informer<T>;
  readonly #deps: ControllerDeps;
  readonly #options: ControllerOptions<T>;
  readonly #owned: readonly Informer<KubeObject>[];
  readonly #metrics: ReconcileMetrics;
  /** Of the present term: a queue that was closed is not opened again. */
  #queue: WorkQueue | undefined;

  constructor(deps: ControllerDeps, options: ControllerOptions<T>) {
    const { namespace, owns = [] } = options;
    const selection = namespace === undefined ? {} : { namespace };
    this.#deps = deps;
    this.#options = options;
    this.#metrics = new ReconcileMetrics(options);
    this.informer = deps.informers.informer<T>(options.ref, selection);
    this.#owned = owns.map((ref) => deps.informers.informer(ref, selection));
    this.informer.addIndex("uid", ({ metadata }) => (metadata?.uid ? [metadata.uid] : []));
    this.informer.addHandler(everyChange((object) => this.#queue?.add(keyOf(object))));
    for (const each of this.#owned) each.addHandler(everyChange((part) => this.#addOwner(part)));
  }

  isReady(): boolean {
    return this.informer.hasSynced && this.#owned.every(({ hasSynced }) => hasSynced);
  }

  isLeading(): boolean {
    return this.#queue !== undefined;
  }

  metricsText(): string {
    return this.#metrics.text(this.#queue?.metrics(), this.isLeading());
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#deps.informers.synced(signal);
    const { election } = this.#options;
    if (election === undefined) return this.#work(signal);
    const term = { ...election, ...electionTimes };
    await runElected(this.#deps, term, (lead) => this.#work(lead), signal);
  }

  async #work(signal: AbortSignal): Promise<void> {
    const queue = new WorkQueue(this.#deps, { name: this.#options.name });
    this.#queue = queue;
    for (const object of this.informer.values()) queue.add(keyOf(object));
    await runWorkers(queue, this.#options.workers, (key) => this.#reconcile(key, signal), signal);
    this.#queue = undefined;
  }

  #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.informer.getByKey(key);
    const { clock } = this.#deps;
    return this.#metrics.measure(clock, () => this.#options.reconcile({ key, object, signal }));
  }

  #addOwner(part: KubeObject): void {
    for (const uid of commonIndexes.controllerUid(part)) {
      for (const owner of this.informer.byIndex("uid", uid)) this.#queue?.add(keyOf(owner));
    }
  }
}

/** `old` counts too: an object that changes its controller leaves one behind. */
function everyChange(take: (object: KubeObject) => void) {
  return {
    add: take,
    update: (old: KubeObject, object: KubeObject) => {
      take(old);
      take(object);
    },
    delete: take,
  };
}
