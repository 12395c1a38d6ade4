/**
 * Takes one node away: taints it, evicts its Pods, waits until they are gone, and tells the provider.
 *
 *   taint ─► look again ─► evict (budgets are the API server's to keep) ─► gone ─► delete at the provider
 *     └────────────────────── what fails takes the taint back ◄───────────────┘
 *
 * Bounds a Pod is tried for `maxPodEvictionMs`, and waited for as long as its grace period, at most
 *        `maxGracefulTerminationSeconds`, and half a minute more.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { isConflict, isNotFound, isTransient, retryAfterMs } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Action } from "./action.ts";
import type { AutoscalerMetrics } from "./metrics.ts";
import type { AutoscalerOptions } from "./options.ts";
import { type NodeGroupProvider, providerNode } from "./provider.ts";
import { withMark, withoutMark } from "./taints.ts";

const nodesRef = { group: "", version: "v1", resource: "nodes" } as const;
const podsRef = { group: "", version: "v1", resource: "pods" } as const;
const evictionRetryMs = 10_000;
const lookMs = 1_000;
const headroomMs = 30_000;
const defaultGraceSeconds = 30;
const conflictsMax = 5;

interface RemovalDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly provider: NodeGroupProvider;
  readonly metrics: AutoscalerMetrics;
  /** Pods that currently have to leave the node before its removal. Undefined: the node may not be removed any more. */
  readonly movableOn: (nodeName: string) => readonly PodInfo[] | undefined;
}

type Remove = Extract<Action, { kind: "remove" }>;

/** Removes a node. Rejects when the node stays; its taint is then removed. */
export async function removeNode(
  deps: RemovalDeps,
  { node, group, pods }: Remove,
  options: AutoscalerOptions,
  signal: AbortSignal,
): Promise<void> {
  const name = node.metadata?.name ?? "";
  const nowMs = deps.clock.nowMs();
  await editTaints(deps.client, name, (now) => ({
    taints: withMark(now, "to-be-deleted", nowMs),
    unschedulable: true,
  }));
  const text = "marked the node as toBeDeleted/unschedulable";
  deps.events.event(asNode(node), "Normal", "ScaleDown", text);
  try {
    // Includes Pods that were bound to the node before the scheduler saw the taint.
    const found = deps.movableOn(name);
    if (found === undefined) throw new Error("a pod that keeps it came to the node");
    if (pods.length === 0 && found.length > 0) throw new Error("pods came to the empty node");
    await Promise.all(found.map((info) => evict(deps, info.pod, options, signal)));
    await untilGone(deps, name, found, options, signal);
    await deps.provider.deleteNodes(group, [providerNode(node)]);
  } catch (error) {
    await editTaints(deps.client, name, (now) => ({
      taints: withoutMark(now, "to-be-deleted"),
      unschedulable: false,
    }));
    const reason = error instanceof Error ? error.message : String(error);
    const failed = `failed to drain the node, aborting ScaleDown: ${reason}`;
    deps.events.event(asNode(node), "Warning", "ScaleDownFailed", failed);
    throw error;
  }
}

function asNode(node: Node): Node {
  return { ...node, apiVersion: "v1", kind: "Node" };
}

/** Edits the taints of a node. Does nothing if the node no longer exists. */
export async function editTaints(
  client: Client,
  name: string,
  edit: (node: Node) => Pick<NonNullable<Node["spec"]>, "taints" | "unschedulable">,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const node = await client.get<Node>(nodesRef, "", name);
      const { resourceVersion } = node.metadata ?? {};
      const patch = { metadata: { resourceVersion }, spec: edit(node) };
      await client.patch(nodesRef, "", name, "merge", patch);
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tries >= conflictsMax) throw error;
    }
  }
}

async function evict(
  { client, clock, events, metrics }: RemovalDeps,
  pod: Pod,
  options: AutoscalerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const untilMs = clock.monotonicMs() + options.maxPodEvictionMs;
  const object = { apiVersion: "v1", kind: "Pod", ...pod };
  events.event(object, "Normal", "ScaleDown", "deleting pod for node scale down");
  const eviction: AnyObject = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace },
    deleteOptions: { gracePeriodSeconds: graceOf(pod, options) },
  };
  for (;;) {
    try {
      await client.createSub(podsRef, namespace, name, "eviction", eviction);
      return metrics.evicted("succeeded");
    } catch (error) {
      if (isNotFound(error)) return metrics.evicted("succeeded");
      const waitMs = retryAfterMs(error) ?? evictionRetryMs;
      if (!isTransient(error) || clock.monotonicMs() + waitMs > untilMs || signal.aborted) {
        metrics.evicted("failed");
        events.event(object, "Warning", "ScaleDownFailed", "failed to delete pod for ScaleDown");
        throw error;
      }
      await sleep(clock, "autoscaler.drain", waitMs, signal);
    }
  }
}

function graceOf(
  { spec }: Pod,
  { maxGracefulTerminationSeconds: most }: AutoscalerOptions,
): number {
  return Math.min(Number(spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds), most);
}

async function untilGone(
  { clock, movableOn }: RemovalDeps,
  name: string,
  evicted: readonly PodInfo[],
  options: AutoscalerOptions,
  signal: AbortSignal,
): Promise<void> {
  const longest = Math.max(0, ...evicted.map(({ pod }) => graceOf(pod, options)));
  const untilMs = clock.monotonicMs() + longest * 1_000 + headroomMs;
  while ((movableOn(name)?.length ?? 1) > 0) {
    if (clock.monotonicMs() >= untilMs) throw new Error("its pods did not end in time");
    if (signal.aborted) throw new Error("the autoscaler stops");
    await sleep(clock, "autoscaler.drain", lookMs, signal);
  }
}
