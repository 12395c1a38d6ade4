/**
 * Pod classes: Pods alike in all that static filters read share the verdicts on every node.
 *
 * Holds  a verdict of a class on a slot counts only while the slot's generation is the one it was made at.
 * Cost   a static filter runs once per class and node, not once per Pod and node; room and its score
 *        are worked out again only for nodes that changed: after a placement, for one. 45 bytes per slot
 *        and class. Bounds: `bytesMax` over all classes, least recently used go.
 */
import type { Node } from "#api/gen/types.ts";
import type { FitError } from "./fit-error.ts";
import {
  labelsInclude,
  nodeSelectorMatches,
  nodeTermMatches,
  tolerates,
  unschedulableTaint,
} from "#api/selectors/node-match.ts";
import type { NodeTable } from "./node-table.ts";
import type { PodInfo } from "./pod-info.ts";
import { reasonId } from "./reasons.ts";

export interface PodClass {
  /** A Pod of the class: its spec stands for all. */
  readonly sample: PodInfo;
  /** Verdict by slot: `fits` or a reason id. */
  verdict: Int32Array;
  /** For scoring, by slot: PreferNoSchedule taints that are not tolerated. */
  taints: Float64Array;
  /** For scoring, by slot: sum of the weights of preferred node affinity terms that match. */
  affinity: Float64Array;
  /** Node generation the three were made at, by slot. */
  generation: Float64Array;
  /** As of this static version every verdict is up to date, and: do all fit, has any a score. */
  checked: { version: number; allFit: boolean; anyTaints: boolean; anyAffinity: boolean };
  /** Whether requests and host ports find room, by slot: 1 or 0. */
  room: Uint8Array;
  /** LeastAllocated + BalancedAllocation, by slot: 0..200. */
  roomScore: Float64Array;
  /** Room generation the two were made at, by slot. */
  roomGeneration: Float64Array;
  /** Domains with an eligible node, by spread constraint; see spread.ts. */
  domains: Map<string, { readonly version: number; readonly eligible: ReadonlySet<number> }>;
  /** The last refusal that time alone cannot change; see cycle.ts. */
  refused: { readonly loosened: number; readonly error: FitError } | undefined;
  /** The last time preemption found nothing, as a cache version. */
  preemptionFutile: number;
}

export const fits = -1;
const bytesMax = 128 * 1024 * 1024;
const bytesPerSlot = 45;
const classesMin = 16;

const unschedulable = reasonId("NodeUnschedulable", "node(s) were unschedulable", false);
const affinityMismatch = reasonId(
  "NodeAffinity",
  "node(s) didn't match Pod's node affinity/selector",
  false,
);

export class PodClasses {
  readonly #nodes: NodeTable;
  readonly #classes = new Map<string, PodClass>();

  constructor(deps: { nodes: NodeTable }) {
    this.#nodes = deps.nodes;
  }

  of(info: PodInfo): PodClass {
    const known = this.#classes.get(info.classKey);
    if (known !== undefined) {
      this.#classes.delete(info.classKey);
      this.#classes.set(info.classKey, known);
      this.#fitSize(known);
      return known;
    }
    const made = newClass(info, this.#nodes.capacity);
    this.#classes.set(info.classKey, made);
    const budget = Math.floor(bytesMax / (bytesPerSlot * this.#nodes.capacity));
    if (this.#classes.size > Math.max(classesMin, budget)) {
      const oldest = this.#classes.keys().next();
      if (oldest.done !== true) this.#classes.delete(oldest.value);
    }
    return made;
  }

  /** Brings the class's verdict on one slot up to date and returns it. */
  verdict(podClass: PodClass, slot: number): number {
    const generation = this.#nodes.generation[slot] ?? 0;
    if (podClass.generation[slot] !== generation) {
      judge(podClass, slot, this.#nodes.node(slot));
      podClass.generation[slot] = generation;
    }
    return podClass.verdict[slot] ?? fits;
  }

  /** Brings all verdicts up to date, so that columns can be read without asking per slot. */
  check(podClass: PodClass): PodClass["checked"] {
    const nodes = this.#nodes;
    if (podClass.checked.version === nodes.staticVersion) return podClass.checked;
    let allFit = true;
    let anyTaints = false;
    let anyAffinity = false;
    for (let i = 0; i < nodes.size; i++) {
      const slot = nodes.live[i] ?? 0;
      allFit = this.verdict(podClass, slot) === fits && allFit;
      anyTaints ||= podClass.taints[slot] !== 0;
      anyAffinity ||= podClass.affinity[slot] !== 0;
    }
    podClass.checked = { version: nodes.staticVersion, allFit, anyTaints, anyAffinity };
    return podClass.checked;
  }

  #fitSize(podClass: PodClass): void {
    const size = this.#nodes.capacity;
    if (podClass.verdict.length === size) return;
    Object.assign(podClass, emptyColumns(size));
  }
}

function newClass(sample: PodInfo, size: number): PodClass {
  const memory = { domains: new Map(), refused: undefined, preemptionFutile: -1 };
  return { sample, ...emptyColumns(size), ...memory };
}

function emptyColumns(size: number) {
  return {
    verdict: new Int32Array(size),
    taints: new Float64Array(size),
    affinity: new Float64Array(size),
    generation: new Float64Array(size),
    checked: { version: 0, allFit: false, anyTaints: false, anyAffinity: false },
    room: new Uint8Array(size),
    roomScore: new Float64Array(size),
    roomGeneration: new Float64Array(size),
  };
}

function judge(podClass: PodClass, slot: number, node: Node): void {
  const { sample } = podClass;
  podClass.verdict[slot] = staticVerdict(sample, node);
  let taints = 0;
  for (const taint of node.spec?.taints ?? []) {
    // Only tolerations for this effect, or for all of them, count here.
    if (taint.effect === "PreferNoSchedule" && !tolerates(sample.tolerations, taint)) taints++;
  }
  podClass.taints[slot] = taints;
  const affinity = sample.pod.spec?.affinity?.nodeAffinity;
  let weight = 0;
  for (const wish of affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (nodeTermMatches(wish.preference, node)) weight += wish.weight;
  }
  podClass.affinity[slot] = weight;
}

function staticVerdict(info: PodInfo, node: Node): number {
  const { tolerations } = info;
  if (node.spec?.unschedulable === true && !tolerates(tolerations, unschedulableTaint)) {
    return unschedulable;
  }
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect === "PreferNoSchedule" || tolerates(tolerations, taint)) continue;
    const text = `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
    return reasonId("TaintToleration", text, false);
  }
  return nodeAffinityHolds(info, node) ? fits : affinityMismatch;
}

/** Node selector and required node affinity; also decides which nodes topology spread looks at. */
export function nodeAffinityHolds(info: PodInfo, node: Node): boolean {
  const spec = info.pod.spec;
  if (!labelsInclude(spec?.nodeSelector, node.metadata?.labels)) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || nodeSelectorMatches(required, node);
}
