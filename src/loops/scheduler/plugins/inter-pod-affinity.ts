/**
 * InterPodAffinity: required and preferred (anti-)affinity of the Pod to placed ones, and of placed
 * ones to the Pod.
 *
 * Cost   per term O(nodes that hold a Pod it concerns) to mark domains, O(feasible) to judge.
 */
import type { SlotCounts } from "../counts.ts";
import type { Cycle } from "../cycle.ts";
import type { NodeTable } from "../node-table.ts";
import type { TermGroup } from "../placed-terms.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo, Term } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import { allSelections } from "../selection.ts";
import type { NamespaceLabels } from "../selection.ts";

const name = "InterPodAffinity";
const affinityMissed = reasonId(name, "node(s) didn't match pod affinity rules", false);
const antiAffinityMet = reasonId(name, "node(s) didn't match pod anti-affinity rules", true);
const existingAntiAffinity = reasonId(
  name,
  "node(s) didn't satisfy existing pods anti-affinity rules",
  true,
);

interface ScoringTerms {
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

const allTerms = { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false };

export function interPodAffinity(
  { namespaces }: PluginDeps,
  terms: ScoringTerms = allTerms,
): Plugin {
  return {
    name,
    filter: (cycle) => filterTerms(cycle, namespaces),
    score: { weight: 2, run: (cycle, scores) => scorePreferred(cycle, scores, terms) },
    hint: interPodHint,
  };
}

function interPodHint(event: ClusterEvent, info: PodInfo): Hint {
  switch (event.kind) {
    case "node":
      // A node in another domain may bring Pods that match near, or take them away.
      return event.isStatic ? "queue" : "queue-if-fits";
    case "pod-gone":
    case "namespaces":
      return "queue";
    case "pod-placed":
      return info.affinity.length > 0 ? "queue" : "skip";
    case "node-gone":
    case "volumes":
    case "devices":
      return "skip";
  }
}

function filterTerms(cycle: Cycle, namespaces: NamespaceLabels): void {
  filterAffinity(cycle, namespaces);
  for (const term of cycle.info.antiAffinity) {
    keepOut(cycle, term, cycle.cache.counts.at(term.selection), antiAffinityMet);
  }
  for (const group of cycle.cache.terms.concerning(cycle.info)) {
    if (group.kind === "anti") keepOut(cycle, group.term, group.perSlot, existingAntiAffinity);
  }
}

function keepOut(cycle: Cycle, term: Term, counts: SlotCounts, reason: number): void {
  if (cycle.count === 0 || counts.size === 0) return;
  const { ids } = cycle.cache.nodes.domains(term.topologyKey);
  const forbidden = markDomains(ids, counts);
  cycle.keep((slot) => {
    const domain = ids[slot] ?? -1;
    return domain >= 0 && forbidden.has(domain) ? reason : -1;
  });
}

/** Placed Pods that match ALL terms count, for each term in its own topology; as upstream. */
function filterAffinity(cycle: Cycle, namespaces: NamespaceLabels): void {
  const terms = cycle.info.affinity;
  if (terms.length === 0 || cycle.count === 0) return;
  const { nodes, counts } = cycle.cache;
  const selection = allSelections(terms.map((term) => term.selection));
  const matching = counts.at(selection);
  const wanted = terms.map(({ topologyKey }) => {
    const { ids } = nodes.domains(topologyKey);
    return { ids, met: markDomains(ids, matching) };
  });
  // The first Pod of a group may go to any node with the topology labels: there is no Pod to match yet.
  const nobody = wanted.every(({ met }) => met.size === 0);
  const first = nobody && selection.matches(cycle.info, namespaces);
  cycle.keep((slot) => {
    for (const { ids, met } of wanted) {
      const domain = ids[slot] ?? -1;
      if (domain < 0 || (!first && !met.has(domain))) return affinityMissed;
    }
    return -1;
  });
}

function markDomains(ids: Int32Array, counts: SlotCounts): Set<number> {
  const marked = new Set<number>();
  for (const slot of counts.keys()) {
    const domain = ids[slot] ?? -1;
    if (domain >= 0) marked.add(domain);
  }
  return marked;
}

function scorePreferred(cycle: Cycle, scores: Float64Array, scoring: ScoringTerms): boolean {
  const { nodes, counts, terms } = cycle.cache;
  const sums: Sums = new Map();
  for (const term of cycle.info.preferred) {
    addWeights(nodes, sums, term.topologyKey, counts.at(term.selection), term.weight);
  }
  for (const group of terms.concerning(cycle.info)) {
    const weight = weightOf(group, cycle.info, scoring);
    if (weight !== 0) addWeights(nodes, sums, group.term.topologyKey, group.perSlot, weight);
  }
  if (sums.size === 0) return false;
  spanScores(cycle, sums, scores);
  return true;
}

/** What one placed Pod that has the term adds; 0: the term does not score. */
function weightOf(group: TermGroup, info: PodInfo, scoring: ScoringTerms): number {
  switch (group.kind) {
    case "anti":
      return 0;
    case "follow":
      return scoring.hardPodAffinityWeight;
    case "wish":
      return scoring.ignorePreferredTermsOfExistingPods && info.preferred.length === 0
        ? 0
        : group.weight;
  }
}

/** By topology key, by domain. */
type Sums = Map<string, Map<number, number>>;

function addWeights(
  nodes: NodeTable,
  sums: Sums,
  topologyKey: string,
  counts: SlotCounts,
  weight: number,
): void {
  if (counts.size === 0) return;
  const { ids } = nodes.domains(topologyKey);
  let byDomain = sums.get(topologyKey);
  if (byDomain === undefined) sums.set(topologyKey, (byDomain = new Map()));
  for (const [slot, count] of counts) {
    const domain = ids[slot] ?? -1;
    if (domain >= 0) byDomain.set(domain, (byDomain.get(domain) ?? 0) + count * weight);
  }
}

/** The lowest sum scores 0, the highest 100. */
function spanScores(cycle: Cycle, sums: Sums, scores: Float64Array): void {
  const { feasible, count } = cycle;
  const parts = [...sums].map(([key, byDomain]) => {
    return { ids: cycle.cache.nodes.domains(key).ids, byDomain };
  });
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    let sum = 0;
    for (const { ids, byDomain } of parts) sum += byDomain.get(ids[slot] ?? -1) ?? 0;
    scores[slot] = sum;
    least = Math.min(least, sum);
    most = Math.max(most, sum);
  }
  const span = most - least;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    scores[slot] = span > 0 ? Math.floor((100 * ((scores[slot] ?? 0) - least)) / span) : 0;
  }
}
