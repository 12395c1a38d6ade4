/**
 * Node lifecycle: notices nodes that have fallen silent, marks them and their pods, and gives them up
 * at the pace their zone allows (zones.ts). The taint eviction controller then removes the pods.
 *
 * In    Nodes, their Leases in kube-node-lease, Pods. A node is silent when neither its Lease nor its
 *       Ready heartbeat changed for 50 s by our own clock (never by comparing clocks).
 * Out   node conditions and taints, the Ready condition of pods on silent nodes.
 */
import type { Lease, Node, Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes } from "#client/local-store.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { withCondition } from "../shared/conditions.ts";
import { jsonEqual } from "../shared/equal.ts";
import { refs } from "../shared/refs.ts";
import * as health from "./health.ts";
import { evictionRates, TokenBucket, type ZoneCount } from "./zones.ts";

const leaseNamespace = "kube-node-lease";
const workers = 8;
const everyMs = 5_000;
/** Upstream's --node-monitor-grace-period and --node-startup-grace-period. */
const graceMs = 50_000;
const startupGraceMs = 60_000;

interface Sign {
  /** What the node last showed: lease renewal and heartbeat. */
  mark: string;
  seenMs: number;
}

// long: one closure holds the informers and the signs of life that the small functions below share
export function nodeLifecycleController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const nodes = informers.informer<Node>(refs.nodes);
  const leases = informers.informer<Lease>(refs.leases, { namespace: leaseNamespace });
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
  const signs = new Map<string, Sign>();
  const buckets = new Map<string, TokenBucket>();
  let rates: ReadonlyMap<string, number> = new Map();
  const controller = queueController(deps, { name: "node-controller", workers }, reconcile);
  const { queue } = controller;
  nodes.addHandler({
    add: (node) => queue.add(node.metadata?.name ?? ""),
    update: (old, node) => {
      if (!jsonEqual(old.spec, node.spec) || !sameConditions(old, node))
        queue.add(node.metadata?.name ?? "");
    },
    delete: (node) => signs.delete(node.metadata?.name ?? ""),
  });
  return { ...controller, run };

  async function run(signal: AbortSignal): Promise<void> {
    await informers.synced(signal);
    let timer = clock.after("controllers.resync", everyMs, tick);
    signal.addEventListener("abort", () => timer.cancel(), { once: true });
    function tick(): void {
      rates = evictionRates(countZones());
      for (const node of nodes.values()) if (isSuspect(node)) queue.add(node.metadata?.name ?? "");
      timer = clock.after("controllers.resync", everyMs, tick);
    }
    await controller.run(signal);
  }

  function countZones(): ReadonlyMap<string, ZoneCount> {
    const zones = new Map<string, { ready: number; notReady: number }>();
    for (const node of nodes.values()) {
      const zone = zones.get(health.zoneOf(node)) ?? { ready: 0, notReady: 0 };
      if (health.readinessOf(node) === "ready") zone.ready++;
      else zone.notReady++;
      zones.set(health.zoneOf(node), zone);
    }
    return zones;
  }

  /** Cheap look at every node each tick; only these are reconciled. */
  function isSuspect(node: Node): boolean {
    return isSilent(node) || health.readinessOf(node) !== "ready" || hasEvictionTaint(node);
  }

  function isSilent(node: Node): boolean {
    const name = node.metadata?.name ?? "";
    const lease = leases.get(leaseNamespace, name);
    const heartbeat = health.conditionOf(node, "Ready")?.lastHeartbeatTime ?? "";
    const mark = `${lease?.spec?.renewTime ?? ""} ${heartbeat}`;
    const nowMs = clock.monotonicMs();
    const sign = signs.get(name);
    if (sign === undefined || sign.mark !== mark) {
      signs.set(name, { mark, seenMs: nowMs });
      return false;
    }
    const started = health.conditionOf(node, "Ready") !== undefined;
    return nowMs - sign.seenMs > (started ? graceMs : startupGraceMs);
  }

  async function reconcile(name: string): Promise<void> {
    const node = nodes.get("", name);
    if (node === undefined) return;
    const current = isSilent(node) ? await markSilent(node) : node;
    if (current === undefined) return;
    if (health.readinessOf(current) !== "ready") await markPods(name);
    await writeTaints(current);
  }

  async function markSilent(node: Node): Promise<Node | undefined> {
    const now = formatTime(clock.nowMs());
    const conditions = health.silentConditions(node, now);
    if (jsonEqual(conditions, node.status?.conditions)) return node;
    deps.recorder.event(
      node,
      "Normal",
      "NodeNotReady",
      `Node ${node.metadata?.name ?? ""} status is now: NodeNotReady`,
    );
    const { name = "", uid, resourceVersion } = node.metadata ?? {};
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } };
    return client
      .patch<Node>(refs.nodes, "", name, "merge", patch, { subresource: "status" })
      .catch(ignoreGone);
  }

  async function markPods(nodeName: string): Promise<void> {
    const now = formatTime(clock.nowMs());
    for (const pod of pods.byIndex("controllers.nodeName", nodeName)) {
      const ready = pod.status?.conditions?.find((condition) => condition.type === "Ready");
      if (ready?.status !== "True") continue;
      const conditions = withCondition(pod.status?.conditions, {
        ...ready,
        status: "False",
        lastTransitionTime: now,
      });
      const { namespace = "", name = "", uid } = pod.metadata ?? {};
      const patch = { metadata: { uid }, status: { conditions } };
      await client
        .patch(refs.pods, namespace, name, "merge", patch, { subresource: "status" })
        .catch(ignoreGone);
    }
  }

  async function writeTaints(node: Node): Promise<void> {
    const now = formatTime(clock.nowMs());
    const scheduled = {
      ...node,
      spec: { ...node.spec, taints: health.conditionTaints(node, now) },
    };
    const taints = health.evictionTaints(scheduled, evictionKey(node), now);
    if (jsonEqual(taints, node.spec?.taints ?? [])) return;
    const { name = "", resourceVersion } = node.metadata ?? {};
    const patch = {
      metadata: { resourceVersion },
      spec: { taints: taints.length === 0 ? null : taints },
    };
    await client.patch(refs.nodes, "", name, "merge", patch).catch(ignoreGone);
  }

  /** The NoExecute taint the node should have: what it has if its kind did not change, else by its zone's pace. */
  function evictionKey(node: Node): string | undefined {
    const wanted = health.evictionKeyOf(node);
    if (wanted === undefined) return undefined;
    const zone = health.zoneOf(node);
    const rate = rates.get(zone) ?? evictionRates(countZones()).get(zone) ?? 0;
    const has = (node.spec?.taints ?? []).some(
      (taint) => taint.effect === "NoExecute" && taint.key === wanted,
    );
    // All zones lost: taints are withdrawn, for then it is the control plane that is cut off.
    if (has) return rate === 0 && isCutOff() ? undefined : wanted;
    const bucket = buckets.get(zone) ?? new TokenBucket(clock.monotonicMs());
    buckets.set(zone, bucket);
    return bucket.take(rate, clock.monotonicMs()) ? wanted : undefined;
  }

  function isCutOff(): boolean {
    return [...countZones().values()].every((count) => count.ready === 0);
  }
}

function hasEvictionTaint(node: Node): boolean {
  return (node.spec?.taints ?? []).some(
    (taint) =>
      taint.effect === "NoExecute" &&
      [health.notReadyKey, health.unreachableKey].includes(taint.key),
  );
}

function sameConditions(old: Node, node: Node): boolean {
  const states = (n: Node): unknown =>
    n.status?.conditions?.map((condition) => [condition.type, condition.status]);
  return jsonEqual(states(old), states(node));
}

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return undefined;
  throw error;
}
