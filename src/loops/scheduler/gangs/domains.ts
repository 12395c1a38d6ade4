/**
 * Finds the domains of a topology key (racks, blocks) in which a group may be placed: all its Pods on nodes with one
 * value.
 *
 * Out    fullest first, by the use of cpu and memory with all the Pods there. So the first domain that fits them all
 *        has the best MostAllocated placement score of upstream.
 * Holds  a domain is left out only when its sums or its nodes' sums prove that `needed` Pods have no room there.
 * Cost   two passes over the nodes, for any number of values.
 * After  k/k plugins/topologyaware, podgrouppodscount, noderesources scorePlacement.
 */
import type { NodeTable } from "../node-table.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Requests } from "../requests.ts";

export interface Domain {
  readonly name: string;
  readonly slots: Int32Array;
  /** Fullness of the domain, 0..100. */
  readonly fullness: number;
}

interface Sums {
  readonly id: number;
  slots: number[];
  cpuMax: number;
  cpuUsed: number;
  memoryMax: number;
  memoryUsed: number;
  /** Number of Pods of the group's smallest size that fit by cpu, memory and number of Pods. */
  room: number;
}

interface DomainQuestion {
  readonly key: string;
  readonly members: readonly PodInfo[];
  readonly needed: number;
  /** Topology value at which Pods of the group are already placed. Undefined: any value. */
  readonly required: string | undefined;
  /** `asTheyStand`: placed Pods use room. `empty`: all of a node's room counts as free. */
  readonly nodesAre: "asTheyStand" | "empty";
}

interface Domains {
  /** Number of domains with at least one node, including the domains without enough room. */
  readonly count: number;
  readonly domains: readonly Domain[];
}

export function domainsFor(nodes: NodeTable, question: DomainQuestion): Domains {
  const { key, members, needed, nodesAre, required } = question;
  const column = nodes.domains(key);
  const least = leastRequests(members);
  const all = new Map<number, Sums>();
  for (let i = 0; i < nodes.size; i++) {
    const slot = nodes.live[i] ?? 0;
    const id = column.ids[slot] ?? -1;
    if (id < 0 || (required !== undefined && column.names[id] !== required)) continue;
    const sums = sumsOf(all, id);
    addNode(nodes, sums, slot);
    sums.room += nodesAre === "empty" ? roomIn(nodes, slot, least) : roomOn(nodes, slot, least);
  }
  const asked = totalOf(members);
  const domains = [...all.values()]
    .filter(({ room }) => room >= Math.max(1, needed))
    .map((sums) => ({
      name: column.names[sums.id] ?? "",
      slots: Int32Array.from(sums.slots),
      fullness: fullnessOf(sums, asked),
    }));
  domains.sort((a, b) => b.fullness - a.fullness || (a.name < b.name ? -1 : 1));
  return { count: all.size, domains };
}

function sumsOf(all: Map<number, Sums>, id: number): Sums {
  let sums = all.get(id);
  if (sums === undefined) {
    sums = { id, slots: [], cpuMax: 0, cpuUsed: 0, memoryMax: 0, memoryUsed: 0, room: 0 };
    all.set(id, sums);
  }
  return sums;
}

function addNode(nodes: NodeTable, sums: Sums, slot: number): void {
  sums.slots.push(slot);
  sums.cpuMax += nodes.cpuMax[slot] ?? 0;
  sums.cpuUsed += nodes.cpuUsed[slot] ?? 0;
  sums.memoryMax += nodes.memoryMax[slot] ?? 0;
  sums.memoryUsed += nodes.memoryUsed[slot] ?? 0;
}

/** Returns how many Pods with these requests fit on the node; never fewer than the filters would admit. */
export function roomOn(nodes: NodeTable, slot: number, { cpu, memory }: Requests): number {
  const podsFree = (nodes.podsMax[slot] ?? 0) - (nodes.podsUsed[slot] ?? 0);
  const cpuFree = (nodes.cpuMax[slot] ?? 0) - (nodes.cpuUsed[slot] ?? 0);
  const memoryFree = (nodes.memoryMax[slot] ?? 0) - (nodes.memoryUsed[slot] ?? 0);
  return wholePods(podsFree, times(cpuFree, cpu), times(memoryFree, memory));
}

/** Like `roomOn`, for an empty node. */
function roomIn(nodes: NodeTable, slot: number, { cpu, memory }: Requests): number {
  const byCpu = times(nodes.cpuMax[slot] ?? 0, cpu);
  return wholePods(nodes.podsMax[slot] ?? 0, byCpu, times(nodes.memoryMax[slot] ?? 0, memory));
}

/** Returns how often the requested amount fits into the free amount; infinite without a request. */
function times(free: number, asked: number): number {
  return asked > 0 ? free / asked : Number.POSITIVE_INFINITY;
}

function wholePods(pods: number, byCpu: number, byMemory: number): number {
  return Math.max(0, Math.floor(Math.min(pods, byCpu, byMemory)));
}

/** Returns the least request among the Pods, for each resource. */
export function leastRequests(members: readonly PodInfo[]): Requests {
  let cpu = Number.POSITIVE_INFINITY;
  let memory = Number.POSITIVE_INFINITY;
  for (const { requests } of members) {
    cpu = Math.min(cpu, requests.cpu);
    memory = Math.min(memory, requests.memory);
  }
  return { cpu, memory, ephemeral: 0, scalars: [], scoredCpu: cpu, scoredMemory: memory };
}

function totalOf(members: readonly PodInfo[]): { readonly cpu: number; readonly memory: number } {
  let cpu = 0;
  let memory = 0;
  for (const { requests } of members) {
    cpu += requests.cpu;
    memory += requests.memory;
  }
  return { cpu, memory };
}

/** Returns the MostAllocated score over the whole domain. */
function fullnessOf(sums: Sums, asked: { readonly cpu: number; readonly memory: number }): number {
  const share = (used: number, max: number): number =>
    max === 0 ? 0 : Math.floor((100 * Math.min(used, max)) / max);
  const cpu = share(sums.cpuUsed + asked.cpu, sums.cpuMax);
  const memory = share(sums.memoryUsed + asked.memory, sums.memoryMax);
  return Math.floor((cpu + memory) / 2);
}
