/**
 * The autoscaler's shell: reads the provider, plans, and carries the plan out, one loop after the other.
 *
 *   refresh ─► snapshot ─► plan (pure) ─► increases, decreases ─► removals, which go on beside the next loops ─► status
 *
 * Holds  one loop at a time; a group is asked to grow only within the maximum it showed; a node is removed once at a
 *        time. A loop that fails is logged and counted, and the next one comes after the scan interval.
 * Bounds removals under way: `maxScaleDownParallelism`; `unhelpedMax` events on Pods that nothing helps, per loop.
 */
import type { ConfigMap } from "#api/gen/types.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import { createEventRecorder, type EventRecorder } from "#client/events.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Action } from "./action.ts";
import { Book } from "./book.ts";
import { Budgets, verdictOn } from "./drainable.ts";
import { Feed } from "./feed.ts";
import { type GroupSelection, GroupView } from "./group-view.ts";
import type { AutoscalerMetrics } from "./metrics.ts";
import type { AutoscalerOptions } from "./options.ts";
import { plan, type Plan } from "./plan.ts";
import type { NodeGroupProvider } from "./provider.ts";
import { editTaints, removeNode } from "./removal.ts";
import { type Transitions, statusText } from "./status.ts";
import { withMark, withoutMark } from "./taints.ts";

interface AutoscalerDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly provider: NodeGroupProvider;
  readonly metrics: AutoscalerMetrics;
}

interface Place {
  /** Namespace of the status ConfigMap and of the priority expander's ConfigMap. */
  readonly namespace: string;
  readonly statusName: string;
}

interface Autoscaler {
  /** Runs until `signal` aborts; resolves when the removals in progress have ended. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

export function createAutoscaler(
  deps: AutoscalerDeps,
  given: {
    readonly options: AutoscalerOptions;
    readonly selection: GroupSelection;
    readonly place: Place;
  },
): Autoscaler {
  return new Shell(deps, given.options, given);
}

const configMapsRef = { group: "", version: "v1", resource: "configmaps" } as const;
const component = "cluster-autoscaler";
const unhelpedMax = 200;
const helpedMax = 200;

class Shell implements Autoscaler {
  readonly #deps: AutoscalerDeps;
  readonly #options: AutoscalerOptions;
  readonly #place: Place;
  readonly #feed: Feed;
  readonly #view: GroupView;
  readonly #book = new Book();
  readonly #events: EventRecorder;
  readonly #removals = new Set<Promise<void>>();
  readonly #transitions: Transitions = new Map();
  #status: ConfigMap | undefined;

  constructor(
    deps: AutoscalerDeps,
    options: AutoscalerOptions,
    { selection, place }: { readonly selection: GroupSelection; readonly place: Place },
  ) {
    const { namespace } = place;
    this.#deps = deps;
    this.#options = options;
    this.#place = place;
    const readsPriorities = options.expanders.includes("priority");
    this.#feed = new Feed(deps, { namespace, readsPriorities });
    this.#view = new GroupView(deps, selection, options.group);
    this.#events = createEventRecorder(deps, { component });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const removers = this.#feed.subscribe();
    const ended = sleep(clock, "autoscaler.scan", 2 ** 31 - 1, signal);
    await Promise.race([Promise.all(this.#feed.synced), ended]);
    while (!signal.aborted) {
      await this.#loop(signal);
      await sleep(clock, "autoscaler.scan", this.#options.scanIntervalMs, signal);
    }
    for (const remove of removers) remove();
    await Promise.all(this.#removals);
    this.#deps.metrics.show(undefined);
    await this.#events.close();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    try {
      const groups = await this.#view.read((instances) => this.#feed.example(instances));
      metrics.ran("cloudProviderRefresh", clock.monotonicMs() - startMs, clock.nowMs());
      if (signal.aborted) return;
      const nowMs = clock.nowMs();
      const snapshot = this.#feed.snapshot(groups, nowMs);
      const { random } = this.#deps;
      const options = this.#options;
      const made = plan({ snapshot, book: this.#book, options, random });
      metrics.show({ plan: made, book: this.#book, nowMs });
      await this.#writeStatus(made, nowMs);
      await this.#carryOut(made, signal);
    } catch (error) {
      metrics.failed("cloudProviderError");
      log.warn("a loop of the autoscaler failed", { error: textOf(error) });
    }
    metrics.ran("main", clock.monotonicMs() - startMs, clock.nowMs());
  }

  async #carryOut(made: Plan, signal: AbortSignal): Promise<void> {
    const { metrics, clock } = this.#deps;
    const startMs = clock.monotonicMs();
    for (const action of made.actions) {
      if (signal.aborted) return;
      if (action.kind === "remove") this.#remove(action, signal);
      else await this.#change(action);
    }
    for (const { info, reasons } of made.unhelped.slice(0, unhelpedMax)) {
      const texts = [...reasons].map(([text, count]) => `${count} ${text}`);
      const why = texts.length === 0 ? "no node group is there" : texts.join(", ");
      this.#podEvent(info, "NotTriggerScaleUp", `pod didn't trigger scale-up: ${why}`);
    }
    if (made.hasReachedNodesTotal) {
      const text = `Max total nodes in cluster reached: ${this.#options.maxNodesTotal}`;
      this.#clusterEvent("Warning", "MaxNodesTotalReached", text);
    }
    if (!made.isHealthy) this.#clusterEvent("Warning", "ClusterUnhealthy", "Cluster is unhealthy");
    metrics.ran("scaleUp", clock.monotonicMs() - startMs, clock.nowMs());
  }

  /** A failure affects only the group of the action. */
  async #change(action: Exclude<Action, { kind: "remove" }>): Promise<void> {
    const { provider, metrics, log, client, clock } = this.#deps;
    try {
      switch (action.kind) {
        case "increase":
          return await this.#increase(action);
        case "decrease":
          await provider.decreaseTarget(action.group, action.delta);
          return metrics.failedScaleUp("timeout");
        case "delete-instances":
          await this.#giveBack(action.group, action.ids);
          return;
        case "mark":
          return await editTaints(client, action.node.metadata?.name ?? "", (node) => ({
            taints: [...withMark(node, "deletion-candidate", clock.nowMs())],
          }));
        case "unmark":
          return await editTaints(client, action.node.metadata?.name ?? "", (node) => ({
            taints: [...withoutMark(node, "deletion-candidate")],
          }));
        default:
          action satisfies never;
      }
    } catch (error) {
      log.warn("the autoscaler's change failed", { action: action.kind, error: textOf(error) });
    }
  }

  async #increase(action: Extract<Action, { kind: "increase" }>): Promise<void> {
    const { provider, metrics, clock } = this.#deps;
    const { group, delta, from, max, pods } = action;
    const nowMs = clock.nowMs();
    // Recorded before the call, because a call without an answer may still have taken effect.
    this.#book.added(group, delta, nowMs);
    try {
      await provider.increase(group, delta);
    } catch (error) {
      const message = textOf(error);
      this.#book.fail(group, { code: "cloudProviderError", message }, nowMs, this.#options);
      metrics.failedScaleUp("cloudProviderError");
      const text = `Scale-up failed for group ${group}: ${message}`;
      this.#clusterEvent("Warning", "FailedToScaleUpGroup", text);
      throw error;
    }
    metrics.scaledUp(delta);
    const to = from + delta;
    const text = `Scale-up: group ${group} size set to ${to} instead of ${from} (max: ${max})`;
    this.#clusterEvent("Normal", "ScaledUpGroup", text);
    const change = `pod triggered scale-up: [{${group} ${from}->${to} (max: ${max})}]`;
    for (const info of pods.slice(0, helpedMax)) this.#podEvent(info, "TriggeredScaleUp", change);
  }

  async #giveBack(group: string, ids: readonly string[]): Promise<void> {
    const { provider, metrics } = this.#deps;
    const nodes = ids.map((id) => {
      const name = id.slice(id.lastIndexOf("/") + 1);
      return { name, providerId: id, labels: {}, annotations: {} };
    });
    await provider.deleteNodes(group, nodes);
    metrics.gaveBack(ids.length);
    metrics.failedScaleUp("timeout");
    for (const id of ids) {
      this.#clusterEvent("Normal", "DeleteUnregistered", `Removed unregistered node ${id}`);
    }
  }

  /** Starts a removal, which continues in parallel with the next loops. */
  #remove(action: Extract<Action, { kind: "remove" }>, signal: AbortSignal): void {
    const { node, group, pods, utilization, reason } = action;
    const name = node.metadata?.name ?? "";
    this.#book.removing.set(name, { group, isDrain: pods.length > 0 });
    const names = pods.map(({ key }) => key).join(",");
    if (pods.length === 0) {
      this.#clusterEvent("Normal", "ScaleDownEmpty", `Scale-down: removing empty node "${name}"`);
    } else {
      const text = `Scale-down: removing node ${name}, utilization: ${utilization.toFixed(2)}, pods to reschedule: ${names}`;
      this.#clusterEvent("Normal", "ScaleDown", text);
    }
    const { client, clock, provider, metrics, log } = this.#deps;
    const movableOn = (nodeName: string) => this.#movableOn(nodeName);
    const deps = { client, clock, provider, metrics, events: this.#events, movableOn };
    const done = removeNode(deps, action, this.#options, signal).then(
      () => {
        this.#book.lastDeleteMs = clock.nowMs();
        metrics.scaledDown(reason);
        const object = { ...node, apiVersion: "v1", kind: "Node" };
        const text = "nodes removed by cluster autoscaler";
        this.#events.event(object, "Normal", "ScaleDown", text);
      },
      (error: unknown) => {
        this.#book.lastFailureMs = clock.nowMs();
        log.warn("a node was not removed", { node: name, error: textOf(error) });
      },
    );
    const settled = done.then(() => {
      this.#book.removing.delete(name);
      this.#removals.delete(settled);
    });
    this.#removals.add(settled);
  }

  #movableOn(nodeName: string): readonly PodInfo[] | undefined {
    const { cache } = this.#feed.cluster;
    const slot = cache.nodes.slotOf(nodeName);
    if (slot === undefined) return [];
    const budgets = new Budgets([]);
    const movable: PodInfo[] = [];
    for (const info of cache.podsOn(slot)) {
      const { kind } = verdictOn(info, budgets, {
        ...this.#options,
        skipNodesWithSystemPods: false,
      });
      if (kind === "blocks") return undefined;
      if (kind === "moves") movable.push(info);
    }
    return movable;
  }

  #podEvent({ pod }: PodInfo, reason: string, text: string): void {
    this.#events.event({ ...pod, apiVersion: "v1", kind: "Pod" }, "Normal", reason, text);
  }

  /** Emits an event about the status ConfigMap, as upstream does. */
  #clusterEvent(type: "Normal" | "Warning", reason: string, text: string): void {
    if (this.#status === undefined) return;
    this.#events.event(
      { ...this.#status, apiVersion: "v1", kind: "ConfigMap" },
      type,
      reason,
      text,
    );
  }

  async #writeStatus(made: Plan, nowMs: number): Promise<void> {
    const { client, log } = this.#deps;
    const { namespace, statusName: name } = this.#place;
    const status = statusText(made, { book: this.#book, transitions: this.#transitions, nowMs });
    const updated = "cluster-autoscaler.kubernetes.io/last-updated";
    const metadata = { name, namespace, annotations: { [updated]: new Date(nowMs).toISOString() } };
    const object: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { status } };
    try {
      this.#status = await client.patch<ConfigMap>(configMapsRef, namespace, name, "merge", object);
    } catch (error) {
      if (!isNotFound(error))
        return log.warn("the status was not written", { error: textOf(error) });
      await client.create<ConfigMap>(configMapsRef, namespace, object).then(
        (made) => (this.#status = made),
        (again: unknown) => {
          if (!isAlreadyExists(again))
            log.warn("the status was not written", { error: textOf(again) });
        },
      );
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
