/**
 * Pod classes: Pods that are equal in all facts that static filters read share the verdicts on every node.
 *
 * Holds  a verdict of a class on a slot counts only while the slot's generation is the one it was made at.
 * Cost   a node filter runs once per class and node, not once per Pod and node. Room and its score are computed again
 *        only for changed nodes, such as the node of a placement. 29 bytes per slot and class, and 8 per node score.
 *        Bounds: `bytesMax` over all classes, and `classesMax` classes, since each also keeps a Pod and its compiled
 *        form. The least recently used are removed. `age` removes classes without Pods: a thousand Pods of a busy hour
 *        take 20 MB.
 */
import type { Node } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import type { FitError } from "./fit-error.ts";
import type { NodeTable } from "./node-table.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Requests } from "./requests.ts";

/** Returns a reason id or `fits`; depends only on the Pod's class and the Node object. */
export type NodeFilter = (info: PodInfo, node: Node) => number;

/** A score that depends only on the Pod's class and the Node object, scaled to 0..100 over the feasible nodes. */
export interface NodeScore {
  readonly weight: number;
  /** Whether the largest raw value is the worst. */
  readonly isReversed: boolean;
  readonly raw: (info: PodInfo, node: Node) => number;
}

/** Returns the reason ids of all lacking resources; depends only on the class's requests and the node's sums. */
export type RoomFilter = (nodes: NodeTable, requests: Requests, slot: number) => readonly number[];

/** A score 0..100 that depends only on the class's requests and the node's sums. */
export interface RoomScore {
  readonly weight: number;
  readonly score: (nodes: NodeTable, requests: Requests, slot: number) => number;
}

export interface ClassRules {
  readonly nodeFilters: readonly NodeFilter[];
  readonly nodeScores: readonly NodeScore[];
  readonly roomFilters: readonly RoomFilter[];
  readonly roomScores: readonly RoomScore[];
}

export interface PodClass {
  /** A Pod of the class, whose spec represents all of its Pods. */
  readonly sample: PodInfo;
  /** Age in which the class was last used by a Pod. */
  usedAt: number;
  /** By slot: `fits` or a reason id. */
  verdict: Int32Array;
  /** By node score: raw values by slot. */
  nodeScores: readonly Float64Array[];
  /** By slot: node generation of the verdict and the raw values. */
  generation: Float64Array;
  /** Static version for which all verdicts are up to date, with summaries of the verdicts and node scores. */
  checked: Checked;
  /** By slot: 1 when no room filter finds a lack, else 0. */
  room: Uint8Array;
  /** By slot: weighted sum of the room scores; 0 without room. */
  roomScore: Float64Array;
  /** By slot: room generation of `room` and `roomScore`. */
  roomGeneration: Float64Array;
  /** By spread constraint: participating nodes; see pod-topology-spread.ts. */
  readonly participations: Map<string, Participation>;
  /** The last refusal that the passing of time cannot change; see schedule-algorithm.ts. */
  refused: Refusal | undefined;
  /** Cache version and message of the last preemption attempt without result. */
  preemptionFutile: { readonly version: number; readonly text: string };
}

interface Refusal {
  /** Value of `Cache.loosened` at the refusal, which holds while that value stays the same. */
  readonly loosened: number;
  readonly error: FitError;
  /** Whether preemption could help on no node. */
  readonly isHopeless: boolean;
}

/** The nodes that participate in a spread constraint, for a static version; updated for the changed nodes. */
export interface Participation {
  version: number;
  /** Domains with at least one participating node. */
  eligible: Int32Array;
  /** Number of participating nodes. */
  count: number;
  /** By slot: 1 for a participating node. */
  slots: Uint8Array;
  /** By slot: the domain in which the node is counted; -1: none. */
  domainOf: Int32Array;
  /** By domain: number of participating nodes. */
  perDomain: Int32Array;
}

interface Checked {
  readonly version: number;
  readonly allFit: boolean;
  /** By node score: whether any node's raw value differs from 0. */
  readonly anyScore: readonly boolean[];
}

export const fits = -1;
const bytesMax = 128 * 1024 * 1024;
/** Bytes per slot: verdict 4, generation 8, room 1, roomScore 8, roomGeneration 8. */
const bytesPerSlot = 29;
const bytesPerScore = 8;
const classesMin = 16;
const classesMax = 1_024;

export class PodClasses {
  readonly #nodes: NodeTable;
  readonly #rules: ClassRules;
  /** In order of use: the first class is the least recently used one. */
  readonly #classes = new Map<string, PodClass>();
  #age = 0;

  constructor(deps: { nodes: NodeTable }, rules: ClassRules) {
    this.#nodes = deps.nodes;
    this.#rules = rules;
  }

  get count(): number {
    return this.#classes.size;
  }

  of(info: PodInfo): PodClass {
    const known = this.#classes.get(info.classKey);
    if (known !== undefined) {
      this.#classes.delete(info.classKey);
      this.#classes.set(info.classKey, known);
      known.usedAt = this.#age;
      this.#fitSize(known);
      return known;
    }
    const scoreCount = this.#rules.nodeScores.length;
    const made = newClass(info, this.#nodes.capacity, scoreCount);
    made.usedAt = this.#age;
    this.#classes.set(info.classKey, made);
    const bytes = bytesPerSlot + scoreCount * bytesPerScore;
    const budget = Math.floor(bytesMax / (bytes * this.#nodes.capacity));
    if (this.#classes.size > Math.max(classesMin, Math.min(budget, classesMax))) {
      const oldest = this.#classes.keys().next();
      if (oldest.done !== true) this.#classes.delete(oldest.value);
    }
    return made;
  }

  /** Drops the classes that no Pod has used since the last call. */
  age(): void {
    for (const [key, { usedAt }] of this.#classes) {
      if (usedAt === this.#age) break;
      this.#classes.delete(key);
    }
    this.#age++;
  }

  /** Updates and returns the class's verdict on one slot. */
  verdict(podClass: PodClass, slot: number): number {
    const generation = this.#nodes.generation[slot] ?? 0;
    if (podClass.generation[slot] !== generation) {
      this.#judge(podClass, slot);
      podClass.generation[slot] = generation;
    }
    return podClass.verdict[slot] ?? fits;
  }

  /** Updates all verdicts, so that callers can read the columns without a check per slot. */
  check(podClass: PodClass): PodClass["checked"] {
    const nodes = this.#nodes;
    if (podClass.checked.version === nodes.staticVersion) return podClass.checked;
    let allFit = true;
    const anyScore = podClass.nodeScores.map(() => false);
    for (let i = 0; i < nodes.size; i++) {
      const slot = nodes.live[i] ?? 0;
      allFit = this.verdict(podClass, slot) === fits && allFit;
      podClass.nodeScores.forEach((column, score) => {
        if (column[slot] !== 0) anyScore[score] = true;
      });
    }
    podClass.checked = { version: nodes.staticVersion, allFit, anyScore };
    return podClass.checked;
  }

  /** Updates the room and the room score of one slot. */
  judgeRoom(podClass: PodClass, slot: number): void {
    const nodes = this.#nodes;
    const { requests } = podClass.sample;
    podClass.roomGeneration[slot] = nodes.roomGeneration[slot] ?? 0;
    const hasRoom = this.lackOf(requests, slot).length === 0;
    podClass.room[slot] = hasRoom ? 1 : 0;
    let sum = 0;
    if (hasRoom) {
      for (const { weight, score } of this.#rules.roomScores) {
        sum += weight * score(nodes, requests, slot);
      }
    }
    podClass.roomScore[slot] = sum;
  }

  /** Returns the reason ids of all resources that the slot lacks according to the room filters. */
  lackOf(requests: Requests, slot: number): readonly number[] {
    const { roomFilters } = this.#rules;
    const lack = roomFilters[0]?.(this.#nodes, requests, slot) ?? lacksNothing;
    if (roomFilters.length <= 1) return lack;
    const more = roomFilters.slice(1).flatMap((filter) => filter(this.#nodes, requests, slot));
    return [...lack, ...more];
  }

  #judge(podClass: PodClass, slot: number): void {
    const { sample } = podClass;
    const node = this.#nodes.node(slot);
    podClass.verdict[slot] = this.#verdictOf(sample, node);
    this.#rules.nodeScores.forEach((score, i) => {
      const raw = score.raw(sample, node);
      assert(Number.isFinite(raw) && raw >= 0, "raw scores are finite, from 0", { raw });
      const column = podClass.nodeScores[i];
      if (column !== undefined) column[slot] = raw;
    });
  }

  #verdictOf(sample: PodInfo, node: Node): number {
    for (const filter of this.#rules.nodeFilters) {
      const reason = filter(sample, node);
      if (reason !== fits) return reason;
    }
    return fits;
  }

  #fitSize(podClass: PodClass): void {
    const size = this.#nodes.capacity;
    if (podClass.verdict.length === size) return;
    Object.assign(podClass, emptyColumns(size, this.#rules.nodeScores.length));
  }
}

const lacksNothing: readonly number[] = [];

function newClass(sample: PodInfo, size: number, scoreCount: number): PodClass {
  const preemptionFutile = { version: -1, text: "" };
  const memory = { usedAt: 0, participations: new Map(), refused: undefined, preemptionFutile };
  return { sample, ...emptyColumns(size, scoreCount), ...memory };
}

function emptyColumns(size: number, scoreCount: number) {
  return {
    verdict: new Int32Array(size),
    nodeScores: Array.from({ length: scoreCount }, () => new Float64Array(size)),
    generation: new Float64Array(size),
    checked: { version: 0, allFit: false, anyScore: [] },
    room: new Uint8Array(size),
    roomScore: new Float64Array(size),
    roomGeneration: new Float64Array(size),
  };
}
