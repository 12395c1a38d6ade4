/**
 * Carries out decisions: POST pods/binding, many at once, and makes the outcome known to cache and
 * queue: bound Pods leave the queue, others are forgotten and tried again after backoff.
 */
import { ApiError } from "#api/status.ts";
import { assert } from "#base/assert.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { retryAfterMs } from "#client/api-errors.ts";
import type { Log } from "#platform/log.ts";
import type { Cache } from "./cache.ts";
import type { QueuedPod, SchedulingQueue } from "./queue.ts";

interface BinderDeps {
  readonly client: Client;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly events: EventRecorder;
  readonly log: Log;
}

const pods = { group: "", version: "v1", resource: "pods" } as const;

export class Binder {
  readonly #deps: BinderDeps;
  readonly #ended: () => void;
  readonly #waiters: (() => void)[] = [];
  inFlight = 0;
  bound = 0;
  errors = 0;

  /** `ended` is called whenever a bind has ended: there is room for another. */
  constructor(deps: BinderDeps, hooks: { ended: () => void }) {
    this.#deps = deps;
    this.#ended = hooks.ended;
  }

  /** The Pod must be assumed on `nodeName`. */
  bind(pod: QueuedPod, nodeName: string): void {
    const isAssumed = this.#deps.cache.isAssumed(pod.info.uid);
    assert(isAssumed, "a Pod is assumed before its bind", { pod: pod.info.key });
    this.inFlight++;
    void this.#bind(pod, nodeName).finally(() => {
      this.inFlight--;
      this.#ended();
      if (this.inFlight > 0) return;
      for (const waiter of this.#waiters.splice(0)) waiter();
    });
  }

  idle(): Promise<void> {
    if (this.inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }

  async #bind(pod: QueuedPod, nodeName: string): Promise<void> {
    const { client, events, queue } = this.#deps;
    const { namespace, name, uid } = pod.info;
    try {
      await client.createSub(pods, namespace, name, "binding", {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { namespace, name, uid },
        target: { apiVersion: "v1", kind: "Node", name: nodeName },
      });
      this.bound++;
      queue.delete(uid);
      const text = `Successfully assigned ${namespace}/${name} to ${nodeName}`;
      events.event(pod.info.pod, "Normal", "Scheduled", text);
    } catch (error) {
      this.#failed(pod, nodeName, error);
    }
  }

  #failed(pod: QueuedPod, nodeName: string, error: unknown): void {
    const { cache, events, log, queue } = this.#deps;
    this.errors++;
    cache.forget(pod.info.uid);
    queue.failed(pod, retryAfterMs(error) ?? 0);
    const message = error instanceof Error ? error.message : String(error);
    log.debug("bind failed", { pod: pod.info.key, node: nodeName, error: message });
    const code = error instanceof ApiError ? error.status.code : undefined;
    // Deleted, or bound by another scheduler: not an error.
    if (code === 404 || code === 409) return;
    const text = `running Bind plugin "DefaultBinder": ${message}`;
    events.event(pod.info.pod, "Warning", "FailedScheduling", text);
  }
}
