/**
 * Carries out decisions: runs the plugins' steps before the bind, then POST pods/binding, many concurrently. It reports
 * the outcome to cache and queue: bound Pods leave the queue, others are forgotten and tried again after backoff.
 *
 * Bounds a Pod that waits for its volumes (up to ten minutes) does not count as a bind in flight, so a provisioner that
 *        is down delays only its own Pods. `preparing` is at most `preparingMax`.
 */
import { ApiError } from "#api/status.ts";
import { assert } from "#base/assert.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { retryAfterMs } from "#client/api-errors.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Cache } from "./cache.ts";
import { writeExpectedNode } from "./expected-node.ts";
import type { Extender } from "./extender.ts";
import type { Reservation } from "./plugin.ts";
import type { PodInfo } from "./pod-info.ts";
import type { QueuedPod, SchedulingQueue } from "./queue.ts";

interface BinderDeps {
  readonly client: Client;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  /** Returns the event recorder of the Pod's profile. */
  readonly eventsOf: (info: PodInfo) => EventRecorder;
  readonly log: Log;
  readonly clock: Clock;
  /** `bindMs`: duration of the bind alone, without the steps before the bind, in milliseconds. */
  readonly onBound?: (pod: QueuedPod, bindMs: number) => void;
  /** Called before the Pod is forgotten and returns to the queue. */
  readonly onFailed?: (pod: QueuedPod, nodeName: string) => void;
  /** Returns the extender that binds the Pod. Undefined: this scheduler binds the Pod. */
  readonly extenderOf?: (info: PodInfo) => Extender | undefined;
}

/** Maximum number of Pods that wait for their volumes; one more Pod is tried again after its backoff. */
const preparingMax = 4_096;

const confirmedWithinMs = 30_000;
/** Maximum number of concurrent bind requests; further binds, for example of a group, wait for a free place. */
const postsMax = 256;

/** A placement decision that is to be carried out. */
interface BindOrder {
  readonly pod: QueuedPod;
  readonly nodeName: string;
  readonly reservations: readonly Reservation[];
}

interface PrepareFailure {
  /** Plugin whose `preBind` failed. Undefined: the bind was given up because another Pod of the group failed. */
  readonly plugin: string | undefined;
  readonly error: unknown;
}

const pods = { group: "", version: "v1", resource: "pods" } as const;

export class Binder {
  readonly #deps: BinderDeps;
  readonly #ended: () => void;
  readonly #waiters: (() => void)[] = [];
  /** By Pod uid: abort controllers of the Pods in `preBind`. */
  readonly #preparing = new Map<string, AbortController>();
  /** By uid: timers of the Pods that an extender bound; at most the Pods that arrive within `confirmedWithinMs`. */
  readonly #confirming = new Map<string, Timer>();
  #posts = 0;
  /** Binds that wait until a running request ends. */
  readonly #backlog: (() => void)[] = [];
  inFlight = 0;
  bound = 0;
  errors = 0;

  /** `ended` is called after each bind, because one more bind can start then. */
  constructor(deps: BinderDeps, hooks: { ended: () => void }) {
    this.#deps = deps;
    this.#ended = hooks.ended;
  }

  /** Whether one more Pod may wait for the prerequisites of its bind. */
  get canPrepare(): boolean {
    return this.#preparing.size < preparingMax;
  }

  /** Binds a Pod. The Pod must be assumed on `nodeName`. */
  bind(pod: QueuedPod, nodeName: string, reservations: readonly Reservation[]): void {
    const isAssumed = this.#deps.cache.isAssumed(pod.info.uid);
    assert(isAssumed, "a Pod is assumed before its bind", { pod: pod.info.key });
    if (reservations.length === 0) return this.#startBind(pod, nodeName, reservations);
    const { uid } = pod.info;
    const preparing = new AbortController();
    this.#preparing.set(uid, preparing);
    void this.#prepare(pod, nodeName, reservations, preparing.signal).then((isReady) => {
      this.#preparing.delete(uid);
      if (isReady) this.#startBind(pod, nodeName, reservations);
      else this.#rested();
    });
  }

  /**
   * Binds the Pods of one group. None is bound before the preparations of all are complete. When one fails or is
   * deleted, or when the time is over, all are forgotten and tried again. Each Pod must be assumed.
   */
  bindTogether(orders: readonly BindOrder[], timeoutMs: number): void {
    if (orders.every(({ reservations }) => reservations.length === 0)) {
      for (const { pod, nodeName, reservations } of orders) {
        this.#startBind(pod, nodeName, reservations);
      }
      return;
    }
    void this.#bindWhenReady(orders, timeoutMs);
  }

  /** Never rejects. */
  async #bindWhenReady(orders: readonly BindOrder[], timeoutMs: number): Promise<void> {
    const all = new AbortController();
    const timer = this.#deps.clock.after("scheduler.groups", timeoutMs, () => all.abort());
    const failures = await Promise.all(orders.map((order) => this.#prepareMember(order, all)));
    timer.cancel();
    const isReady = failures.every((failure) => failure === undefined);
    orders.forEach(({ pod, nodeName, reservations }, at) => {
      this.#preparing.delete(pod.info.uid);
      if (isReady) return this.#startBind(pod, nodeName, reservations);
      const other = new Error("another pod of the group could not be bound");
      const failure = failures[at] ?? { plugin: undefined, error: other };
      this.#failed(pod, nodeName, reservations, failure);
    });
    this.#ended();
    this.#rested();
    if (isReady) return;
    const waited = orders.filter(({ reservations }) => reservations.length > 0);
    await Promise.all(waited.map(({ pod }) => writeExpectedNode(this.#deps, pod.info, undefined)));
  }

  /** Prepares the bind of one Pod of a group. Aborts `all` when the preparation fails. */
  async #prepareMember(
    { nodeName, pod, reservations }: BindOrder,
    all: AbortController,
  ): Promise<PrepareFailure | undefined> {
    const own = new AbortController();
    this.#preparing.set(pod.info.uid, own);
    const signal = AbortSignal.any([own.signal, all.signal]);
    // A deletion of the Pod aborts the whole group, which is then decided anew without that Pod.
    own.signal.addEventListener("abort", () => all.abort(), { once: true });
    if (reservations.length > 0) await writeExpectedNode(this.#deps, pod.info, nodeName);
    for (const reservation of reservations) {
      try {
        await reservation.preBind(signal);
        if (signal.aborted) throw new Error("context canceled");
      } catch (error) {
        all.abort();
        return { plugin: reservation.plugin, error };
      }
    }
    return undefined;
  }

  /** Stops all waits for the Pod, because the Pod was deleted or the scheduler stops. */
  cancel(uid: string): void {
    this.#preparing.get(uid)?.abort();
    this.#confirming.get(uid)?.cancel();
    this.#confirming.delete(uid);
  }

  cancelAll(): void {
    for (const timer of this.#confirming.values()) timer.cancel();
    this.#confirming.clear();
    for (const preparing of this.#preparing.values()) preparing.abort();
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }

  #isIdle(): boolean {
    return this.inFlight === 0 && this.#preparing.size === 0;
  }

  #rested(): void {
    if (!this.#isIdle()) return;
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  async #prepare(
    pod: QueuedPod,
    nodeName: string,
    reservations: readonly Reservation[],
    signal: AbortSignal,
  ): Promise<boolean> {
    await writeExpectedNode(this.#deps, pod.info, nodeName);
    for (const reservation of reservations) {
      try {
        await reservation.preBind(signal);
        if (signal.aborted) throw new Error("context canceled");
      } catch (error) {
        this.#failed(pod, nodeName, reservations, { plugin: reservation.plugin, error });
        await writeExpectedNode(this.#deps, pod.info, undefined);
        return false;
      }
    }
    return true;
  }

  #startBind(pod: QueuedPod, nodeName: string, reservations: readonly Reservation[]): void {
    this.inFlight++;
    const run = (): void => {
      this.#posts++;
      void this.#bind(pod, nodeName, reservations).finally(() => {
        this.#posts--;
        this.#backlog.shift()?.();
        this.inFlight--;
        this.#ended();
        this.#rested();
      });
    };
    if (this.#posts < postsMax) run();
    else this.#backlog.push(run);
  }

  async #bind(
    pod: QueuedPod,
    nodeName: string,
    reservations: readonly Reservation[],
  ): Promise<void> {
    const { clock, eventsOf, queue } = this.#deps;
    const { namespace, name, uid } = pod.info;
    const beganMs = clock.monotonicMs();
    try {
      const extender = this.#deps.extenderOf?.(pod.info);
      if (extender === undefined) await this.#post(pod.info, nodeName);
      else {
        await extender.bind(pod.info, nodeName);
        this.#confirmLater(pod, nodeName, reservations);
      }
      this.bound++;
      this.#deps.onBound?.(pod, clock.monotonicMs() - beganMs);
      if (extender === undefined) queue.delete(uid);
      const text = `Successfully assigned ${namespace}/${name} to ${nodeName}`;
      eventsOf(pod.info).event(pod.info.pod, "Normal", "Scheduled", text);
    } catch (error) {
      this.#failed(pod, nodeName, reservations, { plugin: undefined, error });
      if (reservations.length > 0) await writeExpectedNode(this.#deps, pod.info, undefined);
    }
  }

  /** Waits for the server to show the Pod bound; the answer of an extender alone does not prove the bind. */
  #confirmLater(pod: QueuedPod, nodeName: string, reservations: readonly Reservation[]): void {
    const { cache, clock } = this.#deps;
    const { uid } = pod.info;
    const timer = clock.after("scheduler.backoff", confirmedWithinMs, () => {
      this.#confirming.delete(uid);
      if (!cache.isAssumed(uid)) return;
      const error = new Error("the extender said that it had bound the pod, and it is not bound");
      this.#failed(pod, nodeName, reservations, { plugin: undefined, error });
    });
    this.#confirming.set(uid, timer);
  }

  async #post({ namespace, name, uid }: PodInfo, nodeName: string): Promise<void> {
    await this.#deps.client.createSub(pods, namespace, name, "binding", {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: nodeName },
    });
  }

  /** `plugin`: plugin whose `preBind` failed. Undefined: the bind itself failed. */
  #failed(
    pod: QueuedPod,
    nodeName: string,
    reservations: readonly Reservation[],
    { plugin, error }: { readonly plugin: string | undefined; readonly error: unknown },
  ): void {
    const { cache, eventsOf, log, queue } = this.#deps;
    this.errors++;
    this.#deps.onFailed?.(pod, nodeName);
    for (const reservation of reservations.toReversed()) reservation.unreserve();
    cache.forget(pod.info.uid);
    queue.failed(pod, retryAfterMs(error) ?? 0);
    const message = error instanceof Error ? error.message : String(error);
    log.debug("bind failed", { pod: pod.info.key, node: nodeName, error: message });
    const code = error instanceof ApiError ? error.status.code : undefined;
    // A Pod that was deleted or bound by another scheduler is not an error.
    if (code === 404 || code === 409) return;
    const step =
      plugin === undefined ? 'Bind plugin "DefaultBinder"' : `PreBind plugin "${plugin}"`;
    const text = `running ${step}: ${message}`;
    eventsOf(pod.info).event(pod.info.pod, "Warning", "FailedScheduling", text);
  }
}
