/** Reference of feasible nodes: applies the documented rules literally by walks over everything, at any cost. */
import type { Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from "#api/gen/types.ts";
import {
  isTolerated,
  labelsOf,
  namespaceOf,
  nodeOf,
  nodeSelected,
  podsOn,
  selectorTakes,
  termTakes,
  type World,
} from "./reference-selectors.ts";

export function canTake(world: World, pod: Pod, node: Node): boolean {
  return (
    isOpenTo(pod, node) &&
    nodeSelected(pod, node) &&
    portsFit(world, pod, node) &&
    roomFits(world, pod, node) &&
    hardSpreads(pod).every((one) => spreadFits(world, pod, node, one)) &&
    affinityFits(world, pod, node)
  );
}

function isOpenTo(pod: Pod, node: Node): boolean {
  const closed = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
  if (node.spec?.unschedulable === true && !isTolerated(pod, closed)) return false;
  return blockingTaints(node).every((taint) => isTolerated(pod, taint));
}

function blockingTaints(node: Node) {
  return (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
}

function portOf(pod: Pod): number {
  return pod.spec?.containers[0]?.ports?.[0]?.hostPort ?? 0;
}

function portsFit(world: World, pod: Pod, node: Node): boolean {
  const port = portOf(pod);
  return port === 0 || podsOn(world, node).every((other) => portOf(other) !== port);
}

/** Returns the request in milli-CPU or bytes; `fallback` when the Pod has none. */
export function requestOf(pod: Pod, resource: "cpu" | "memory", fallback = 0): number {
  const text = pod.spec?.containers[0]?.resources?.requests?.[resource];
  return text === undefined ? fallback : amountOf(resource, text);
}

export function allocatable(node: Node, resource: "cpu" | "memory"): number {
  return amountOf(resource, node.status?.allocatable?.[resource] ?? "0");
}

function amountOf(resource: "cpu" | "memory", text: string): number {
  if (resource === "cpu") {
    return text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1_000;
  }
  return Number(text.slice(0, -2)) * (text.endsWith("Gi") ? 1024 ** 3 : 1024 ** 2);
}

function roomFits(world: World, pod: Pod, node: Node): boolean {
  const here = podsOn(world, node);
  if (here.length + 1 > Number(node.status?.allocatable?.["pods"] ?? 0)) return false;
  return (["cpu", "memory"] as const).every((resource) => {
    const asked = requestOf(pod, resource);
    const used = here.reduce((sum, other) => sum + requestOf(other, resource), 0);
    return asked === 0 || used + asked <= allocatable(node, resource);
  });
}

function hardSpreads({ spec }: Pod): readonly TopologySpreadConstraint[] {
  const all = spec?.topologySpreadConstraints ?? [];
  return all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
}

/** Whether a constraint of `pod` counts `other`. */
export function spreadTakes(constraint: TopologySpreadConstraint, pod: Pod, other: Pod): boolean {
  if (other.metadata?.deletionTimestamp !== undefined) return false;
  if (namespaceOf(other) !== namespaceOf(pod)) return false;
  const [own, labels] = [labelsOf(pod), labelsOf(other)];
  const keys = (constraint.matchLabelKeys ?? []).filter((key) => own[key] !== undefined);
  if (!keys.every((key) => labels[key] === own[key])) return false;
  return selectorTakes(constraint.labelSelector, labels);
}

/** Whether the node counts under the policies of the constraint. */
export function isCounted(constraint: TopologySpreadConstraint, pod: Pod, node: Node): boolean {
  const { nodeAffinityPolicy = "Honor", nodeTaintsPolicy = "Ignore" } = constraint;
  if (nodeAffinityPolicy === "Honor" && !nodeSelected(pod, node)) return false;
  if (nodeTaintsPolicy === "Ignore") return true;
  return blockingTaints(node).every((taint) => isTolerated(pod, taint));
}

function spreadFits(
  world: World,
  pod: Pod,
  node: Node,
  constraint: TopologySpreadConstraint,
): boolean {
  const { maxSkew, minDomains = 1, topologyKey } = constraint;
  const keys = hardSpreads(pod).map((one) => one.topologyKey);
  const own = labelsOf(node)[topologyKey];
  if (own === undefined) return false;
  const counts = new Map<string, number>();
  for (const one of world.nodes) {
    const labels = labelsOf(one);
    const name = labels[topologyKey];
    if (name === undefined || keys.some((key) => labels[key] === undefined)) continue;
    if (!isCounted(constraint, pod, one)) continue;
    const matching = podsOn(world, one).filter((other) => spreadTakes(constraint, pod, other));
    counts.set(name, (counts.get(name) ?? 0) + matching.length);
  }
  const self = spreadTakes(constraint, pod, pod) ? 1 : 0;
  const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
  return (counts.get(own) ?? 0) + self - least <= maxSkew;
}

function affinityFits(world: World, pod: Pod, node: Node): boolean {
  const near = (term: PodAffinityTerm, other: Pod): boolean => {
    const home = nodeOf(world, other);
    const theirs = home === undefined ? undefined : labelsOf(home)[term.topologyKey];
    return theirs !== undefined && theirs === labelsOf(node)[term.topologyKey];
  };
  const others = [...world.placed.values()];
  const meets = (owner: Pod, to: (term: PodAffinityTerm) => boolean): boolean => {
    const { podAntiAffinity } = owner.spec?.affinity ?? {};
    return (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(to);
  };
  const isMet = meets(pod, (term) =>
    others.some((other) => termTakes(world, term, pod, other) && near(term, other)),
  );
  if (isMet) return false;
  const meetsOther = others.some((other) =>
    meets(other, (term) => termTakes(world, term, other, pod) && near(term, other)),
  );
  return !meetsOther && follows(world, pod, node, near);
}

/** Counts Pods that match all terms, each term in its own topology. The first Pod fits any node with the labels. */
function follows(
  world: World,
  pod: Pod,
  node: Node,
  near: (term: PodAffinityTerm, other: Pod) => boolean,
): boolean {
  const { podAffinity } = pod.spec?.affinity ?? {};
  const terms = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (!terms.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined)) return false;
  const matchesAll = (other: Pod): boolean =>
    terms.every((term) => termTakes(world, term, pod, other));
  const matching = [...world.placed.values()].filter(matchesAll);
  const isAnyLocated = matching.some((other) => {
    const home = nodeOf(world, other);
    return home !== undefined && terms.some((t) => labelsOf(home)[t.topologyKey] !== undefined);
  });
  if (!isAnyLocated && matchesAll(pod)) return true;
  return terms.every((term) => matching.some((other) => near(term, other)));
}
