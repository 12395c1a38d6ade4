/**
 * The parts of every controller: a work queue of keys, its workers, and the shared informers.
 *
 * A controller is level-triggered: `reconcile(key)` reads the caches and makes the world as the object
 * says, whichever event woke it. Running it twice is harmless. The README has the recipe for a new one.
 */
import type { Client } from "#client/client.ts";
import type { ControllerDeps as FrameDeps } from "#client/controller-frame.ts";
import type { EventRecorder } from "#client/events.ts";
import { runWorkers, type Reconcile } from "#client/run-workers.ts";
import { WorkQueue, type WorkQueueMetrics } from "#client/workqueue.ts";

export interface ControllerDeps extends FrameDeps {
  /** A client of another service account, for a loop that does the work of two of upstream's. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly recorder: EventRecorder;
}

export interface Controller {
  /** Upstream's name: `replicaset-controller`. */
  readonly name: string;
  /** Works until `signal` aborts, once the informers have synced; handlers are registered before. */
  run(signal: AbortSignal): Promise<void>;
  metrics(): WorkQueueMetrics;
}

export interface QueueController extends Controller {
  readonly queue: WorkQueue;
}

/** A controller of one queue. `workers` keys are reconciled at a time, each by one worker. */
export function queueController(
  deps: ControllerDeps,
  options: { readonly name: string; readonly workers: number },
  reconcile: Reconcile,
): QueueController {
  const queue = new WorkQueue(deps, { name: options.name });
  return {
    name: options.name,
    queue,
    metrics: () => queue.metrics(),
    async run(signal) {
      await deps.informers.synced(signal);
      await runWorkers(queue, options.workers, reconcile, signal);
    },
  };
}
