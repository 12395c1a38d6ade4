/**
 * A Cycle is one try for one Pod: the nodes that are still feasible, and the reasons against the others.
 *
 * Plugins process all nodes at once (a pass over columns) instead of being called per node. The decisions are the same
 * as with upstream's per-node plugins, with a fraction of the calls.
 * Holds  `feasible[0..count)` are the slots that no filter has refused yet. Each refused slot has at least one reason
 *        and was refused by exactly one plugin. Asserted by `assertWhole`.
 */
import { assert } from "#base/assert.ts";
import type { Cache } from "./cache.ts";
import type { PodClass, PodClasses } from "./pod-class.ts";
import type { PodInfo } from "./pod-info.ts";
import { reasonOf } from "./reasons.ts";

export class Cycle {
  readonly info: PodInfo;
  readonly cache: Cache;
  readonly classes: PodClasses;
  readonly podClass: PodClass;
  readonly feasible: Int32Array;
  count: number;
  /** Slots of refused nodes that preemption might make feasible. */
  readonly resolvable: number[] = [];
  readonly #considered: number;
  /** By slot: reason ids of the refusals. Undefined: no trace was requested. */
  readonly #trace: Map<number, number[]> | undefined;
  #last = -1;
  /** By reason id: number of refused nodes, without the nodes of `#run`. */
  readonly #reasons = new Map<number, number>();
  /** Consecutive nodes with the same refusal reason, the most frequent case; counted apart from `#reasons`. */
  #run = { reason: -1, nodes: 0, isResolvable: false };
  /** Number of reasons beyond the first reason of each slot. */
  #furtherReasons = 0;

  /** `slots[0..count)` are the nodes to filter. The cycle takes the array over and narrows it in place. */
  constructor(
    deps: { cache: Cache; classes: PodClasses; trace?: Map<number, number[]> },
    info: PodInfo,
    slots: Int32Array,
    count: number,
  ) {
    this.info = info;
    this.cache = deps.cache;
    this.classes = deps.classes;
    this.#trace = deps.trace;
    this.podClass = deps.classes.of(info);
    this.feasible = slots;
    this.count = count;
    this.#considered = count;
  }

  /** By reason id: number of refused nodes. */
  get reasons(): ReadonlyMap<number, number> {
    this.#endRun(-1);
    return this.#reasons;
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

  /** Like `keep`, with verdicts by domain. `without` is the verdict on nodes that are in no domain. */
  keepByDomain(ids: Int32Array, verdicts: Int32Array, without: number): void {
    const { feasible } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const slot = feasible[i] ?? 0;
      const domain = ids[slot] ?? -1;
      const reason = domain < 0 ? without : (verdicts[domain] ?? -1);
      if (reason < 0) feasible[kept++] = slot;
      else this.refuse(slot, reason);
    }
    this.count = kept;
  }

  refuse(slot: number, reason: number): void {
    if (reason !== this.#run.reason) this.#endRun(reason);
    this.#run.nodes++;
    if (this.#run.isResolvable) this.resolvable.push(slot);
    if (this.#trace === undefined) return;
    this.#last = slot;
    this.#trace.set(slot, [reason]);
  }

  /** Adds a further reason for the slot that `refuse` or `keep` refused last. */
  alsoRefuse(reason: number): void {
    this.#furtherReasons++;
    this.#trace?.get(this.#last)?.push(reason);
    if (reason !== this.#run.reason) this.#endRun(reason);
    this.#run.nodes++;
  }

  #endRun(next: number): void {
    const { reason, nodes } = this.#run;
    if (nodes > 0) this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + nodes);
    const isResolvable = next >= 0 && reasonOf(next).resolvable;
    this.#run = { reason: next, nodes: 0, isResolvable };
  }

  /** Asserts that each node is either feasible or was refused by one plugin. `after`: the plugin that ran last. */
  assertWhole(after: string): void {
    let refused = -this.#furtherReasons;
    for (const nodes of this.reasons.values()) refused += nodes;
    const isWhole = this.count + refused === this.#considered;
    if (!isWhole) assert(false, "a filter lost or refused a node twice", { after, refused });
  }
}

/** Scales raw scores to 0..100 by the largest; `isReversed` makes the largest the worst. */
export function normalize(cycle: Cycle, scores: Float64Array, isReversed: boolean): void {
  const { feasible, count } = cycle;
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, scores[feasible[i] ?? 0] ?? 0);
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const share = most === 0 ? 0 : Math.floor((100 * (scores[slot] ?? 0)) / most);
    scores[slot] = isReversed ? 100 - share : share;
  }
}
