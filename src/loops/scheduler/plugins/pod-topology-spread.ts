/**
 * PodTopologySpread. Hard constraints filter: a node's domain may hold at most `maxSkew` more matching
 * Pods than the emptiest eligible domain. Soft ones score: the emptier the domain, the better.
 *
 * Cost   per constraint O(domains) to evaluate the domains, O(feasible) to look up the domain of each node. If some
 *        nodes are excluded, O(nodes with a matching Pod) to sum the domains.
 */
import { tolerates } from "#api/selectors/node-match.ts";
import type { Cycle } from "../cycle.ts";
import type { NodeTable } from "../node-table.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import { fits, type Participation } from "../pod-class.ts";
import type { Spread } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import type { DomainSums } from "../tally.ts";
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
    isIdle(info) {
      const { spreadByDefault, spreadHard, spreadSoft } = info;
      if (!spreadByDefault) return spreadHard.length + spreadSoft.length === 0;
      return defaults.hardOf(info).length + defaults.softOf(info).length === 0;
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
      // A new domain changes the balance everywhere, not only on this node.
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
  const part = participation(cycle, spread, all);
  const sums = domainSums(cycle, spread, part);
  let least = Number.POSITIVE_INFINITY;
  for (const domain of part.eligible) least = Math.min(least, sums[domain] ?? 0);
  if (part.eligible.length < spread.minDomains) least = 0;
  const most = spread.maxSkew + least - (spread.selfMatch ? 1 : 0);
  const verdicts = sums.map((pods) => (pods > most ? skewed : -1));
  const { ids } = cycle.cache.nodes.domains(spread.topologyKey);
  cycle.keepByDomain(ids, verdicts, missingLabel);
}

/** Returns the number of matching Pods by domain, over the participating nodes. */
function domainSums(
  cycle: Cycle,
  spread: Spread,
  { count: some, slots }: Participation,
): DomainSums {
  const { nodes } = cycle.cache;
  const tally = cycle.cache.counts.at(spread.selection);
  if (some === nodes.size) return tally.byDomain(spread.topologyKey);
  const { ids, names } = nodes.domains(spread.topologyKey);
  const sums = new Int32Array(names.length);
  for (const [slot, count] of tally.perSlot) {
    const domain = ids[slot] ?? -1;
    if (domain >= 0 && slots[slot] === 1) sums[domain] = (sums[domain] ?? 0) + count;
  }
  return sums;
}

/** Depends only on the class and the nodes' static facts, so it is kept and updated for the changed nodes. */
function participation(cycle: Cycle, spread: Spread, all: readonly Spread[]): Participation {
  const { nodes } = cycle.cache;
  const { participations } = cycle.podClass;
  // A column that is made anew counts as a change of every slot, so columns are read first.
  const columns = all.map(({ topologyKey }) => nodes.domains(topologyKey).ids);
  const { ids, names } = nodes.domains(spread.topologyKey);
  const keys = all.map(({ topologyKey }) => topologyKey).join();
  const key = `${spread.topologyKey}|${spread.honorAffinity}|${spread.honorTaints}|${keys}`;
  const known = participations.get(key);
  if (known?.version === nodes.staticVersion) return known;
  const changed = known === undefined ? undefined : nodes.staticChangesSince(known.version);
  const part = known === undefined || changed === undefined ? nobody() : known;
  participations.set(key, part);
  growParticipation(part, nodes.capacity, names.length);
  for (const slot of changed ?? nodes.live.subarray(0, nodes.size)) {
    const isIn = nodes.has(slot) && takesPart(cycle, slot, spread, columns);
    recount(part, slot, isIn ? (ids[slot] ?? -1) : -1);
  }
  part.eligible = Int32Array.from(part.perDomain.keys().filter((one) => part.perDomain[one] !== 0));
  part.version = nodes.staticVersion;
  return part;
}

function nobody(): Participation {
  const none = new Int32Array(0);
  const slots = new Uint8Array(0);
  return { version: 0, eligible: none, count: 0, slots, domainOf: none, perDomain: none };
}

function growParticipation(part: Participation, capacity: number, domains: number): void {
  if (part.slots.length < capacity) {
    const slots = new Uint8Array(capacity);
    slots.set(part.slots);
    part.slots = slots;
    const domainOf = new Int32Array(capacity).fill(-1);
    domainOf.set(part.domainOf);
    part.domainOf = domainOf;
  }
  if (part.perDomain.length >= domains) return;
  const perDomain = new Int32Array(domains);
  perDomain.set(part.perDomain);
  part.perDomain = perDomain;
}

/** Updates a slot's part in the counts. `domain`: domain of the participating node; -1: it does not participate. */
function recount(part: Participation, slot: number, domain: number): void {
  const before = part.domainOf[slot] ?? -1;
  if (before === domain) return;
  if (before >= 0) part.perDomain[before] = (part.perDomain[before] ?? 0) - 1;
  if (domain >= 0) part.perDomain[domain] = (part.perDomain[domain] ?? 0) + 1;
  part.count += (domain >= 0 ? 1 : 0) - (before >= 0 ? 1 : 0);
  part.slots[slot] = domain >= 0 ? 1 : 0;
  part.domainOf[slot] = domain;
}

/** Whether the node counts: it has all topology keys and passes the policies of the constraint. */
function takesPart(
  cycle: Cycle,
  slot: number,
  spread: Spread,
  columns: readonly Int32Array[],
): boolean {
  const { nodes } = cycle.cache;
  for (const ids of columns) if ((ids[slot] ?? -1) < 0) return false;
  // The common case: the class passes all static filters on the node, which include these two policies.
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
 * As in upstream, the raw score is the sum over constraints of count × log(domains + 2) + maxSkew − 1; the lowest sum
 * becomes
 * 100. A node without one of the keys scores 0, unless the constraints are the built-in ones (`isLax`), which require
 * no label.
 */
function scoreSoft(
  cycle: Cycle,
  constraints: readonly Spread[],
  isLax: boolean,
  scores: Float64Array,
): boolean {
  if (constraints.length === 0 || cycle.count <= 1) return false;
  const { feasible, count } = cycle;
  const { counts, nodes } = cycle.cache;
  const areAlike = ({ selection, topologyKey }: Spread): boolean =>
    counts.at(selection).perSlot.size === 0 && nodes.coverage(topologyKey).isComplete;
  if (constraints.every(areAlike)) return false;
  for (let i = 0; i < count; i++) scores[feasible[i] ?? 0] = 0;
  const strict = isLax ? [] : constraints;
  for (const spread of constraints) addRaw(cycle, spread, strict, scores);
  invert(cycle, scores);
  return true;
}

/** Adds a constraint's raw scores; Infinity for a node that lacks a required topology key. */
function addRaw(
  cycle: Cycle,
  spread: Spread,
  strict: readonly Spread[],
  scores: Float64Array,
): void {
  const { feasible, count } = cycle;
  const { topologyKey } = spread;
  const { nodes } = cycle.cache;
  const weight = Math.log(countDomains(cycle, topologyKey, strict) + 2);
  const { ids } = nodes.domains(topologyKey);
  const own = spread.maxSkew - 1;
  if (topologyKey === hostname && !nodes.coverage(topologyKey).isUnique) {
    addRawPerNode(cycle, spread, { weight, isStrict: strict.length > 0 }, scores);
    return;
  }
  const sums = domainSums(cycle, spread, participation(cycle, spread, strict));
  const without = strict.length > 0 ? Number.POSITIVE_INFINITY : 0;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const domain = ids[slot] ?? -1;
    const raw = domain < 0 ? without : (sums[domain] ?? 0) * weight + own;
    scores[slot] = (scores[slot] ?? 0) + raw;
  }
}

/** Adds raw scores when nodes share a host name: as upstream, each node is counted on its own. */
function addRawPerNode(
  { cache, feasible, count }: Cycle,
  { selection, topologyKey, maxSkew }: Spread,
  { weight, isStrict }: { readonly weight: number; readonly isStrict: boolean },
  scores: Float64Array,
): void {
  const { ids } = cache.nodes.domains(topologyKey);
  const { perSlot } = cache.counts.at(selection);
  const without = isStrict ? Number.POSITIVE_INFINITY : 0;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const isIn = (ids[slot] ?? -1) >= 0;
    const raw = isIn ? (perSlot.get(slot) ?? 0) * weight + (maxSkew - 1) : without;
    scores[slot] = (scores[slot] ?? 0) + raw;
  }
}

/**
 * Counts the domains of the feasible nodes with all `strict` keys. Without `strict` keys, the nodes that lack the key
 * are one domain. For host names the count is the number of nodes.
 */
function countDomains(cycle: Cycle, topologyKey: string, strict: readonly Spread[]): number {
  const { feasible, count } = cycle;
  const { nodes } = cycle.cache;
  const { ids, names } = nodes.domains(topologyKey);
  const isComplete = strict.every((one) => nodes.coverage(one.topologyKey).isComplete);
  const required = isComplete ? [] : strict.map((one) => nodes.domains(one.topologyKey).ids);
  const lacks = (slot: number): boolean => required.some((column) => (column[slot] ?? -1) < 0);
  if (topologyKey === hostname) {
    return isComplete ? count : feasible.subarray(0, count).filter((slot) => !lacks(slot)).length;
  }
  const isSeen = new Uint8Array(names.length + 1);
  const most = nodes.coverage(topologyKey).isComplete ? names.length : names.length + 1;
  let domains = 0;
  for (let i = 0; i < count && domains < most; i++) {
    const slot = feasible[i] ?? 0;
    const seat = (ids[slot] ?? -1) + 1;
    if (isSeen[seat] === 1 || lacks(slot)) continue;
    isSeen[seat] = 1;
    domains++;
  }
  return domains;
}

/** Inverts raw scores: the lowest becomes 100, Infinity (a missing label) becomes 0. */
function invert(cycle: Cycle, scores: Float64Array): void {
  const { feasible, count } = cycle;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const raw = Math.round(scores[slot] ?? 0);
    scores[slot] = raw;
    if (raw === Number.POSITIVE_INFINITY) continue;
    if (raw < least) least = raw;
    if (raw > most) most = raw;
  }
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const raw = scores[slot] ?? 0;
    if (raw === Number.POSITIVE_INFINITY) scores[slot] = 0;
    else if (most === 0) scores[slot] = 100;
    else scores[slot] = Math.floor((100 * (most + least - raw)) / most);
  }
}
