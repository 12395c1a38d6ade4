/**
 * Makes one decision: the best node for a Pod, or the reasons why there is none. It is synchronous and depends only on
 * cache, Pod and random numbers.
 *
 * Every node is examined and every feasible one is scored, unless a sample is configured. Among the best nodes a random
 * one is chosen.
 */
import type { Node } from "#api/gen/types.ts";
import { assert, must } from "#base/assert.ts";
import type { Random } from "#platform/random.ts";
import type { Cache } from "./cache.ts";
import type { VolumeLookup } from "./claims.ts";
import { Cycle } from "./cycle.ts";
import type { ServicesOf } from "./default-spreads.ts";
import type { DeviceLookup } from "./devices/lookup.ts";
import { extenderName, type Extenders } from "./extenders.ts";
import type { FitError } from "./fit-error.ts";
import type { PreFilterRefusal } from "./framework.ts";
import { Framework } from "./framework.ts";
import type { Nominations } from "./nominations.ts";
import type { ClusterEvent } from "./hints.ts";
import type { PluginFactory, Reservation } from "./plugin.ts";
import { type PodClass, PodClasses } from "./pod-class.ts";
import type { PodInfo } from "./pod-info.ts";
import { Ranking } from "./ranking.ts";
import { reasonId, reasonOf } from "./reasons.ts";
import { Sampler } from "./sample.ts";
import type { SampleSize } from "./sample-size.ts";
import type { NamespaceLabels } from "./selection.ts";

/** `slots`: slots of nodes where preemption might help. */
interface Refused {
  readonly kind: "none";
  readonly error: FitError;
  readonly slots: readonly number[];
}

type Decision = { readonly kind: "node"; readonly nodeName: string } | Refused;

interface Examination {
  /** Reason why no node was examined. Undefined: nodes were examined. */
  readonly whole: PreFilterRefusal | undefined;
  /** By slot: reason ids. */
  readonly refused: ReadonlyMap<number, readonly number[]>;
  readonly feasible: readonly number[];
  /** By plugin: its contributions to the score, by slot. */
  readonly parts: ReadonlyMap<string, Float64Array>;
}

/** `isNominated`: only the node nominated for the Pod was kept. */
type Found =
  | { readonly kind: "some"; readonly cycle: Cycle; readonly isNominated: boolean }
  | Refused;

interface ScheduleAlgorithmDeps {
  readonly cache: Cache;
  readonly random: Random;
  readonly namespaces: NamespaceLabels;
  readonly volumes: VolumeLookup;
  readonly devices?: DeviceLookup;
  readonly nominations: Nominations;
  /** Plugins in filter order; `defaultPlugins` except in tests. */
  readonly plugins: readonly PluginFactory[];
  /** Receives the times of the steps. Absent: no times are measured. */
  readonly steps?: StepTimes;
  readonly services?: ServicesOf;
  /** Absent: all feasible nodes are scored. */
  readonly sample?: SampleSize;
}

/** Called at the end of each step of a decision. */
export interface StepTimes {
  begin(): void;
  /** Ends a step, which began at `begin` or the last `end`. */
  end(point: "PreFilter" | "Filter" | "Score", status: "Success" | "Unschedulable"): void;
}

export class ScheduleAlgorithm {
  readonly #deps: ScheduleAlgorithmDeps;
  readonly #classes: PodClasses;
  readonly #framework: Framework;
  readonly #sampler: Sampler;
  /** By class: its ranking. `once`: only one Pod of the class has been decided. */
  readonly #rankings = new WeakMap<PodClass, Ranking | "once">();
  #slots = new Int32Array(0);
  #total = new Float64Array(0);
  #scratch = new Float64Array(0);

  constructor(deps: ScheduleAlgorithmDeps) {
    this.#deps = deps;
    this.#framework = new Framework(deps.plugins, deps);
    this.#sampler = new Sampler(deps.sample ?? "all");
    this.#classes = new PodClasses({ nodes: deps.cache.nodes }, this.#framework.classRules);
  }

  /** Drops the classes of Pods that have not come since the last call. @returns the number of remaining classes. */
  age(): number {
    this.#classes.age();
    return this.#classes.count;
  }

  /** `among`: the only slots to examine, not kept. Absent: all nodes. */
  decide(info: PodInfo, among?: Int32Array): Decision {
    const ranked = among === undefined ? this.#bestRanked(info) : undefined;
    if (ranked !== undefined) return { kind: "node", nodeName: ranked };
    const found = this.#find(info, this.#sharedSlots(among), true, among?.length);
    if (found.kind === "none") return found;
    const nodeName = this.#deps.cache.nodes.name(this.#best(found.cycle));
    this.#deps.steps?.end("Score", "Success");
    return { kind: "node", nodeName };
  }

  /** Returns a node that a search over all nodes would find. Undefined: that search is necessary. */
  #bestRanked(info: PodInfo): string | undefined {
    const { cache, nominations, random, sample = "all", steps } = this.#deps;
    if (nominations.size > 0 || sample !== "all" || info.pod.status?.nominatedNodeName) {
      return undefined;
    }
    const podClass = this.#classes.of(info);
    if (!this.isDecidedByClass(info)) return undefined;
    const ranking = this.#rankingOf(podClass);
    if (ranking === undefined) return undefined;
    if (podClass.refused?.loosened === cache.loosened) return undefined;
    steps?.begin();
    if (this.#framework.runPreFilters(info) !== undefined) return undefined;
    const best = ranking.best();
    if (best === undefined) return undefined;
    steps?.end("PreFilter", "Success");
    steps?.end("Filter", "Success");
    const slot = best[best.length > 1 ? random.below(best.length) : 0] ?? 0;
    steps?.end("Score", "Success");
    return cache.nodes.name(slot);
  }

  /** Whether the decision about this Pod depends now only on node objects, requests and sums. */
  isDecidedByClass(info: PodInfo): boolean {
    return this.#framework.isDecidedByClass(info, this.#deps.cache);
  }

  /** Returns the class's ranking. Undefined for the first Pod of a class, because there may be no second. */
  #rankingOf(podClass: PodClass): Ranking | undefined {
    const known = this.#rankings.get(podClass);
    if (known !== undefined && known !== "once") return known;
    const { nodes } = this.#deps.cache;
    const next = known === undefined ? "once" : new Ranking(nodes, this.#classes, podClass);
    this.#rankings.set(podClass, next);
    return next === "once" ? undefined : next;
  }

  /**
   * Like `decide`, with extenders, which get the nodes that the plugins left. The cache may change while they answer,
   * so their choice is checked again. Rejects when a non-ignorable extender fails.
   */
  async decideExtended(
    info: PodInfo,
    extenders: Extenders,
    signal: AbortSignal,
  ): Promise<Decision | { readonly kind: "outdated" }> {
    const { nodes } = this.#deps.cache;
    let found = this.#find(info, nodes.live.slice(0, nodes.size), true);
    if (found.kind === "none") return found;
    let left = await this.#filterExtended(found.cycle, extenders, signal);
    if (left.length === 0 && found.isNominated) {
      found = this.#find(info, nodes.live.slice(0, nodes.size), false);
      if (found.kind === "none") return found;
      left = await this.#filterExtended(found.cycle, extenders, signal);
    }
    const { cycle } = found;
    if (left.length === 0) {
      const error = fitErrorOf(cycle);
      const plugins = new Set([...error.plugins, extenderName]);
      return { kind: "none", error: { ...error, plugins }, slots: cycle.resolvable };
    }
    const extra = left.length === 1 ? undefined : await extenders.prioritize(info, left, signal);
    this.#keepNodes(cycle, left);
    if (cycle.count === 0) return { kind: "outdated" };
    const slot = this.#best(cycle, extra);
    if (!this.passes(info, slot)) return { kind: "outdated" };
    return { kind: "node", nodeName: nodes.name(slot) };
  }

  /** Returns the nodes that the extenders kept; the other nodes are refused in `cycle`. */
  async #filterExtended(
    cycle: Cycle,
    extenders: Extenders,
    signal: AbortSignal,
  ): Promise<readonly Node[]> {
    const { nodes } = this.#deps.cache;
    const asked = [...cycle.feasible.subarray(0, cycle.count)].map((slot) => nodes.node(slot));
    const { kept, failures } = await extenders.filter(cycle.info, asked, signal);
    for (const [name, { text, resolvable }] of failures) {
      const slot = nodes.slotOf(name);
      if (slot !== undefined) cycle.refuse(slot, reasonId(extenderName, text, resolvable));
    }
    return kept;
  }

  /** Narrows the cycle to those nodes of `left` that still exist and fit. */
  #keepNodes(cycle: Cycle, left: readonly Node[]): void {
    let kept = 0;
    for (const { metadata } of left) {
      const slot = this.#deps.cache.nodes.slotOf(metadata?.name ?? "");
      if (slot !== undefined && this.passes(cycle.info, slot)) cycle.feasible[kept++] = slot;
    }
    cycle.count = kept;
  }

  /** Finds the nodes that pass the plugins. `slots`: all nodes, or a choice of `only` nodes; the array is overwritten. */
  #find(info: PodInfo, slots: Int32Array, prefersNominated: boolean, only?: number): Found {
    const { cache, steps } = this.#deps;
    const podClass = this.#classes.of(info);
    steps?.begin();
    const whole = this.#framework.runPreFilters(info);
    steps?.end("PreFilter", whole === undefined ? "Success" : "Unschedulable");
    if (whole !== undefined) return this.#refusedWhole(whole);
    // A refusal of the class holds while `loosened` is unchanged, unless room is kept for this Pod.
    const { refused } = podClass;
    const isAsked = only !== undefined || this.#hasRoomKept(info);
    if (refused?.loosened === cache.loosened && !isAsked) {
      const { error, isHopeless } = refused;
      return { kind: "none", error, slots: isHopeless ? [] : this.#resolvable(info) };
    }
    const count = only ?? cache.nodes.size;
    const cycle = new Cycle({ cache, classes: this.#classes }, info, slots, count);
    this.#framework.runFilters(cycle);
    this.#deps.nominations.exclude(cycle, (slot) => this.#verdictWithNominated(info, slot));
    const isNominated = prefersNominated && this.#keepNominated(cycle);
    if (!isNominated) this.#sampler.narrow(cycle);
    steps?.end("Filter", cycle.count > 0 ? "Success" : "Unschedulable");
    if (cycle.count > 0) return { kind: "some", cycle, isNominated };
    const error = { ...fitErrorOf(cycle), nodeCount: count };
    if (only === undefined && this.#framework.areSharedByClass(error.plugins)) {
      const isHopeless = cycle.resolvable.length === 0;
      podClass.refused = { loosened: cache.loosened, error, isHopeless };
    }
    return { kind: "none", error, slots: cycle.resolvable };
  }

  /** Returns the slots of `slots`, which is overwritten, that pass all filters; without scores or nominated Pods. */
  feasible(info: PodInfo, slots: Int32Array): Int32Array {
    if (this.#framework.runPreFilters(info) !== undefined) return slots.subarray(0, 0);
    const cycle = new Cycle(
      { cache: this.#deps.cache, classes: this.#classes },
      info,
      slots,
      slots.length,
    );
    this.#framework.runFilters(cycle);
    return slots.subarray(0, cycle.count);
  }

  /** Returns all facts on which `decide` would base its decision, for display: see explain.ts. */
  examine(info: PodInfo): Examination {
    const { cache } = this.#deps;
    const whole = this.#framework.runPreFilters(info);
    const trace = new Map<number, number[]>();
    const deps = { cache, classes: this.#classes, trace };
    const slots = cache.nodes.live.slice(0, cache.nodes.size);
    const cycle = new Cycle(deps, info, slots, whole === undefined ? slots.length : 0);
    this.#framework.runFilters(cycle);
    const feasible = [...slots.subarray(0, cycle.count)];
    return { whole, refused: trace, feasible, parts: this.#framework.scoreParts(cycle) };
  }

  /** Makes the reservations of the plugins on the decided node. */
  reserve(info: PodInfo, nodeName: string): readonly Reservation[] {
    const { nodes } = this.#deps.cache;
    const slot = must(nodes.slotOf(nodeName), "a decision names a known node");
    return this.#framework.runReserve(info, nodes.node(slot));
  }

  /** Whether the Pod passes all filters on one node at present: for preemption what-ifs and requeue hints. */
  passes(info: PodInfo, slot: number): boolean {
    return this.#verdict(info, slot) < 0;
  }

  /** Returns why one node cannot take the Pod at present, in upstream's words; empty when it can. */
  refusalsOn(info: PodInfo, slot: number): readonly string[] {
    return [...this.#filterOne(info, slot).reasons.keys()].map((id) => reasonOf(id).text);
  }

  /** Returns the first reason id against one node; -1 when the node fits. */
  #verdict(info: PodInfo, slot: number): number {
    const first = this.#filterOne(info, slot).reasons.keys().next();
    return first.done === true ? -1 : first.value;
  }

  #filterOne(info: PodInfo, slot: number): Cycle {
    const deps = { cache: this.#deps.cache, classes: this.#classes };
    const cycle = new Cycle(deps, info, Int32Array.of(slot), 1);
    this.#framework.runFilters(cycle);
    return cycle;
  }

  /** Runs the plugins' actions after a decision without a node. Returns upstream's message; "" when there is none. */
  postFilter(info: PodInfo): string {
    return this.#framework.runPostFilters(info);
  }

  /** Whether the event may let a waiting Pod fit that these plugins refused. */
  mayHelp(event: ClusterEvent, info: PodInfo, rejectors: ReadonlySet<string>): boolean {
    const refuserOn = (pod: PodInfo, slot: number) => this.#refuserOn(pod, slot);
    return this.#framework.mayHelp(event, info, rejectors, refuserOn);
  }

  #refuserOn(info: PodInfo, slot: number): string | undefined {
    const reason = this.#verdict(info, slot);
    return reason < 0 ? undefined : reasonOf(reason).plugin;
  }

  /** Returns a signature: every plugin judges two Pods with equal signatures alike, now and after any event. */
  signatureOf(info: PodInfo): string {
    return `${info.classKey}|${this.#framework.sign(info)}`;
  }

  /** Returns the message of a futile preemption attempt for this class in exactly this state of the cluster. */
  futilePreemption(info: PodInfo): string | undefined {
    const { version, text } = this.#classes.of(info).preemptionFutile;
    return version === this.#deps.cache.version ? text : undefined;
  }

  /** Records a futile preemption, unless a plugin considers more of the Pod than its class. */
  notePreemptionFutile(info: PodInfo, text: string): void {
    if (this.#framework.sign(info) !== "") return;
    this.#classes.of(info).preemptionFutile = { version: this.#deps.cache.version, text };
  }

  /** Returns all or the given slots, in a buffer that the next decision overwrites. */
  #sharedSlots(among?: Int32Array): Int32Array {
    const { live } = this.#deps.cache.nodes;
    if (this.#slots.length < live.length) this.#slots = new Int32Array(live.length);
    this.#slots.set(among ?? live);
    return this.#slots;
  }

  #hasRoomKept({ uid }: PodInfo): boolean {
    return this.#deps.nominations.nodeOf(uid) !== undefined;
  }

  /** Prefers the node that preemption freed for the Pod, or that an outside component nominated, to all others. */
  #keepNominated(cycle: Cycle): boolean {
    const name = nominatedNode(cycle.info, this.#deps.nominations);
    const slot = name === undefined ? undefined : cycle.cache.nodes.slotOf(name);
    if (slot === undefined || !cycle.feasible.subarray(0, cycle.count).includes(slot)) return false;
    cycle.feasible[0] = slot;
    cycle.count = 1;
    return true;
  }

  #resolvable(info: PodInfo): readonly number[] {
    if (this.futilePreemption(info) !== undefined) return [];
    const { cache } = this.#deps;
    const deps = { cache, classes: this.#classes };
    const cycle = new Cycle(deps, info, this.#sharedSlots(), cache.nodes.size);
    this.#framework.runFilters(cycle);
    return cycle.resolvable;
  }

  #refusedWhole({ plugin, text }: PreFilterRefusal): Refused {
    const nodeCount = this.#deps.cache.nodes.size;
    const error = { nodeCount, counts: new Map(), whole: text, plugins: new Set([plugin]) };
    return { kind: "none", error, slots: [] };
  }

  /** Returns the verdict beside the nominated Pods of at least this priority, whose room is kept. */
  #verdictWithNominated(info: PodInfo, slot: number): number {
    const { cache, nominations } = this.#deps;
    const guests = nominations.on(cache.nodes.name(slot), info);
    for (const guest of guests) cache.putBack(guest, slot);
    const verdict = this.#verdict(info, slot);
    for (const guest of guests) cache.lift(guest, slot);
    return verdict;
  }

  /** `extra`: additions of extenders to the scores, by node name. */
  #best(cycle: Cycle, extra?: ReadonlyMap<string, number>): number {
    const { feasible, count } = cycle;
    if (count === 1) return feasible[0] ?? 0;
    const size = cycle.cache.nodes.capacity;
    if (this.#total.length < size) {
      this.#total = new Float64Array(size);
      this.#scratch = new Float64Array(size);
    }
    this.#framework.runScores(cycle, this.#total, this.#scratch);
    for (const [name, score] of extra ?? []) {
      const slot = cycle.cache.nodes.slotOf(name);
      if (slot !== undefined) this.#total[slot] = (this.#total[slot] ?? 0) + score;
    }
    return this.#pick(feasible, count);
  }

  /** Picks one of the nodes with the highest total, all with equal probability, by one random number. */
  #pick(feasible: Int32Array, count: number): number {
    const total = this.#total;
    let top = Number.NEGATIVE_INFINITY;
    let ties = 0;
    for (let i = 0; i < count; i++) {
      const score = total[feasible[i] ?? 0] ?? 0;
      if (score > top) {
        top = score;
        ties = 1;
      } else if (score === top) ties++;
    }
    assert(ties > 0, "every feasible node has a score that is a number", { count });
    let skip = ties > 1 ? this.#deps.random.below(ties) : 0;
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      if (total[slot] === top && skip-- === 0) return slot;
    }
    return feasible[0] ?? 0;
  }
}

function nominatedNode({ uid, pod }: PodInfo, nominations: Nominations): string | undefined {
  const known = nominations.nodeOf(uid);
  if (known !== undefined) return known;
  const said = pod.status?.nominatedNodeName ?? "";
  return said === "" ? undefined : said;
}

function fitErrorOf(cycle: Cycle): FitError {
  const plugins = new Set<string>();
  for (const id of cycle.reasons.keys()) plugins.add(reasonOf(id).plugin);
  const nodeCount = cycle.cache.nodes.size;
  return { nodeCount, counts: cycle.reasons, whole: undefined, plugins };
}
