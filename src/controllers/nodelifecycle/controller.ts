/**
 * Node lifecycle: notices nodes that have fallen silent, marks them and their pods, and gives them up
 * at the pace their zone allows (zones.ts). The taint eviction controller then removes the pods.
 *
 * In    Nodes, their Leases in kube-node-lease, Pods. A node is silent when neither its Lease nor its
 *       Ready heartbeat changed for 50 s by our own clock (never by comparing clocks).
 * Out   node conditions and taints, the Ready condition of pods on silent nodes.
 * Cost  zones are counted once per look (5 s), over all nodes; only suspects are reconciled.
 */
import type { Lease, Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes } from "#client/indexer.ts";
import { isNotFound } from "#client/api-errors.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { podCondition } from "../pods/pod.ts";
import { refs } from "../framework/refs.ts";
import * as health from "./health.ts";
import { evictionRates, isCutOff, TokenBucket, type ZoneCount } from "./zones.ts";

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

/** How the zones stood at the last look. */
interface Zones {
  readonly rates: ReadonlyMap<string, number>;
  readonly cutOff: boolean;
}

// long: one closure holds the informers and the signs of life that the small functions below share
export function nodeLifecycleController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const nodes = informers.informer<Node>(refs.nodes);
  // All namespaces, as the garbage collector watches them: one copy for both.
  const leases = informers.informer<Lease>(refs.leases);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
  const signs = new Map<string, Sign>();
  const buckets = new Map<string, TokenBucket>();
  let zones: Zones = { rates: new Map(), cutOff: false };
  const controller = queueController(deps, { name: "node-controller", workers }, reconcile);
  const { queue } = controller;
  nodes.addHandler({
    add(node) {
      tell(node, "RegisteredNode", `Registered Node ${nameOf(node)} in Controller`);
      queue.add(nameOf(node));
    },
    update(old, node) {
      if (!jsonEqual(old.spec, node.spec) || !sameConditions(old, node)) queue.add(nameOf(node));
    },
    delete(node) {
      tell(node, "RemovingNode", `Removing Node ${nameOf(node)} from Controller`);
      signs.delete(nameOf(node));
    },
  });
  return { ...controller, run };

  function tell(node: Node, reason: string, text: string): void {
    recorder.event(node, "Normal", reason, `Node ${nameOf(node)} event: ${text}`);
  }

  async function run(signal: AbortSignal): Promise<void> {
    await informers.synced(signal);
    zones = lookAtZones();
    let timer = clock.after("controllers.resync", everyMs, tick);
    signal.addEventListener("abort", () => timer.cancel(), { once: true });
    function tick(): void {
      // Armed first: a look that throws must not be the last one.
      timer = clock.after("controllers.resync", everyMs, tick);
      const before = zones;
      zones = lookAtZones();
      if (before.cutOff && !zones.cutOff) startAnew();
      for (const node of nodes.values()) if (isSuspect(node)) queue.add(nameOf(node));
    }
    await controller.run(signal);
  }

  function lookAtZones(): Zones {
    const counts = new Map<string, { ready: number; notReady: number }>();
    for (const node of nodes.values()) {
      if (health.isExcludedFromZones(node)) continue;
      const zone = counts.get(health.zoneOf(node)) ?? { ready: 0, notReady: 0 };
      if (health.readinessOf(node) === "ready") zone.ready++;
      else zone.notReady++;
      counts.set(health.zoneOf(node), zone);
    }
    const seen: ReadonlyMap<string, ZoneCount> = counts;
    return { rates: evictionRates(seen), cutOff: isCutOff(seen) };
  }

  /** Heartbeats arrive again: restarts the grace period of all nodes. */
  function startAnew(): void {
    for (const sign of signs.values()) sign.seenMs = clock.monotonicMs();
    buckets.clear();
  }

  /** Cheap look at every node each tick; only these are reconciled. */
  function isSuspect(node: Node): boolean {
    return isSilent(node) || health.readinessOf(node) !== "ready" || health.isGivenUp(node);
  }

  function isSilent(node: Node): boolean {
    const name = nameOf(node);
    const lease = leases.get(leaseNamespace, name);
    const ready = health.conditionOf(node, "Ready");
    const mark = `${lease?.spec?.renewTime ?? ""} ${ready?.lastHeartbeatTime ?? ""}`;
    const nowMs = clock.monotonicMs();
    const sign = signs.get(name);
    if (sign === undefined || sign.mark !== mark) {
      signs.set(name, { mark, seenMs: nowMs });
      return false;
    }
    return nowMs - sign.seenMs > (ready === undefined ? startupGraceMs : graceMs);
  }

  async function reconcile(name: string): Promise<void> {
    const node = nodes.get("", name);
    if (node === undefined) return;
    const current = isSilent(node) ? await markSilent(node) : node;
    if (current === undefined) return;
    if (health.readinessOf(current) === "unknown") await markPods(name);
    await writeTaints(current);
  }

  async function markSilent(node: Node): Promise<Node | undefined> {
    const conditions = health.silentConditions(node, formatTime(clock.nowMs()));
    if (jsonEqual(conditions, node.status?.conditions)) return node;
    if (health.readinessOf(node) === "ready") {
      const text = `Node ${nameOf(node)} status is now: NodeNotReady`;
      recorder.event(node, "Normal", "NodeNotReady", text);
    }
    const next: Node = { ...node, status: { ...node.status, conditions } };
    return client.update<Node>(refs.nodes, "", next, { subresource: "status" }).catch(ignoreGone);
  }

  async function markPods(nodeName: string): Promise<void> {
    const lastTransitionTime = formatTime(clock.nowMs());
    for (const pod of pods.byIndex("controllers.nodeName", nodeName)) {
      const ready = podCondition(pod, "Ready");
      if (ready?.status !== "True") continue;
      recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready");
      const { namespace = "", name = "", uid } = pod.metadata ?? {};
      const conditions = [{ type: "Ready", status: "False", lastTransitionTime }];
      const patch = { metadata: { uid }, status: { conditions } };
      const options = { subresource: "status" };
      await client.patch(refs.pods, namespace, name, "strategic", patch, options).catch(ignoreGone);
    }
  }

  async function writeTaints(node: Node): Promise<void> {
    const now = formatTime(clock.nowMs());
    const spec = { ...node.spec, taints: health.conditionTaints(node, now) };
    const taints = health.evictionTaints({ ...node, spec }, evictionKey(node), now);
    if (jsonEqual(taints, node.spec?.taints ?? [])) return;
    const { resourceVersion } = node.metadata ?? {};
    const wanted = { taints: taints.length === 0 ? null : taints };
    const patch = { metadata: { resourceVersion }, spec: wanted };
    await client.patch(refs.nodes, "", nameOf(node), "merge", patch).catch(ignoreGone);
  }

  /** The NoExecute taint the node should have: at once if it was given up before, else by its zone's pace. */
  function evictionKey(node: Node): string | undefined {
    const wanted = health.evictionKeyOf(node);
    // All zones lost: taints are withdrawn, for then it is the control plane that is cut off.
    if (wanted === undefined || zones.cutOff) return undefined;
    if (health.isGivenUp(node)) return wanted;
    const zone = health.zoneOf(node);
    const bucket = buckets.get(zone) ?? new TokenBucket(clock.monotonicMs());
    buckets.set(zone, bucket);
    const rate = zones.rates.get(zone) ?? 0;
    return bucket.take(rate, clock.monotonicMs()) ? wanted : undefined;
  }
}

function nameOf(node: Node): string {
  return node.metadata?.name ?? "";
}

function sameConditions(old: Node, node: Node): boolean {
  const states = (n: Node): unknown =>
    n.status?.conditions?.map((condition) => [condition.type, condition.status]);
  return jsonEqual(states(old), states(node));
}

function ignoreGone(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
