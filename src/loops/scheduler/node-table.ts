/**
 * Nodes as columns: one slot per node, one typed array per fact, so that a pass over all nodes reads
 * memory in order and allocates nothing.
 *
 * Holds  a slot in `live` has a node; used = sum of the requests of the Pods counted on it.
 *        `generation[slot]` changes when labels, taints or unschedulable do: cached verdicts carry it.
 * Cost   about 120 bytes per node, and 4 more per topology key, without the Node object.
 */
import type { Node } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { assert, must } from "#base/assert.ts";
import { cpuMilli, wholeUnits } from "./amounts.ts";
import { ImageTable } from "./image-table.ts";
import type { Requests } from "./requests.ts";

/** Values of one label over all slots: `ids[slot]` is the value's number, or -1 where the label is absent. */
interface DomainColumn {
  readonly key: string;
  ids: Int32Array;
  readonly names: string[];
  readonly byName: Map<string, number>;
  coverage: Coverage;
}

/** Distribution of a label over all nodes, for one static version. */
interface Coverage {
  readonly version: number;
  /** Whether every node has the label. */
  readonly isComplete: boolean;
  /** Whether all values of the label differ. */
  readonly isUnique: boolean;
}

interface ScalarColumn {
  max: Float64Array;
  used: Float64Array;
}

const slotsFirst = 64;
/** Number of static changes remembered, so that results of static facts are updated by slot. */
const staticChangesKept = 1_024;
/** Number of room changes remembered. */
const changesKept = 16_384;
/** Maximum number of label columns; past it, all are dropped, and columns still in use are made again. */
const columnsMax = 64;

export class NodeTable {
  cpuMax = new Float64Array(slotsFirst);
  memoryMax = new Float64Array(slotsFirst);
  ephemeralMax = new Float64Array(slotsFirst);
  podsMax = new Float64Array(slotsFirst);
  cpuUsed = new Float64Array(slotsFirst);
  memoryUsed = new Float64Array(slotsFirst);
  ephemeralUsed = new Float64Array(slotsFirst);
  podsUsed = new Float64Array(slotsFirst);
  cpuScored = new Float64Array(slotsFirst);
  memoryScored = new Float64Array(slotsFirst);
  generation = new Float64Array(slotsFirst);
  /** By slot: generation of used and total resources; cached room and scores store it. */
  roomGeneration = new Float64Array(slotsFirst);
  /** Slots in use: `live[0..size)`, dense, in no particular order. */
  live = new Int32Array(slotsFirst);
  /** Grows with each change of a node's static facts, and with each added or deleted node. */
  staticVersion = 1;
  /** Slots of the last static changes, by version; -1: any slot may have changed. */
  readonly #staticChanged = new Int32Array(staticChangesKept).fill(-1);

  /** Number of changes of `roomGeneration` so far. */
  roomChanges = 0;
  readonly roomChangesKept = changesKept;
  readonly #roomChanged = new Int32Array(changesKept);

  readonly images = new ImageTable();
  readonly #nodes: (Node | undefined)[] = [];
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  readonly #position: number[] = [];
  readonly #scalars = new Map<string, ScalarColumn>();
  readonly #columns = new Map<string, DomainColumn>();
  #generations = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Minimum length of arrays that are indexed by slot. */
  get capacity(): number {
    return this.cpuMax.length;
  }

  slotOf(name: string): number | undefined {
    return this.#slots.get(name);
  }

  has(slot: number): boolean {
    return this.#nodes[slot] !== undefined;
  }

  node(slot: number): Node {
    return must(this.#nodes[slot], "no node in this slot");
  }

  name(slot: number): string {
    return this.node(slot).metadata?.name ?? "";
  }

  /** Adds or replaces a node. @returns its slot. */
  set(node: Node): number {
    const name = node.metadata?.name ?? "";
    const known = this.#slots.get(name);
    const slot = known ?? this.#takeSlot(name);
    const old = this.#nodes[slot];
    this.#nodes[slot] = node;
    this.images.change(slot, old?.status?.images, node.status?.images);
    this.#setMax(slot, node);
    if (old !== undefined && haveSameStaticFacts(old, node)) return slot;
    this.generation[slot] = ++this.#generations;
    this.#noteStatic(slot);
    for (const column of this.#columns.values()) this.#label(column, slot, node);
    return slot;
  }

  /** Deletes a node, whose Pods must have been removed before. */
  delete(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    assert(this.podsUsed[slot] === 0, "a node goes after its Pods", { name });
    this.#slots.delete(name);
    this.images.change(slot, this.#nodes[slot]?.status?.images, undefined);
    this.#nodes[slot] = undefined;
    this.generation[slot] = ++this.#generations;
    this.#noteStatic(slot);
    for (const column of this.#columns.values()) column.ids[slot] = -1;
    const position = this.#position[slot] ?? 0;
    assert(this.live[position] === slot, "a slot is where its position says", { slot, position });
    const last = this.live[--this.#size] ?? 0;
    if (last !== slot) {
      this.live[position] = last;
      this.#position[last] = position;
    }
    this.#free.push(slot);
  }

  use(slot: number, requests: Requests, sign: 1 | -1): void {
    add(this.cpuUsed, slot, sign * requests.cpu);
    add(this.memoryUsed, slot, sign * requests.memory);
    add(this.ephemeralUsed, slot, sign * requests.ephemeral);
    add(this.cpuScored, slot, sign * requests.scoredCpu);
    add(this.memoryScored, slot, sign * requests.scoredMemory);
    add(this.podsUsed, slot, sign);
    this.#roomChangedAt(slot);
    for (const [name, amount] of requests.scalars) {
      add(this.#scalar(name).used, slot, sign * amount);
    }
  }

  /** Returns the slot of a room change by its number, which must be one of the last `roomChangesKept`. */
  roomChangedAt(change: number): number {
    return this.#roomChanged[change % changesKept] ?? 0;
  }

  #roomChangedAt(slot: number): void {
    this.roomGeneration[slot] = ++this.#generations;
    this.#roomChanged[this.roomChanges++ % changesKept] = slot;
  }

  /** Invalidates the cached room of every node. */
  touchRoom(): void {
    this.roomGeneration.fill(++this.#generations);
    // More changes than are remembered, so that all users of the changes examine all nodes again.
    this.roomChanges += changesKept + 1;
  }

  /** Returns the free amount of a resource without its own field: an extended resource, or huge pages. */
  scalarFree(slot: number, name: string): number {
    const column = this.#scalars.get(name);
    return column === undefined ? 0 : (column.max[slot] ?? 0) - (column.used[slot] ?? 0);
  }

  scalarMax(slot: number, name: string): number {
    return this.#scalars.get(name)?.max[slot] ?? 0;
  }

  scalarUsed(slot: number, name: string): number {
    return this.#scalars.get(name)?.used[slot] ?? 0;
  }

  domains(key: string): DomainColumn {
    const known = this.#columns.get(key);
    // A column with many unused values is made anew, because values such as host names come and go.
    if (known !== undefined && known.names.length <= 2 * this.size + slotsFirst) return known;
    const column = {
      key,
      ids: new Int32Array(this.capacity).fill(-1),
      names: [],
      byName: new Map(),
      coverage: { version: 0, isComplete: false, isUnique: false },
    };
    for (let i = 0; i < this.#size; i++) {
      const slot = this.live[i] ?? 0;
      this.#label(column, slot, this.node(slot));
    }
    // The numbers of values may have changed, which invalidates everything derived from them.
    if (known !== undefined || this.#columns.size >= columnsMax) this.#noteStatic(-1);
    if (this.#columns.size >= columnsMax) this.#columns.clear();
    this.#columns.set(key, column);
    return column;
  }

  /**
   * Slots whose static facts changed since a static version. The list may have duplicates, and slots that have no node
   * now. Undefined: any slot may have changed.
   */
  staticChangesSince(version: number): readonly number[] | undefined {
    if (this.staticVersion - version > staticChangesKept) return undefined;
    const slots: number[] = [];
    for (let at = version; at < this.staticVersion; at++) {
      const slot = this.#staticChanged[at % staticChangesKept] ?? -1;
      if (slot < 0) return undefined;
      slots.push(slot);
    }
    return slots;
  }

  #noteStatic(slot: number): void {
    this.#staticChanged[this.staticVersion % staticChangesKept] = slot;
    this.staticVersion++;
  }

  /** Takes O(nodes) after a static change. */
  coverage(key: string): Coverage {
    const column = this.domains(key);
    if (column.coverage.version === this.staticVersion) return column.coverage;
    const isSeen = new Uint8Array(column.names.length);
    let [missing, twins] = [0, 0];
    for (let i = 0; i < this.#size; i++) {
      const id = column.ids[this.live[i] ?? 0] ?? -1;
      if (id < 0) missing++;
      else if (isSeen[id] === 1) twins++;
      else isSeen[id] = 1;
    }
    const [isComplete, isUnique] = [missing === 0, twins === 0];
    column.coverage = { version: this.staticVersion, isComplete, isUnique };
    return column.coverage;
  }

  #label(column: DomainColumn, slot: number, node: Node): void {
    const value = node.metadata?.labels?.[column.key];
    if (value === undefined) {
      column.ids[slot] = -1;
      return;
    }
    let id = column.byName.get(value);
    if (id === undefined) {
      id = column.names.push(value) - 1;
      column.byName.set(value, id);
    }
    column.ids[slot] = id;
  }

  #takeSlot(name: string): number {
    const slot = this.#free.pop() ?? this.#nodes.length;
    if (slot >= this.capacity) this.#grow();
    this.#slots.set(name, slot);
    this.#position[slot] = this.#size;
    this.live[this.#size++] = slot;
    this.#nodes[slot] = undefined;
    return slot;
  }

  #setMax(slot: number, node: Node): void {
    const allocatable = node.status?.allocatable ?? {};
    this.#roomChangedAt(slot);
    const amount = (name: string): number => wholeUnits(allocatable[name] ?? "0");
    this.cpuMax[slot] = cpuMilli(allocatable["cpu"] ?? "0");
    this.memoryMax[slot] = amount("memory");
    this.ephemeralMax[slot] = amount("ephemeral-storage");
    this.podsMax[slot] = amount("pods");
    for (const column of this.#scalars.values()) column.max[slot] = 0;
    for (const name in allocatable) {
      if (!columnNames.has(name)) this.#scalar(name).max[slot] = amount(name);
    }
  }

  #scalar(name: string): ScalarColumn {
    let column = this.#scalars.get(name);
    if (column === undefined) {
      column = { max: new Float64Array(this.capacity), used: new Float64Array(this.capacity) };
      this.#scalars.set(name, column);
    }
    return column;
  }

  #grow(): void {
    const size = this.capacity * 2;
    this.cpuMax = grown(this.cpuMax, size);
    this.memoryMax = grown(this.memoryMax, size);
    this.ephemeralMax = grown(this.ephemeralMax, size);
    this.podsMax = grown(this.podsMax, size);
    this.cpuUsed = grown(this.cpuUsed, size);
    this.memoryUsed = grown(this.memoryUsed, size);
    this.ephemeralUsed = grown(this.ephemeralUsed, size);
    this.podsUsed = grown(this.podsUsed, size);
    this.cpuScored = grown(this.cpuScored, size);
    this.memoryScored = grown(this.memoryScored, size);
    this.generation = grown(this.generation, size);
    this.roomGeneration = grown(this.roomGeneration, size);
    const live = new Int32Array(size);
    live.set(this.live);
    this.live = live;
    for (const column of this.#scalars.values()) {
      column.max = grown(column.max, size);
      column.used = grown(column.used, size);
    }
    for (const column of this.#columns.values()) {
      const ids = new Int32Array(size).fill(-1);
      ids.set(column.ids);
      column.ids = ids;
    }
  }
}

const columnNames: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pods"]);

function add(column: Float64Array, slot: number, amount: number): void {
  column[slot] = (column[slot] ?? 0) + amount;
}

function grown(column: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const next = new Float64Array(size);
  next.set(column);
  return next;
}

/** Whether the fields of a node that filters read besides resources are unchanged. */
export function haveSameStaticFacts(a: Node, b: Node): boolean {
  return (
    a.spec?.unschedulable === b.spec?.unschedulable &&
    jsonEqual(a.spec?.taints, b.spec?.taints) &&
    jsonEqual(a.metadata?.labels, b.metadata?.labels) &&
    jsonEqual(a.status?.declaredFeatures, b.status?.declaredFeatures)
  );
}
