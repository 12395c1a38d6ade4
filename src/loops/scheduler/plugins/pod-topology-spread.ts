/**
 * PodTopologySpread. Hard constraints filter: a node's domain may hold at most `maxSkew` more matching
 * Pods than the emptiest eligible domain. Soft ones score: the emptier the domain, the better.
 *
 * Cost   per constraint O(nodes that hold a matching Pod) to sum domains, O(feasible) to judge.
 */
import { tolerates } from "#api/selectors/node-match.ts";
import type { Cycle } from "../cycle.ts";
import type { NodeTable } from "../node-table.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import { fits } from "../pod-class.ts";
import type { Spread } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import { type DefaultConstraints, defaultsOf } from "../default-spreads.ts";
import { nodeAffinityHolds } from "./node-affinity.ts";

const name = "PodTopologySpread";
const hostname = "kubernetes.io/hostname";
const missingLabel = reasonId(
  name,
  "node(s) didn't match pod topology spread constraints (missing required label)",
  false,
);
const skewed = reasonId(name, "node(s) didn't match pod topology spread constraints", true);

export function podTopologySpread(
  { services = () => [] }: Partial<PluginDeps> = {},
  constraints: DefaultConstraints = "built-in",
): Plugin {
  const defaults = defaultsOf(constraints, services);
  return {
    name,
    filter(cycle) {
      const hard = cycle.info.spreadByDefault ? defaults.hardOf(cycle.info) : cycle.info.spreadHard;
      for (const spread of hard) filterOne(cycle, spread, hard);
    },
    score: {
      weight: 2,
      run(cycle, scores) {
        const { spreadByDefault, spreadSoft } = cycle.info;
        const soft = spreadByDefault ? defaults.softOf(cycle.info) : spreadSoft;
        return scoreSoft(cycle, soft, spreadByDefault && !defaults.areStrict, scores);
      },
    },
    sign: (info) => (info.spreadByDefault ? defaults.sign(info) : ""),
    hint: spreadHint,
  };
}

function spreadHint(event: ClusterEvent): Hint {
  switch (event.kind) {
    case "node":
      // A new domain changes what is balanced everywhere, not only on this node.
      return event.isStatic ? "queue" : "queue-if-fits";
    case "node-gone":
    case "pod-gone":
    case "pod-placed":
      return "queue";
    case "volumes":
    case "devices":
    case "namespaces":
      return "skip";
  }
}

function filterOne(cycle: Cycle, spread: Spread, all: readonly Spread[]): void {
  if (cycle.count === 0) return;
  const { ids } = cycle.cache.nodes.domains(spread.topologyKey);
  const eligible = eligibleDomains(cycle, spread, all);
  const sums = domainSums(cycle, spread, all);
  let least = Number.POSITIVE_INFINITY;
  for (const domain of eligible) least = Math.min(least, sums.get(domain) ?? 0);
  if (eligible.size < spread.minDomains) least = 0;
  const self = spread.selfMatch ? 1 : 0;
  cycle.keep((slot) => {
    const domain = ids[slot] ?? -1;
    if (domain < 0) return missingLabel;
    const skew = (sums.get(domain) ?? 0) + self - least;
    return skew > spread.maxSkew ? skewed : -1;
  });
}

/** Matching Pods by domain, over nodes that take part. */
function domainSums(
  cycle: Cycle,
  spread: Spread,
  all: readonly Spread[],
): ReadonlyMap<number, number> {
  const { ids } = cycle.cache.nodes.domains(spread.topologyKey);
  const sums = new Map<number, number>();
  for (const [slot, count] of cycle.cache.counts.at(spread.selection)) {
    const domain = ids[slot] ?? -1;
    if (domain < 0 || !takesPart(cycle, slot, spread, all)) continue;
    sums.set(domain, (sums.get(domain) ?? 0) + count);
  }
  return sums;
}

/** Depends on the class and the nodes' static facts only, so it is kept until those change. */
function eligibleDomains(
  cycle: Cycle,
  spread: Spread,
  all: readonly Spread[],
): ReadonlySet<number> {
  const { nodes } = cycle.cache;
  const { domains } = cycle.podClass;
  const key = `${spread.topologyKey}|${spread.honorAffinity}|${spread.honorTaints}`;
  const known = domains.get(key);
  if (known?.version === nodes.staticVersion) return known.eligible;
  const { ids } = nodes.domains(spread.topologyKey);
  const eligible = new Set<number>();
  for (let i = 0; i < nodes.size; i++) {
    const slot = nodes.live[i] ?? 0;
    const domain = ids[slot] ?? -1;
    if (domain >= 0 && takesPart(cycle, slot, spread, all)) eligible.add(domain);
  }
  domains.set(key, { version: nodes.staticVersion, eligible });
  return eligible;
}

/** A node counts when it has all topology keys and passes the policies of the constraint. */
function takesPart(cycle: Cycle, slot: number, spread: Spread, all: readonly Spread[]): boolean {
  const { nodes } = cycle.cache;
  for (const { topologyKey } of all) {
    if ((nodes.domains(topologyKey).ids[slot] ?? -1) < 0) return false;
  }
  // The common case: the class fits the node by every static filter, so by these two as well.
  if (cycle.classes.verdict(cycle.podClass, slot) === fits) return true;
  return policiesHold(cycle, nodes, slot, spread);
}

function policiesHold(cycle: Cycle, nodes: NodeTable, slot: number, spread: Spread): boolean {
  const node = nodes.node(slot);
  if (spread.honorAffinity && !nodeAffinityHolds(cycle.info, node)) return false;
  if (!spread.honorTaints) return true;
  return (node.spec?.taints ?? []).every(
    (taint) => taint.effect === "PreferNoSchedule" || tolerates(cycle.info.tolerations, taint),
  );
}

/**
 * As upstream: per constraint, count × log(domains + 2) + maxSkew − 1; lowest sum is 100. A node
 * without one of the keys scores 0, unless the constraints are the built-in ones (`isLax`), which ask no label.
 */
function scoreSoft(
  cycle: Cycle,
  constraints: readonly Spread[],
  isLax: boolean,
  scores: Float64Array,
): boolean {
  if (constraints.length === 0 || cycle.count <= 1) return false;
  const { feasible, count } = cycle;
  for (let i = 0; i < count; i++) scores[feasible[i] ?? 0] = 0;
  let any = false;
  const strict = isLax ? [] : constraints;
  for (const spread of constraints) any = scoreOne(cycle, spread, strict, scores) || any;
  if (any) invert(cycle, scores);
  return any;
}

/** @returns false when the constraint tells no node from another. */
function scoreOne(
  cycle: Cycle,
  spread: Spread,
  strict: readonly Spread[],
  scores: Float64Array,
): boolean {
  const { feasible, count } = cycle;
  const { ids } = cycle.cache.nodes.domains(spread.topologyKey);
  const sums = domainSums(cycle, spread, strict);
  if (sums.size === 0 && strict.length === 0) return false;
  const factor = Math.log(countDomains(cycle, spread.topologyKey, strict) + 2);
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const domain = ids[slot] ?? -1;
    if (domain < 0) {
      if (strict.length > 0) scores[slot] = Number.POSITIVE_INFINITY;
      continue;
    }
    const raw = (sums.get(domain) ?? 0) * factor + (spread.maxSkew - 1);
    scores[slot] = (scores[slot] ?? 0) + raw;
  }
  return true;
}

/** Of the feasible nodes with all `strict` keys. Without these, nodes that lack the key are one domain. */
function countDomains(cycle: Cycle, topologyKey: string, strict: readonly Spread[]): number {
  const { feasible, count } = cycle;
  const { nodes } = cycle.cache;
  const { ids, names } = nodes.domains(topologyKey);
  const others = strict.filter((spread) => spread.topologyKey !== topologyKey);
  const required = others.map((spread) => nodes.domains(spread.topologyKey).ids);
  const isSeen = new Uint8Array(names.length + 1);
  let domains = 0;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const domain = ids[slot] ?? -1;
    if (domain < 0 && (strict.length > 0 || topologyKey === hostname)) continue;
    if (isSeen[domain + 1] === 1 || required.some((column) => (column[slot] ?? -1) < 0)) continue;
    isSeen[domain + 1] = 1;
    domains++;
  }
  return domains;
}

/** Lowest raw score becomes 100; Infinity (no label) becomes 0. */
function invert(cycle: Cycle, scores: Float64Array): void {
  const { feasible, count } = cycle;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let i = 0; i < count; i++) {
    const raw = scores[feasible[i] ?? 0] ?? 0;
    if (raw === Number.POSITIVE_INFINITY) continue;
    least = Math.min(least, Math.round(raw));
    most = Math.max(most, Math.round(raw));
  }
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const raw = scores[slot] ?? 0;
    if (raw === Number.POSITIVE_INFINITY) scores[slot] = 0;
    else if (most === 0) scores[slot] = 100;
    else scores[slot] = Math.floor((100 * (most + least - Math.round(raw))) / most);
  }
}
