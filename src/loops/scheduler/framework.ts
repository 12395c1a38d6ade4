/**
 * The scheduling framework: runs the extension points of all plugins in the order of their registry.
 *
 * Holds  names are unique. Plugins with `nodeFilter` come before those with other filters, because all node filters are
 *        one pass over the class's verdicts. Every reason belongs to a plugin.
 * Cost   one pass over the nodes for all node filters, one for all room filters and scores.
 * After  k/k pkg/scheduler/framework/runtime; plugins are called per pass, not per node.
 */
import type { Node } from "#api/gen/types.ts";
import { assert, must } from "#base/assert.ts";
import type { Cache } from "./cache.ts";
import type { Cycle } from "./cycle.ts";
import { normalize } from "./cycle.ts";
import { extenderName } from "./extenders.ts";
import type { ClusterEvent } from "./hints.ts";
import type { Plugin, PluginDeps, PluginFactory, Reservation } from "./plugin.ts";
import type { ClassRules, NodeScore } from "./pod-class.ts";
import type { PodInfo } from "./pod-info.ts";
import { reasonOf } from "./reasons.ts";

interface FilterStep {
  readonly name: string;
  readonly run: (cycle: Cycle) => void;
}

export interface PreFilterRefusal {
  readonly plugin: string;
  readonly text: string;
}

export class Framework {
  /** The rules whose results PodClasses keeps by class and node. */
  readonly classRules: ClassRules;
  readonly #byName: ReadonlyMap<string, Plugin>;
  readonly #plugins: readonly Plugin[];
  /** Plugins of `#plugins` that have a `preFilter`. */
  readonly #preFiltering: readonly Plugin[];
  /** Plugins that have a `filter` or `score`. */
  readonly #perDecision: readonly Plugin[];
  readonly #filters: readonly FilterStep[];

  constructor(factories: readonly PluginFactory[], deps: PluginDeps) {
    this.#plugins = nodeFiltersFirst(factories.map((make) => make(deps)));
    this.#byName = new Map(this.#plugins.map((plugin) => [plugin.name, plugin]));
    assert(this.#byName.size === this.#plugins.length, "plugins have unique names");
    this.#preFiltering = this.#plugins.filter(({ preFilter }) => preFilter !== undefined);
    this.#perDecision = this.#plugins.filter(
      ({ filter, score }) => (filter ?? score) !== undefined,
    );
    this.#filters = filterSteps(this.#plugins);
    this.classRules = {
      nodeFilters: this.#plugins.flatMap((p) => p.nodeFilter ?? []),
      nodeScores: this.#plugins.flatMap((p) => p.nodeScore ?? []),
      roomFilters: this.#plugins.flatMap((p) => p.roomFilter ?? []),
      roomScores: this.#plugins.flatMap((p) => p.roomScore ?? []),
    };
  }

  runPreFilters(info: PodInfo): PreFilterRefusal | undefined {
    for (const plugin of this.#preFiltering) {
      const text = plugin.preFilter?.(info);
      if (text !== undefined) return { plugin: plugin.name, text };
    }
    return undefined;
  }

  /** Whether the decision depends only on node objects, requests and sums. */
  isDecidedByClass(info: PodInfo, cache: Cache): boolean {
    return this.#perDecision.every(({ isIdle }) => isIdle?.(info, cache) === true);
  }

  runFilters(cycle: Cycle): void {
    let last = "";
    for (const step of this.#filters) {
      if (cycle.count === 0) break;
      step.run(cycle);
      last = step.name;
    }
    cycle.assertWhole(last);
  }

  /** Returns the plugins' reservations for the Pod on its node, in the order of the plugins. */
  runReserve(info: PodInfo, node: Node): readonly Reservation[] {
    return this.#plugins.flatMap((plugin) => plugin.reserve?.(info, node) ?? []);
  }

  runPostFilters(info: PodInfo): string {
    const texts = this.#plugins.map((plugin) => plugin.postFilter?.(info) ?? "");
    return texts.filter((text) => text !== "").join(", ");
  }

  /** Writes the weighted sum of all scores by slot into `total`. `scores` is scratch space of the same length. */
  runScores(cycle: Cycle, total: Float64Array, scores: Float64Array): void {
    const { feasible, count, podClass } = cycle;
    // The room filters have already updated `roomScore` for every feasible slot.
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      total[slot] = podClass.roomScore[slot] ?? 0;
    }
    this.classRules.nodeScores.forEach((score, i) => {
      if (copyNodeScore(cycle, score, i, scores)) addScores(cycle, total, scores, score.weight);
    });
    for (const { score } of this.#plugins) {
      if (score?.run(cycle, scores) === true) addScores(cycle, total, scores, score.weight);
    }
  }

  /** Returns each plugin's weighted contribution to the scores of the feasible slots. For explanations, not for decisions. */
  scoreParts(cycle: Cycle): ReadonlyMap<string, Float64Array> {
    const parts = new Map<string, Float64Array>();
    const { nodes } = cycle.cache;
    let nodeScores = 0;
    for (const { name, nodeScore, roomScore, score } of this.#plugins) {
      const total = new Float64Array(nodes.capacity);
      const scores = new Float64Array(nodes.capacity);
      const add = (weight: number): void => addScores(cycle, total, scores, weight);
      if (nodeScore !== undefined && copyNodeScore(cycle, nodeScore, nodeScores++, scores)) {
        add(nodeScore.weight);
      }
      if (score?.run(cycle, scores) === true) add(score.weight);
      if (roomScore !== undefined) {
        const { requests } = cycle.info;
        scores.set(scores.map((_, slot) => roomScore.score(nodes, requests, slot)));
        add(roomScore.weight);
      }
      if (nodeScore ?? roomScore ?? score) parts.set(name, total);
    }
    return parts;
  }

  /** Whether the refusals of all these plugins hold for the Pod's whole class, not just for the Pod. */
  areSharedByClass(names: Iterable<string>): boolean {
    for (const name of names) {
      const { preFilter, filter, isSharedByClass } = this.#plugin(name);
      const onlyByClass = preFilter === undefined && filter === undefined;
      if (!onlyByClass && isSharedByClass !== true) return false;
    }
    return true;
  }

  /** Returns a signature: every plugin judges two Pods of one class alike when their signatures are equal. */
  sign(info: PodInfo): string {
    let signature = "";
    for (const plugin of this.#plugins) {
      const part = plugin.sign?.(info) ?? "";
      if (part !== "") signature += `${plugin.name}=${part};`;
    }
    return signature;
  }

  /**
   * Whether the event may let a Pod fit that these plugins refused. `refuserOn` runs all filters on one node and returns
   * the plugin that refuses. One that is not among `rejectors` is a reason to try again: events that could change its
   * verdict ask only the plugins that are.
   */
  mayHelp(
    event: ClusterEvent,
    info: PodInfo,
    rejectors: ReadonlySet<string>,
    refuserOn: (info: PodInfo, slot: number) => string | undefined,
  ): boolean {
    // Without nodes, no plugin refused the Pod, and any new node may help.
    let ifFits = rejectors.size === 0 && event.kind === "node";
    for (const name of rejectors) {
      // Extenders have no hints, so any event may help.
      if (name === extenderName) return true;
      const hint = this.#plugin(name).hint?.(event, info) ?? "queue";
      if (hint === "queue") return true;
      ifFits ||= hint === "queue-if-fits";
    }
    const slot = "slot" in event ? event.slot : undefined;
    if (!ifFits || slot === undefined) return false;
    const refuser = refuserOn(info, slot);
    return refuser === undefined || !rejectors.has(refuser);
  }

  #plugin(name: string): Plugin {
    return must(this.#byName.get(name), "a reason names a registered plugin");
  }
}

function nodeFiltersFirst(plugins: readonly Plugin[]): Plugin[] {
  const hasNodeFilter = ({ nodeFilter }: Plugin): boolean => nodeFilter !== undefined;
  return [...plugins.filter(hasNodeFilter), ...plugins.filter((one) => !hasNodeFilter(one))];
}

/** Returns the filter steps: node filters first, as one step; room filters as one step at the first one's place. */
function filterSteps(plugins: readonly Plugin[]): FilterStep[] {
  const steps: FilterStep[] = [{ name: "node filters", run: filterByNode }];
  let hasRoomStep = false;
  for (const { name, filter, nodeFilter, roomFilter, roomScore } of plugins) {
    const isFirst = steps.length === 1;
    assert(nodeFilter === undefined || isFirst, "node filters stand first", { name });
    if (!hasRoomStep && (roomFilter !== undefined || roomScore !== undefined)) {
      steps.push({ name: "room filters", run: filterByRoom });
      hasRoomStep = true;
    }
    if (filter !== undefined) steps.push({ name, run: filter });
  }
  return steps;
}

function filterByNode(cycle: Cycle): void {
  const { classes, podClass } = cycle;
  // A what-if about one node must not update the verdicts on all nodes.
  if (cycle.count === 1) cycle.keep((slot) => classes.verdict(podClass, slot));
  else if (!classes.check(podClass).allFit) keepFitting(cycle, podClass.verdict);
}

function keepFitting(cycle: Cycle, verdict: Int32Array): void {
  cycle.keep((slot) => verdict[slot] ?? -1);
}

function filterByRoom(cycle: Cycle): void {
  const { classes, feasible, podClass } = cycle;
  const { room, roomGeneration } = podClass;
  const current = cycle.cache.nodes.roomGeneration;
  let kept = 0;
  for (let i = 0; i < cycle.count; i++) {
    const slot = feasible[i] ?? 0;
    if (roomGeneration[slot] !== current[slot]) classes.judgeRoom(podClass, slot);
    if (room[slot] === 1) feasible[kept++] = slot;
    else refuseForRoom(cycle, slot);
  }
  cycle.count = kept;
}

/** Refuses the slot for each resource that the node lacks; one unresolvable reason makes the slot unresolvable. */
function refuseForRoom(cycle: Cycle, slot: number): void {
  const lack = cycle.classes.lackOf(cycle.info.requests, slot);
  const hopeless = lack.find((reason) => !reasonOf(reason).resolvable);
  const first = hopeless ?? lack[0];
  const rest = lack.filter((reason) => reason !== first);
  if (first === undefined) assert(false, "a class's room is that of its Pods", { slot });
  else cycle.refuse(slot, first);
  for (const reason of rest) cycle.alsoRefuse(reason);
}

/** @returns false when the score is 0 on every node. */
function copyNodeScore(
  cycle: Cycle,
  score: NodeScore,
  index: number,
  scores: Float64Array,
): boolean {
  const { classes, podClass, feasible, count } = cycle;
  if (classes.check(podClass).anyScore[index] !== true) return false;
  const raw = must(podClass.nodeScores[index], "a column per node score");
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    scores[slot] = raw[slot] ?? 0;
  }
  normalize(cycle, scores, score.isReversed);
  return true;
}

function addScores(cycle: Cycle, total: Float64Array, scores: Float64Array, weight: number): void {
  const { feasible, count } = cycle;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    total[slot] = (total[slot] ?? 0) + weight * (scores[slot] ?? 0);
  }
}
