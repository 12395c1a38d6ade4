/**
 * Eviction rate limits on node loss, pure: the state of each zone, and how fast nodes in it may be tainted.
 * Rates are upstream's (--node-eviction-rate, --secondary-node-eviction-rate, --unhealthy-zone-threshold).
 *
 * Holds  with upstream's rates: normal zone: 0.1 nodes/s. Partly lost (more than 2 nodes and at least 55 % not ready): 0.01
 *        nodes/s when the zone has more than 50 nodes, else none. One zone fully lost: 0.1 nodes/s.
 *        All zones fully lost: none at all, because then the control plane itself is probably cut off.
 */
import type { Node } from "#api/gen/types.ts";
import { nodeLifecycleDefaults, type NodeLifecycleOptions } from "./options.ts";
import { isExcludedFromZones, readinessOf, zoneOf } from "./health.ts";

type ZoneState = "normal" | "partial" | "full";

export interface ZoneCount {
  readonly ready: number;
  readonly notReady: number;
}

type ZoneRules = Pick<
  NodeLifecycleOptions,
  "evictionsPerSecond" | "secondaryEvictionsPerSecond" | "unhealthyShare" | "largeZoneNodes"
>;

/** By zone; excluded nodes do not count. */
export function countZones(nodes: Iterable<Node>): ReadonlyMap<string, ZoneCount> {
  const counts = new Map<string, { ready: number; notReady: number }>();
  for (const node of nodes) {
    if (isExcludedFromZones(node)) continue;
    const count = counts.get(zoneOf(node)) ?? { ready: 0, notReady: 0 };
    if (readinessOf(node) === "ready") count.ready++;
    else count.notReady++;
    counts.set(zoneOf(node), count);
  }
  return counts;
}

export function zoneState(
  { ready, notReady }: ZoneCount,
  { unhealthyShare }: Pick<ZoneRules, "unhealthyShare"> = nodeLifecycleDefaults,
): ZoneState {
  if (ready === 0 && notReady > 0) return "full";
  return notReady > 2 && notReady / (notReady + ready) >= unhealthyShare ? "partial" : "normal";
}

/** Nodes per second that may get a NoExecute taint, by zone; 0: none. */
export function evictionRates(
  zones: ReadonlyMap<string, ZoneCount>,
  rules: ZoneRules = nodeLifecycleDefaults,
): ReadonlyMap<string, number> {
  const states = [...zones].map(([zone, count]) => [zone, count, zoneState(count, rules)] as const);
  const allFull = states.length > 0 && states.every(([, , state]) => state === "full");
  return new Map(
    states.map(([zone, count, state]) => [zone, allFull ? 0 : rateOf(state, count, rules)]),
  );
}

/** Whether every node of every zone is lost, which probably means that the control plane is isolated. */
export function isCutOff(zones: ReadonlyMap<string, ZoneCount>): boolean {
  return zones.size > 0 && [...zones.values()].every((count) => zoneState(count) === "full");
}

function rateOf(state: ZoneState, { ready, notReady }: ZoneCount, rules: ZoneRules): number {
  if (state !== "partial") return rules.evictionsPerSecond;
  return ready + notReady > rules.largeZoneNodes ? rules.secondaryEvictionsPerSecond : 0;
}

/** One token per node; a bucket with one token, refilled at the zone's rate. */
export class TokenBucket {
  #tokens = 1;
  #lastMs: number;

  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  take(rate: number, nowMs: number): boolean {
    this.#tokens = Math.min(1, this.#tokens + ((nowMs - this.#lastMs) / 1000) * rate);
    this.#lastMs = nowMs;
    if (rate === 0 || this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
