/**
 * InterPodAffinity: required and preferred (anti-)affinity of the Pod to placed ones, and of placed
 * ones to the Pod.
 *
 * Cost   per term O(domains of its topology key) to evaluate the domains, O(feasible) to look up the domain of each
 *        node.
 */
import type { Cycle } from "../cycle.ts";
import type { TermGroup } from "../placed-terms.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo, Term } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import { allSelections } from "../selection.ts";
import type { NamespaceLabels } from "../selection.ts";
import type { DomainSums, Tally } from "../tally.ts";

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
    isIdle: (info, { terms: placed }) =>
      info.affinity.length + info.antiAffinity.length + info.preferred.length === 0 &&
      placed.concerning(info).length === 0,
    score: { weight: 2, run: (cycle, scores) => scorePreferred(cycle, scores, terms) },
    hint: interPodHint,
  };
}

function interPodHint(event: ClusterEvent, info: PodInfo): Hint {
  switch (event.kind) {
    case "node":
      // A node that changes its domain may move matching Pods into or out of a domain.
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
    if (group.kind === "anti") keepOut(cycle, group.term, group.tally, existingAntiAffinity);
  }
}

function keepOut(cycle: Cycle, { topologyKey }: Term, tally: Tally, reason: number): void {
  if (cycle.count === 0 || tally.perSlot.size === 0) return;
  const { ids } = cycle.cache.nodes.domains(topologyKey);
  const verdicts = tally.byDomain(topologyKey).map((pods) => (pods > 0 ? reason : -1));
  cycle.keepByDomain(ids, verdicts, -1);
}

/** Counts placed Pods that match all terms, for each term in its own topology, as upstream does. */
function filterAffinity(cycle: Cycle, namespaces: NamespaceLabels): void {
  const terms = cycle.info.affinity;
  if (terms.length === 0 || cycle.count === 0) return;
  const { nodes, counts } = cycle.cache;
  const selection = allSelections(terms.map((term) => term.selection));
  const matching = counts.at(selection);
  const wanted = terms.map(({ topologyKey }) => {
    const sums = matching.byDomain(topologyKey);
    return { ids: nodes.domains(topologyKey).ids, sums };
  });
  // The first Pod of a group may use any node with the topology labels, because no Pod matches yet.
  const nobody = matching.perSlot.size === 0 || wanted.every(({ sums }) => sums.every(isZero));
  const first = nobody && selection.matches(cycle.info, namespaces);
  for (const { ids, sums } of wanted) {
    const verdicts = sums.map((pods) => (first || pods > 0 ? -1 : affinityMissed));
    cycle.keepByDomain(ids, verdicts, affinityMissed);
  }
}

function isZero(value: number): boolean {
  return value === 0;
}

function scorePreferred(cycle: Cycle, scores: Float64Array, scoring: ScoringTerms): boolean {
  const { counts, terms } = cycle.cache;
  // In this case upstream also omits the required terms of existing Pods.
  if (scoring.ignorePreferredTermsOfExistingPods && cycle.info.preferred.length === 0) return false;
  const sums: Sums = new Map();
  for (const term of cycle.info.preferred) {
    addWeights(sums, term.topologyKey, counts.at(term.selection), term.weight);
  }
  for (const group of terms.concerning(cycle.info)) {
    const weight = weightOf(group, scoring);
    if (weight !== 0) addWeights(sums, group.term.topologyKey, group.tally, weight);
  }
  if (sums.size === 0) return false;
  spanScores(cycle, sums, scores);
  return true;
}

/** Returns the score that one placed Pod with the term adds; 0: the term is not scored. */
function weightOf(group: TermGroup, scoring: ScoringTerms): number {
  switch (group.kind) {
    case "anti":
      return 0;
    case "follow":
      return scoring.hardPodAffinityWeight;
    case "wish":
      return group.weight;
  }
}

/** By topology key: sums by domain. */
type Sums = Map<string, Float64Array>;

function addWeights(sums: Sums, topologyKey: string, tally: Tally, weight: number): void {
  if (tally.perSlot.size === 0) return;
  const pods: DomainSums = tally.byDomain(topologyKey);
  let byDomain = sums.get(topologyKey);
  if (byDomain === undefined) {
    sums.set(topologyKey, (byDomain = new Float64Array(pods.length)));
  }
  for (let domain = 0; domain < pods.length; domain++) {
    byDomain[domain] = (byDomain[domain] ?? 0) + (pods[domain] ?? 0) * weight;
  }
}

/** Scales sums to 0..100. Divides first, as upstream: 29 of 50 yields 57 in floating point. */
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
    for (const { ids, byDomain } of parts) sum += byDomain[ids[slot] ?? -1] ?? 0;
    scores[slot] = sum;
    least = Math.min(least, sum);
    most = Math.max(most, sum);
  }
  const span = most - least;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    scores[slot] = span > 0 ? Math.trunc(100 * (((scores[slot] ?? 0) - least) / span)) : 0;
  }
}
