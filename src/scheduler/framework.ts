/**
 * The scheduling framework: one Cycle per Pod and try, and the plugins that narrow and rank its nodes.
 *
 * Plugins work on all nodes at once (a pass over columns) instead of being called per node: the same
 * decisions as upstream's per-node plugins at a fraction of the calls.
 * Holds  `feasible[0..count)` are the slots no filter has refused yet; each refused slot has at least
 *        one reason and was refused by exactly one plugin.
 */
import type { Cache } from "./cache.ts";
import type { PodClass, PodClasses } from "./pod-class.ts";
import type { PodInfo } from "./pod-info.ts";
import { reasonOf } from "./reasons.ts";

export interface FilterPlugin {
  readonly name: string;
  /** Keeps the slots that pass: see Cycle.keep. */
  filter(cycle: Cycle): void;
}

export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /**
   * Writes 0..100 for each feasible slot into `scores[slot]`.
   * @returns false when the plugin has nothing to say of this Pod; what it wrote is then ignored.
   */
  score(cycle: Cycle, scores: Float64Array): boolean;
}

export class Cycle {
  readonly info: PodInfo;
  readonly cache: Cache;
  readonly classes: PodClasses;
  readonly podClass: PodClass;
  readonly feasible: Int32Array;
  count: number;
  /** Nodes by reason id. */
  readonly reasons = new Map<number, number>();
  /** Slots where taking Pods away might help. */
  readonly resolvable: number[] = [];

  /** `slots[0..count)` are the nodes in question; given, and narrowed in place. */
  constructor(
    deps: { cache: Cache; classes: PodClasses },
    info: PodInfo,
    slots: Int32Array,
    count: number,
  ) {
    this.info = info;
    this.cache = deps.cache;
    this.classes = deps.classes;
    this.podClass = deps.classes.of(info);
    this.feasible = slots;
    this.count = count;
  }

  /** Keeps the feasible slots for which `verdict` is negative; others are refused for that reason id. */
  keep(verdict: (slot: number) => number): void {
    const { feasible } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const slot = feasible[i] ?? 0;
      const reason = verdict(slot);
      if (reason < 0) feasible[kept++] = slot;
      else this.refuse(slot, reason);
    }
    this.count = kept;
  }

  refuse(slot: number, reason: number): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    if (reasonOf(reason).resolvable) this.resolvable.push(slot);
  }

  /** A further reason for a slot that `refuse` or `keep` has refused. */
  alsoRefuse(reason: number): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
  }
}

export function runFilters(cycle: Cycle, plugins: readonly FilterPlugin[]): void {
  for (const plugin of plugins) {
    if (cycle.count === 0) return;
    plugin.filter(cycle);
  }
}

/** The weighted sum of all scores by slot, in `total`. `scores` is scratch of the same length. */
export function runScores(
  cycle: Cycle,
  plugins: readonly ScorePlugin[],
  total: Float64Array,
  scores: Float64Array,
): void {
  const { feasible, count } = cycle;
  for (let i = 0; i < count; i++) total[feasible[i] ?? 0] = 0;
  for (const plugin of plugins) {
    if (!plugin.score(cycle, scores)) continue;
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      total[slot] = (total[slot] ?? 0) + plugin.weight * (scores[slot] ?? 0);
    }
  }
}

/** Scales raw scores to 0..100 by the largest; `reverse` makes the largest the worst. */
export function normalize(cycle: Cycle, scores: Float64Array, reverse: boolean): void {
  const { feasible, count } = cycle;
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, scores[feasible[i] ?? 0] ?? 0);
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const share = most === 0 ? 0 : Math.floor((100 * (scores[slot] ?? 0)) / most);
    scores[slot] = reverse ? 100 - share : share;
  }
}
