/**
 * Garbage collector: deletes objects whose owners are all deleted. Foreground deletion waits for blocking dependents;
 * orphaning removes the owner references of dependents.
 *
 * In    every resource that can be listed, watched and deleted, found by discovery every 30 s and when
 *       definitions of custom resources change.
 * Out   deletes and patches that name uid and resourceVersion: an object that got another owner meanwhile is checked
 *       again, never deleted because of its old owners.
 * Safe  an owner that no informer has shown is read by a live GET before its dependents are deleted: it is absent only
 *       when the server says so. Dependents are orphaned only when every kind has been read, so that none is missed and
 *       collected later.
 * Slow  kinds that cannot be listed (an unavailable aggregated API) delay the start by at most `syncMs`.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource } from "#client/sources.ts";
import { sleep, type Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { DiscoveredResource } from "../framework/discovery.ts";
import { onKindsChanged } from "../framework/kind-changes.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ForeignOwners } from "./foreign-owners.ts";
import {
  foregroundFinalizer,
  orphanFinalizer,
  OwnerGraph,
  type Dirty,
  type GraphNode,
} from "./graph.ts";
import { WatchedKinds } from "./kinds.ts";
import { OwnerVerdicts } from "./owners.ts";
import { planCollect, type CollectPlan, type Verdict } from "./plan.ts";
import { GarbageControl, isObserved, type ObservedNode } from "./garbage-control.ts";

export const garbageRole: ControllerRole = {
  account: "generic-garbage-collector",
  rules: ["delete,get,list,patch,update,watch | * | *", "events"],
};

/** Concurrent calls about one object. */
const callsAtOnce = 20;
/** Interval after which new kinds are collected too; upstream's resync. */
const discoveryMs = 30_000;
const gatherMs = 500;
const syncMs = 30_000;
/** Retry delay for an owner that exists but was not observed, or is of an unknown kind. */
const unseenMs = 30_000;
/** Retry delay of orphaning while kinds are being read. */
const unreadMs = 1_000;

export class GarbageCollector implements KeyOptions {
  readonly name = "garbage-collector";
  readonly workers = 20;
  readonly #dirty = new KeySource();
  readonly sources = [this.#dirty];
  readonly #clock: Clock;
  readonly #graph = new OwnerGraph();
  readonly #kinds: WatchedKinds;
  readonly #owners: OwnerVerdicts;
  readonly #foreign: ForeignOwners;
  readonly #control: GarbageControl;
  /** Whether kinds have changed since the last discovery began. */
  #haveKindsChanged = false;
  /** Ends the wait for the next discovery. */
  #wake: (() => void) | undefined;

  constructor(deps: ControllerDeps) {
    const graph = this.#graph;
    this.#clock = deps.clock;
    this.#kinds = new WatchedKinds(deps, {
      onObserved: (ref, object) => this.#observe(ref, object),
      onDeleted: (resource, object) => this.#observeDeleted(resource, object),
      onForgotten: (object) => this.#enqueue(graph.forget(object.metadata?.uid ?? "")),
    });
    onKindsChanged(deps.informers, () => {
      this.#haveKindsChanged = true;
      this.#wake?.();
    });
    this.#owners = new OwnerVerdicts({ client: deps.client, graph, kinds: this.#kinds });
    this.#foreign = new ForeignOwners({ recorder: deps.recorder, graph, kinds: this.#kinds });
    this.#control = new GarbageControl(deps);
  }

  /** Does not wait for all kinds, because one that cannot be listed must not block the others forever. */
  async sync(signal: AbortSignal): Promise<void> {
    await this.#kinds.discover();
    const late = sleep(this.#clock, "controllers.resync", syncMs, signal);
    await Promise.race([this.#kinds.synced(), late]);
  }

  async background(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isEarly = await this.#untilDue(signal);
      // Definitions often come in groups, which one discovery covers.
      if (isEarly) await sleep(this.#clock, "controllers.delay", gatherMs, signal);
      if (signal.aborted) return;
      this.#haveKindsChanged = false;
      await this.#kinds.discover();
    }
  }

  /** @returns whether the kinds changed before the interval had passed. */
  async #untilDue(signal: AbortSignal): Promise<boolean> {
    if (this.#haveKindsChanged) return true;
    const wait = new AbortController();
    const stop = (): void => wait.abort();
    signal.addEventListener("abort", stop);
    this.#wake = stop;
    await sleep(this.#clock, "controllers.resync", discoveryMs, wait.signal);
    this.#wake = undefined;
    signal.removeEventListener("abort", stop);
    return wait.signal.aborted;
  }

  #observe(ref: ResourceRef, object: KubeObject): void {
    const uid = object.metadata?.uid ?? "";
    const known = this.#graph.get(uid);
    const before = known && { isObserved: known.isObserved, owners: known.owners };
    this.#enqueue(this.#graph.observe(ref, object));
    const node = this.#graph.get(uid);
    if (isObserved(node)) this.#foreign.report(node, before);
  }

  #observeDeleted({ ref: { group }, kind }: DiscoveredResource, { metadata }: KubeObject): void {
    const { uid = "", namespace = "", name = "" } = metadata ?? {};
    this.#owners.rememberAbsent({ group, kind, namespace, name, uid });
    this.#enqueue(this.#graph.remove(uid));
  }

  #enqueue(dirty: Dirty): void {
    for (const node of dirty.collect) this.#dirty.add(node.uid);
    for (const node of dirty.orphan) this.#dirty.add(node.uid);
  }

  async reconcile({ key: uid, signal }: KeyRequest): Promise<ReconcileResult> {
    const node = this.#graph.get(uid);
    if (!isObserved(node)) return;
    if (node.isOrphaning) return this.#orphanDependents(node, signal);
    if (node.isWaiting) return this.#finishForeground(node);
    if (node.isDeleting || node.owners.length === 0) return;
    return this.#collect(node, signal);
  }

  async #collect(node: ObservedNode, signal: AbortSignal): Promise<ReconcileResult> {
    // A copy, because the graph may change while owners are looked up; writes name the copied version.
    const judged = { ...node };
    const judge = (owner: OwnerReference): Promise<Verdict> => this.#owners.judge(judged, owner);
    const verdicts = await this.#inBatches(judged.owners, judge, signal);
    await this.#carryOut(judged, planCollect(judged, verdicts));
    const isOpen = verdicts.includes("unseen") || verdicts.includes("unknown");
    return isOpen ? { requeueAfterMs: unseenMs } : undefined;
  }

  async #carryOut(node: ObservedNode, plan: CollectPlan): Promise<void> {
    switch (plan.kind) {
      case "keep":
        return;
      case "set-owners":
        return this.#control.setOwners(node, plan.owners);
      case "delete":
        return this.#control.delete(node, plan.policy);
      default:
        plan satisfies never;
    }
  }

  async #finishForeground(node: ObservedNode): Promise<void> {
    const blocking = this.#graph.blocking(node);
    if (blocking.length === 0) return this.#control.removeFinalizer(node, foregroundFinalizer);
    for (const dependent of blocking) if (!dependent.isDeleting) this.#dirty.add(dependent.uid);
  }

  async #orphanDependents(node: ObservedNode, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#kinds.hasUnread()) return { requeueAfterMs: unreadMs };
    await this.#inBatches([...node.dependents], (one) => this.#release(node, one), signal);
    await this.#control.removeFinalizer(node, orphanFinalizer);
    return undefined;
  }

  async #release(owner: ObservedNode, dependent: GraphNode): Promise<void> {
    if (!isObserved(dependent)) return;
    const rest = dependent.owners.filter(({ uid }) => uid !== owner.uid);
    await this.#control.setOwners(dependent, rest);
  }

  /** Yields to the event loop between batches, because an object may have thousands of owners. */
  async #inBatches<T, R>(
    all: readonly T[],
    call: (one: T) => Promise<R>,
    signal: AbortSignal,
  ): Promise<readonly R[]> {
    const answers: R[] = [];
    for (let at = 0; at < all.length; at += callsAtOnce) {
      if (at > 0) await sleep(this.#clock, "controllers.delay", 0, signal);
      answers.push(...(await Promise.all(all.slice(at, at + callsAtOnce).map(call))));
    }
    return answers;
  }
}
