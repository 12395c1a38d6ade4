/** NodeResourcesFit: the node must have room for the requests; the strategy decides how full nodes should become. */
import { isExtendedResource } from "#api/validation/resources.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { NodeTable } from "../node-table.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import type { Requests } from "../requests.ts";
import { leastAllocated, strategyScore } from "../scoring-strategy.ts";

const name = "NodeResourcesFit";
const tooManyPods = reasonId(name, "Too many pods", true);
const lacksCpu = lacks("cpu");
const lacksMemory = lacks("memory");
const lacksEphemeral = lacks("ephemeral-storage");

interface Lack {
  /** Reason id when preemption could help. */
  readonly crowded: number;
  /** Reason id when even the empty node is too small. */
  readonly small: number;
}

function lacks(resource: string): Lack {
  const text = `Insufficient ${resource}`;
  return { crowded: reasonId(name, text, true), small: reasonId(name, text, false) };
}

/** Extended resources that the filter ignores: by name, and by the part of the name before the slash. */
export interface IgnoredResources {
  readonly names: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

export const ignoresNothing: IgnoredResources = { names: new Set(), groups: new Set() };

export function nodeResourcesFit(
  { devices }: Partial<PluginDeps> = {},
  strategy = leastAllocated,
  ignored = ignoresNothing,
): Plugin {
  const counts = countsOf(ignored);
  // When the node has no device plugin for the resource but a device class provides it, DynamicResources decides.
  const isDelegated: IsDelegated = (nodes, slot, resource) =>
    nodes.scalarMax(slot, resource) === 0 && devices?.state.classBehind(resource) !== undefined;
  return {
    name,
    roomFilter: (nodes, requests, slot) => lackOf(nodes, requests, slot, { counts, isDelegated }),
    roomScore: { weight: 1, score: strategyScore(strategy) },
    hint: fitHint,
  };
}

function fitHint(event: ClusterEvent, { requests }: PodInfo): Hint {
  if (event.kind === "node" || event.kind === "pod-gone") return "queue-if-fits";
  const mayBeBacked = event.kind === "devices" && event.hasNewClasses === true;
  return mayBeBacked && requests.scalars.length > 0 ? "queue" : "skip";
}

type IsDelegated = (nodes: NodeTable, slot: number, resource: string) => boolean;

interface Exceptions {
  readonly counts: ((resource: string) => boolean) | undefined;
  readonly isDelegated: IsDelegated;
}

/** Returns the predicate of the checked scalar resources. Undefined: all are checked. */
function countsOf({
  names,
  groups,
}: IgnoredResources): ((resource: string) => boolean) | undefined {
  if (names.size === 0 && groups.size === 0) return undefined;
  return (resource) => {
    if (!isExtendedResource(resource)) return true;
    return !names.has(resource) && !groups.has(resource.slice(0, resource.indexOf("/")));
  };
}

const nothing: readonly number[] = [];

/** Returns the reason ids of all resources that the node lacks. */
function lackOf(
  nodes: NodeTable,
  requests: Requests,
  slot: number,
  { counts, isDelegated }: Exceptions,
): readonly number[] {
  const { cpu, memory, ephemeral, scalars } = requests;
  const found: number[] = [];
  if (free(nodes.podsMax, nodes.podsUsed, slot) < 1) found.push(tooManyPods);
  if (cpu > 0 && cpu > free(nodes.cpuMax, nodes.cpuUsed, slot)) {
    found.push(lackIn(cpu, nodes.cpuMax, slot, lacksCpu));
  }
  if (memory > 0 && memory > free(nodes.memoryMax, nodes.memoryUsed, slot)) {
    found.push(lackIn(memory, nodes.memoryMax, slot, lacksMemory));
  }
  if (ephemeral > 0 && ephemeral > free(nodes.ephemeralMax, nodes.ephemeralUsed, slot)) {
    found.push(lackIn(ephemeral, nodes.ephemeralMax, slot, lacksEphemeral));
  }
  for (const [resource, amount] of scalars) {
    if (amount <= nodes.scalarFree(slot, resource) || counts?.(resource) === false) continue;
    if (isDelegated(nodes, slot, resource)) continue;
    const isHopeless = amount > nodes.scalarMax(slot, resource);
    const { crowded, small } = lacks(resource);
    found.push(isHopeless ? small : crowded);
  }
  return found.length === 0 ? nothing : found;
}

function free(max: Float64Array, used: Float64Array, slot: number): number {
  return (max[slot] ?? 0) - (used[slot] ?? 0);
}

/** Returns the reason: `small` when even the empty node is too small, so that, as upstream, preemption is not tried. */
function lackIn(asked: number, max: Float64Array, slot: number, { crowded, small }: Lack): number {
  return asked > (max[slot] ?? 0) ? small : crowded;
}
