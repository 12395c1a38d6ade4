/** NodeResourcesFit: requests must find room; how full a node is to be, the strategy says. */
import type { NodeTable } from "../node-table.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import { reasonId } from "../reasons.ts";
import type { Requests } from "../requests.ts";
import { leastAllocated, strategyScore } from "../scoring-strategy.ts";

const name = "NodeResourcesFit";
const tooManyPods = reasonId(name, "Too many pods", true);
const lacksCpu = lacks("cpu");
const lacksMemory = lacks("memory");
const lacksEphemeral = lacks("ephemeral-storage");

function lacks(resource: string): number {
  return reasonId(name, `Insufficient ${resource}`, true);
}

export function nodeResourcesFit(_deps?: PluginDeps, strategy = leastAllocated): Plugin {
  return {
    name,
    roomFilter: lackOf,
    roomScore: { weight: 1, score: strategyScore(strategy) },
    hint: ({ kind }) => (kind === "node" || kind === "pod-gone" ? "queue-if-fits" : "skip"),
  };
}

const nothing: readonly number[] = [];

/** Reason ids of all that the node lacks. */
function lackOf(nodes: NodeTable, requests: Requests, slot: number): readonly number[] {
  const { cpu, memory, ephemeral, scalars } = requests;
  const free = (max: Float64Array, used: Float64Array): number =>
    (max[slot] ?? 0) - (used[slot] ?? 0);
  const found: number[] = [];
  if (free(nodes.podsMax, nodes.podsUsed) < 1) found.push(tooManyPods);
  if (cpu > 0 && cpu > free(nodes.cpuMax, nodes.cpuUsed)) found.push(lacksCpu);
  if (memory > 0 && memory > free(nodes.memoryMax, nodes.memoryUsed)) found.push(lacksMemory);
  if (ephemeral > 0 && ephemeral > free(nodes.ephemeralMax, nodes.ephemeralUsed)) {
    found.push(lacksEphemeral);
  }
  for (const [resource, amount] of scalars) {
    if (amount > nodes.scalarFree(slot, resource)) found.push(lacks(resource));
  }
  return found.length === 0 ? nothing : found;
}
