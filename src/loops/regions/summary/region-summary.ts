/**
 * What the coordinator knows of a region: at most 4 KB, kept by deltas of nodes and pods.
 *
 * In     changes of nodes and pods, in any order; a pod may come before its node.
 * Holds  counts and cells equal a walk over all nodes and pods; a node that is not Ready, or unschedulable, has no room.
 * Out    `RegionSummary` with a sequence that rises with each, so that an old one is known as old.
 * Cost   O(1) per change. Memory: some 150 bytes per pod that is on a node; where that is too much the summary is made in
 *        the region (`pilothouse region agent`).
 * Bounds `podsMax`; beyond it the summary says `incomplete`, and claims room only for what it counts.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { podAmounts } from "#api/quota-usage.ts";
import { milliValue, tryParseQuantity, value, type Quantity } from "#api/values/quantity.ts";
import { RoomCells, type Room, type RoomCell } from "./room-cells.ts";

/** Nodes that are equal for the scheduling of pods: same machine type, same taints. */
export interface NodeClass {
  readonly name: string;
  /** Texts `key=value:effect`, sorted. */
  readonly taints: readonly string[];
  readonly nodes: number;
  readonly cells: readonly RoomCell[];
}

export interface RegionSummary {
  readonly nodes: number;
  readonly readyNodes: number;
  readonly pods: number;
  /** Number of pods without a node. */
  readonly pendingPods: number;
  readonly classes: readonly NodeClass[];
  readonly isIncomplete: boolean;
}

interface KnownNode {
  readonly className: string;
  readonly taints: readonly string[];
  readonly allocatable: Room;
  readonly isOpen: boolean;
  readonly isReady: boolean;
}

interface KnownPod {
  readonly node: string;
  readonly room: Room;
}

interface Class {
  readonly taints: readonly string[];
  nodes: number;
  readonly cells: RoomCells;
}

const noRoom: Room = { cpu: 0, memory: 0, pods: 0 };

export class SummaryKeeper {
  readonly #podsMax: number;
  readonly #nodes = new Map<string, KnownNode>();
  readonly #used = new Map<string, Room>();
  readonly #pods = new Map<string, KnownPod>();
  readonly #pending = new Set<string>();
  readonly #classes = new Map<string, Class>();
  #readyNodes = 0;
  #uncounted = 0;

  constructor({ podsMax }: { readonly podsMax: number }) {
    this.#podsMax = podsMax;
  }

  setNode(node: Node): void {
    const name = node.metadata?.name ?? "";
    const known = this.#nodes.get(name);
    if (known !== undefined) this.#withdraw(name, known);
    const next = knownNode(node);
    this.#nodes.set(name, next);
    this.#enter(name, next);
  }

  removeNode(name: string): void {
    const known = this.#nodes.get(name);
    if (known === undefined) return;
    this.#withdraw(name, known);
    this.#nodes.delete(name);
  }

  /** `key`: namespace and name of the pod. */
  setPod(key: string, pod: Pod): void {
    this.removePod(key);
    const phase = pod.status?.phase;
    if (phase === "Succeeded" || phase === "Failed") return;
    const node = pod.spec?.nodeName ?? "";
    if (this.#pods.size + this.#pending.size >= this.#podsMax) {
      this.#uncounted++;
      return;
    }
    if (node === "") {
      this.#pending.add(key);
      return;
    }
    const room = podRoom(pod);
    this.#pods.set(key, { node, room });
    this.#use(node, room, 1);
  }

  removePod(key: string): void {
    if (this.#pending.delete(key)) return;
    const known = this.#pods.get(key);
    if (known === undefined) return;
    this.#pods.delete(key);
    this.#use(known.node, known.room, -1);
  }

  summary(): RegionSummary {
    const classes = [...this.#classes]
      .map(([name, { taints, nodes, cells }]) => ({
        name: name.split(" ")[0] ?? "",
        taints,
        nodes,
        cells: cells.cells(),
      }))
      .toSorted((a, b) => b.nodes - a.nodes || (a.name < b.name ? -1 : 1));
    return {
      nodes: this.#nodes.size,
      readyNodes: this.#readyNodes,
      pods: this.#pods.size,
      pendingPods: this.#pending.size,
      classes,
      isIncomplete: this.#uncounted > 0,
    };
  }

  #use(name: string, { cpu, memory }: Room, by: number): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) this.#withdraw(name, node);
    const used = this.#used.get(name) ?? noRoom;
    const next = {
      cpu: used.cpu + by * cpu,
      memory: used.memory + by * memory,
      pods: used.pods + by,
    };
    if (next.pods === 0) this.#used.delete(name);
    else this.#used.set(name, next);
    if (node !== undefined) this.#enter(name, node);
  }

  #enter(name: string, node: KnownNode): void {
    const key = `${node.className} ${node.taints.join(",")}`;
    const known = this.#classes.get(key) ?? {
      taints: node.taints,
      nodes: 0,
      cells: new RoomCells(),
    };
    known.nodes++;
    if (node.isReady) this.#readyNodes++;
    if (node.isOpen) known.cells.add(this.#freeOf(name, node));
    this.#classes.set(key, known);
  }

  #withdraw(name: string, node: KnownNode): void {
    const key = `${node.className} ${node.taints.join(",")}`;
    const known = this.#classes.get(key);
    if (known === undefined) return;
    known.nodes--;
    if (node.isReady) this.#readyNodes--;
    if (node.isOpen) known.cells.remove(this.#freeOf(name, node));
    if (known.nodes === 0) this.#classes.delete(key);
  }

  #freeOf(name: string, { allocatable }: KnownNode): Room {
    const used = this.#used.get(name) ?? noRoom;
    return {
      cpu: Math.max(0, allocatable.cpu - used.cpu),
      memory: Math.max(0, allocatable.memory - used.memory),
      pods: Math.max(0, allocatable.pods - used.pods),
    };
  }
}

function knownNode({ metadata, spec, status }: Node): KnownNode {
  const labels = metadata?.labels ?? {};
  const type = labels["node.kubernetes.io/instance-type"] ?? "any";
  const arch = labels["kubernetes.io/arch"] ?? "any";
  const taints = (spec?.taints ?? [])
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .map(({ key, value: text = "", effect }) => `${key}=${text}:${effect}`)
    .toSorted();
  const isReady = (status?.conditions ?? []).some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
  return {
    className: `${type}/${arch}`,
    taints,
    allocatable: roomOf(status?.allocatable ?? {}),
    isReady,
    isOpen: isReady && spec?.unschedulable !== true,
  };
}

function roomOf(amounts: Readonly<Record<string, string | number>>): Room {
  const amount = (name: "cpu" | "memory" | "pods"): Quantity | undefined => {
    const text = amounts[name];
    return text === undefined ? undefined : tryParseQuantity(text);
  };
  const [cpu, memory, pods] = [amount("cpu"), amount("memory"), amount("pods")];
  return {
    cpu: cpu === undefined ? 0 : milliValue(cpu),
    memory: memory === undefined ? 0 : Math.floor(value(memory) / 2 ** 20),
    pods: pods === undefined ? 0 : value(pods),
  };
}

/** Returns the room that a pod takes on a node; memory is rounded up. */
export function podRoom(pod: Pod): Room {
  const { cpu, memory } = podAmounts(pod, "requests");
  return {
    cpu: cpu === undefined ? 0 : milliValue(cpu),
    memory: memory === undefined ? 0 : Math.ceil(value(memory) / 2 ** 20),
    pods: 1,
  };
}
