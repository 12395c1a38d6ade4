/**
 * Explains why a Pod is on its node, or on none: the nodes that each plugin refused and the change that would help, or
 * the scores of the remaining nodes. It uses the same filters and scores as decisions, without extenders and without the
 * room that is kept for nominated Pods.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import type { Cache } from "./cache.ts";
import { podInfo } from "./pod-info.ts";
import type { Requests } from "./requests.ts";
import { reasonOf } from "./reasons.ts";
import type { ScheduleAlgorithm } from "./schedule-algorithm.ts";

export interface Explanation {
  readonly pod: string;
  readonly schedulerName: string;
  /** Node of the Pod. Undefined: the Pod is pending. */
  readonly nodeName: string | undefined;
  readonly gates: readonly string[];
  /** What the Pod's group waits for. Absent: the Pod has no group. */
  readonly group?: string;
  readonly nodes: number;
  /** Set when the Pod was refused before any node was examined. */
  readonly whole: { readonly plugin: string; readonly text: string } | undefined;
  readonly refusals: readonly Refusal[];
  /** Best first, at most `shownMax`; the Pod's own node is always among them. */
  readonly scores: readonly NodeScores[];
  readonly feasible: number;
}

interface Refusal {
  readonly plugin: string;
  readonly text: string;
  readonly nodes: number;
  readonly examples: readonly string[];
  /** Whether preemption of Pods of lower priority could help. */
  readonly preemptionMayHelp: boolean;
  readonly remedy: string;
}

interface NodeScores {
  readonly node: string;
  readonly total: number;
  readonly plugins: Readonly<Record<string, number>>;
}

const shownMax = 5;

/** Explains the placement of a Pod, which must not be in the cache. */
export function explainPod(
  { cache, decider }: { readonly cache: Cache; readonly decider: ScheduleAlgorithm },
  pod: Pod,
): Explanation {
  const info = podInfo(pod);
  const { whole, refused, feasible, parts } = decider.examine(info);
  const { nodes } = cache;
  const own = pod.spec?.nodeName;
  const scores = feasible.map((slot) => {
    const plugins = Object.fromEntries([...parts].map(([name, by]) => [name, by[slot] ?? 0]));
    const total = Object.values(plugins).reduce((sum, part) => sum + part, 0);
    return { node: nodes.name(slot), total, plugins };
  });
  const best = scores.toSorted((a, b) => b.total - a.total || (a.node < b.node ? -1 : 1));
  const shown = best.filter(({ node }, i) => i < shownMax || node === own);
  return {
    pod: info.key,
    schedulerName: pod.spec?.schedulerName ?? "default-scheduler",
    nodeName: own,
    gates: (pod.spec?.schedulingGates ?? []).map(({ name }) => name),
    nodes: nodes.size,
    whole,
    refusals: refusalsOf(cache, info.requests, refused),
    scores: shown,
    feasible: feasible.length,
  };
}

function refusalsOf(
  cache: Cache,
  requests: Requests,
  refused: ReadonlyMap<number, readonly number[]>,
): readonly Refusal[] {
  const byReason = new Map<number, number[]>();
  for (const [slot, reasons] of refused) {
    for (const reason of reasons) byReason.set(reason, [...(byReason.get(reason) ?? []), slot]);
  }
  const refusals = [...byReason].map(([id, slots]) => {
    const { plugin, resolvable, text } = reasonOf(id);
    const examples = slots.slice(0, shownMax).map((slot) => cache.nodes.name(slot));
    const remedy = remedyOf(cache, requests, { plugin, text, slots });
    return { plugin, text, nodes: slots.length, examples, preemptionMayHelp: resolvable, remedy };
  });
  return refusals.toSorted((a, b) => b.nodes - a.nodes || (a.text < b.text ? -1 : 1));
}

interface Why {
  readonly plugin: string;
  readonly text: string;
  readonly slots: readonly number[];
}

function remedyOf(cache: Cache, requests: Requests, { plugin, text, slots }: Why): string {
  const [first = 0] = slots;
  switch (plugin) {
    case "NodeResourcesFit":
      return roomRemedy(cache, requests, text, slots);
    case "TaintToleration":
      return `tolerate ${taintsOf(cache.nodes.node(first))}, or take it off the node`;
    case "NodeUnschedulable":
      return "uncordon the node";
    case "NodeAffinity":
      return "change the Pod's nodeSelector or node affinity, or the labels of a node";
    case "NodePorts":
      return "ask for another host port, or free it on a node";
    case "PodTopologySpread":
      return "raise maxSkew, or make room in the domains that hold fewer of these Pods";
    case "InterPodAffinity":
      return "change the (anti-)affinity of this Pod or of those placed, or their labels";
    case "VolumeBinding":
    case "VolumeZone":
    case "VolumeRestrictions":
      return "provide a volume that this node can reach";
    case "NodeVolumeLimits":
      return "detach volumes from the node, or add a node";
    default:
      return `change what ${plugin} looks at`;
  }
}

/** Returns the remedy for the node that comes closest to fitting. */
function roomRemedy(
  { nodes }: Cache,
  requests: Requests,
  text: string,
  slots: readonly number[],
): string {
  const resource = text.replace("Insufficient ", "");
  if (resource === text) return "take Pods off a node, or raise its number of Pods";
  const free = (slot: number): number => {
    if (resource === "cpu") return (nodes.cpuMax[slot] ?? 0) - (nodes.cpuUsed[slot] ?? 0);
    if (resource === "memory") return (nodes.memoryMax[slot] ?? 0) - (nodes.memoryUsed[slot] ?? 0);
    if (resource === "ephemeral-storage")
      return (nodes.ephemeralMax[slot] ?? 0) - (nodes.ephemeralUsed[slot] ?? 0);
    return nodes.scalarFree(slot, resource);
  };
  const most = slots.reduce((best, slot) => (free(slot) > free(best) ? slot : best), slots[0] ?? 0);
  const asked = askedOf(requests, resource);
  const unit = resource === "cpu" ? "m" : "";
  return `ask for at most ${free(most)}${unit} instead of ${asked}${unit}, which ${nodes.name(most)} has free, or free ${asked - free(most)}${unit} there`;
}

function askedOf({ cpu, memory, ephemeral, scalars }: Requests, resource: string): number {
  if (resource === "cpu") return cpu;
  if (resource === "memory") return memory;
  if (resource === "ephemeral-storage") return ephemeral;
  return scalars.find(([name]) => name === resource)?.[1] ?? 0;
}

function taintsOf({ spec }: Node): string {
  const hard = (spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  return hard.map(({ key, value = "", effect }) => `${key}=${value}:${effect}`).join(", ");
}

export function explanationText(found: Explanation): string {
  const lines = [`Pod ${found.pod} (${found.schedulerName}): ${verdictOf(found)}`];
  if (found.group !== undefined) lines.push(`  ${found.group}`);
  if (found.whole !== undefined) lines.push(`  ${found.whole.plugin}: ${found.whole.text}`);
  for (const { plugin, text, nodes, examples, remedy, preemptionMayHelp } of found.refusals) {
    const more = nodes > examples.length ? ", ..." : "";
    lines.push(`  ${nodes} of ${found.nodes} nodes refused by ${plugin}: ${text}`);
    lines.push(`      ${examples.join(", ")}${more}`);
    lines.push(`      to change: ${remedy}${preemptionMayHelp ? "; preemption may help" : ""}`);
  }
  for (const { node, total, plugins } of found.scores) {
    const parts = Object.entries(plugins).map(([name, score]) => `${name} ${score}`);
    const mark = node === found.nodeName ? " (it is here)" : "";
    lines.push(`  ${node}${mark} scores ${total}: ${parts.join(", ")}`);
  }
  return `${lines.join("\n")}\n`;
}

function verdictOf({ nodeName, gates, feasible, nodes, whole }: Explanation): string {
  if (gates.length > 0) return `it waits for its scheduling gates: ${gates.join(", ")}`;
  const fit = `${feasible} of ${nodes} nodes would take it`;
  if (nodeName !== undefined) return `it is on ${nodeName}; as things stand, ${fit}`;
  if (whole !== undefined) return "no node was looked at";
  return feasible === 0 ? `none of ${nodes} nodes takes it` : fit;
}
