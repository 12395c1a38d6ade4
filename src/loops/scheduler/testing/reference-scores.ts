/**
 * Scores each feasible node by a full walk: upstream's formulas with its default weights, plugin by plugin, each
 * according to its documentation and its Go arithmetic (whole numbers where these are whole).
 */
import type { Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from "#api/gen/types.ts";
import { allocatable, isCounted, requestOf, spreadTakes } from "./reference-filters.ts";
import {
  isTolerated,
  labelsOf,
  nodeOf,
  podsOn,
  preferenceHolds,
  termTakes,
  type World,
} from "./reference-selectors.ts";

const hostname = "kubernetes.io/hostname";
const zone = "topology.kubernetes.io/zone";

/** Returns the total scores of the feasible nodes, by name. */
export function totals(
  world: World,
  pod: Pod,
  feasible: readonly Node[],
): ReadonlyMap<string, number> {
  const parts = [
    scaled(feasible.map((node) => untolerated(pod, node))).map((share) => 3 * (100 - share)),
    scaled(feasible.map((node) => preferred(pod, node))).map((share) => 2 * share),
    feasible.map((node) => leastAllocated(world, pod, node)),
    feasible.map((node) => balanced(world, pod, node)),
    spread(world, pod, feasible).map((score) => 2 * score),
    affinity(world, pod, feasible).map((score) => 2 * score),
    feasible.map((node) => imageLocality(world, pod, node)),
  ];
  const total = (at: number): number => parts.reduce((sum, part) => sum + (part[at] ?? 0), 0);
  return new Map(feasible.map((node, at) => [node.metadata?.name ?? "", total(at)]));
}

function untolerated(pod: Pod, node: Node): number {
  const soft = (node.spec?.taints ?? []).filter(({ effect }) => effect === "PreferNoSchedule");
  return soft.filter((taint) => !isTolerated(pod, taint)).length;
}

function preferred(pod: Pod, node: Node): number {
  const { nodeAffinity } = pod.spec?.affinity ?? {};
  const wishes = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return wishes.reduce((sum, { preference, weight }) => {
    return sum + (preferenceHolds(preference.matchExpressions ?? [], node) ? weight : 0);
  }, 0);
}

/** Upstream's DefaultNormalizeScore. */
function scaled(values: readonly number[]): number[] {
  const most = Math.max(0, ...values);
  return values.map((value) => (most === 0 ? 0 : Math.trunc((100 * value) / most)));
}

/** Pods without requests count as 100m and 200 MiB. */
function leastAllocated(world: World, pod: Pod, node: Node): number {
  const shares = (["cpu", "memory"] as const).map((resource) => {
    const fallback = resource === "cpu" ? 100 : 200 * 1024 * 1024;
    const all = [...podsOn(world, node), pod];
    const used = all.reduce((sum, one) => sum + requestOf(one, resource, fallback), 0);
    const max = allocatable(node, resource);
    return used > max ? 0 : Math.trunc(((max - used) * 100) / max);
  });
  return Math.trunc(((shares[0] ?? 0) + (shares[1] ?? 0)) / 2);
}

function balanced(world: World, pod: Pod, node: Node): number {
  if (requestOf(pod, "cpu") === 0 && requestOf(pod, "memory") === 0) return 0;
  const balance = (pods: readonly Pod[]): number => {
    const [cpu = 0, memory = 0] = (["cpu", "memory"] as const).map((resource) => {
      const used = pods.reduce((sum, one) => sum + requestOf(one, resource), 0);
      return Math.min(1, used / allocatable(node, resource));
    });
    return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * 100);
  };
  const here = podsOn(world, node);
  return 50 + Math.trunc((50 + balance([...here, pod]) - balance(here)) / 2);
}

/** A soft constraint and the predicate of the Pods that it counts. */
interface Soft {
  readonly constraint: TopologySpreadConstraint;
  readonly takes: (other: Pod) => boolean;
}

/** Pods of a controller without constraints of their own get the built-in constraints. */
function softSpreads(pod: Pod): { readonly all: readonly Soft[]; readonly isStrict: boolean } {
  const asked = pod.spec?.topologySpreadConstraints ?? [];
  if (asked.length > 0) {
    const soft = asked.filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== "DoNotSchedule");
    const all = soft.map((constraint) => ({
      constraint,
      takes: (other: Pod) => spreadTakes(constraint, pod, other),
    }));
    return { all, isStrict: true };
  }
  const owner = pod.metadata?.ownerReferences?.[0]?.uid;
  if (owner === undefined) return { all: [], isStrict: false };
  const takes = (other: Pod): boolean =>
    other.metadata?.deletionTimestamp === undefined &&
    other.metadata?.ownerReferences?.[0]?.uid === owner;
  const built = (topologyKey: string, maxSkew: number): Soft => ({
    constraint: { topologyKey, maxSkew, whenUnsatisfiable: "ScheduleAnyway" },
    takes,
  });
  return { all: [built(hostname, 3), built(zone, 5)], isStrict: false };
}

function spread(world: World, pod: Pod, feasible: readonly Node[]): number[] {
  const { all, isStrict } = softSpreads(pod);
  if (all.length === 0) return feasible.map(() => 0);
  const hasKeys = (node: Node): boolean =>
    !isStrict ||
    all.every(({ constraint }) => labelsOf(node)[constraint.topologyKey] !== undefined);
  const scored = feasible.filter(hasKeys);
  const rawOf = (node: Node): number => {
    let raw = 0;
    for (const soft of all) {
      const { maxSkew, topologyKey } = soft.constraint;
      const value = labelsOf(node)[topologyKey];
      if (value === undefined) continue;
      const values = scored.map((one) => labelsOf(one)[topologyKey] ?? "");
      const domains = topologyKey === hostname ? scored.length : new Set(values).size;
      const homes =
        topologyKey === hostname
          ? [node]
          : world.nodes.filter(hasKeys).filter((one) => {
              return labelsOf(one)[topologyKey] === value && isCounted(soft.constraint, pod, one);
            });
      const count = homes.flatMap((one) => podsOn(world, one)).filter(soft.takes).length;
      raw += count * Math.log(domains + 2) + (maxSkew - 1);
    }
    return Math.round(raw);
  };
  const raws = new Map(scored.map((node) => [node, rawOf(node)]));
  const [least, most] = [Math.min(...raws.values()), Math.max(0, ...raws.values())];
  return feasible.map((node) => {
    const raw = raws.get(node);
    if (raw === undefined) return 0;
    return most === 0 ? 100 : Math.trunc((100 * (most + least - raw)) / most);
  });
}

function affinity(world: World, pod: Pod, feasible: readonly Node[]): number[] {
  let isAny = false;
  const add = (node: Node, term: PodAffinityTerm, other: Pod, weight: number): number => {
    const home = nodeOf(world, other);
    const theirs = home === undefined ? undefined : labelsOf(home)[term.topologyKey];
    if (theirs === undefined) return 0;
    isAny = true;
    return theirs === labelsOf(node)[term.topologyKey] ? weight : 0;
  };
  const raws = feasible.map((node) => {
    let raw = 0;
    for (const other of world.placed.values()) {
      for (const { term, weight } of wishesOf(pod)) {
        if (termTakes(world, term, pod, other)) raw += add(node, term, other, weight);
      }
      for (const { term, weight } of [...wishesOf(other), ...requiredOf(other)]) {
        if (termTakes(world, term, other, pod)) raw += add(node, term, other, weight);
      }
    }
    return raw;
  });
  if (!isAny) return feasible.map(() => 0);
  const [least, most] = [Math.min(...raws), Math.max(...raws)];
  return raws.map((raw) => (most > least ? Math.trunc(100 * ((raw - least) / (most - least))) : 0));
}

interface Wish {
  readonly term: PodAffinityTerm;
  readonly weight: number;
}

function wishesOf({ spec }: Pod): Wish[] {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const liked = podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const disliked = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...liked.map(({ podAffinityTerm: term, weight }) => ({ term, weight })),
    ...disliked.map(({ podAffinityTerm: term, weight }) => ({ term, weight: -weight })),
  ];
}

/** Required affinities of placed Pods attract others with weight 1, the default hardPodAffinityWeight. */
function requiredOf({ spec }: Pod): Wish[] {
  const required = spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (required ?? []).map((term) => ({ term, weight: 1 }));
}

/** Image sizes are the same on all nodes here. */
function imageLocality(world: World, pod: Pod, node: Node): number {
  const mebibyte = 1024 * 1024;
  const name = `${pod.spec?.containers[0]?.image ?? ""}:latest`;
  const sizeOn = ({ status }: Node): number =>
    Number(status?.images?.find(({ names }) => names?.includes(name) === true)?.sizeBytes ?? 0);
  const holders = world.nodes.filter((one) => sizeOn(one) > 0).length;
  const sum = Math.trunc(sizeOn(node) * (holders / world.nodes.length));
  const counted = Math.min(Math.max(sum, 23 * mebibyte), 1_000 * mebibyte);
  return Math.trunc((100 * (counted - 23 * mebibyte)) / (977 * mebibyte));
}
