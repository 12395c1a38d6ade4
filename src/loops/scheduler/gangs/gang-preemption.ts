/**
 * Preemption for a group, as one decision: selects Pods of lower priority to remove so that enough Pods of the group
 * fit, or no victims at all.
 *
 * The Pods are placed in turn. A Pod that fits no node gets the node where removing Pods is least disruptive; these
 * Pods stay removed for the rest of the search. At the end victims are spared, most important first, if the group still
 * fits with them. A group that is disrupted as a whole is one victim.
 *
 * A search over several turns restores the state at the end of each turn, and continues with the part that is still
 * valid.
 * Holds  the search changes nothing permanently, nor while others run. No Pod of the group itself is a victim. Each
 *        victim is needed for the placement that was found.
 * Cost   one search over the nodes per class of Pods, then one node per Pod: upstream decides the whole group again for
 *        every Pod that might be spared. Bounds: `domainsMax` domains of a topology key, fullest last.
 * After  k/k pkg/scheduler/framework/preemption/podgrouppreemption.go; with a topology key upstream does not preempt.
 */
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import type { PodInfo } from "../pod-info.ts";
import { findPreemptions } from "../preemption.ts";
import type { Preemption } from "../preemption-candidate.ts";
import type { PreemptionLimits } from "../preemption-limits.ts";
import { assumeMember, type GangDeps, type InTurns, takeBack, type Trial } from "./decide-gang.ts";
import { domainsFor } from "./domains.ts";
import { domainOfPlaced, type GangQuestion, nodesOf } from "./place-gang.ts";

interface GangPreemptionDeps extends GangDeps {
  readonly budgets: (namespace: string) => readonly PodDisruptionBudget[];
  readonly limits: PreemptionLimits;
  /** Returns the Pods that are preempted together with this one, and their common priority. Undefined: it alone. */
  readonly unitOf: (info: PodInfo) => Unit | undefined;
}

interface Unit {
  readonly pods: readonly PodInfo[];
  readonly priority: number;
}

interface PreemptionQuestion extends GangQuestion {
  /** Priority of the group as a whole. Undefined: each Pod has its own. */
  readonly priority: number | undefined;
}

export interface Victim {
  readonly info: PodInfo;
  readonly nodeName: string;
}

export interface GangPreemption {
  /** By Pod uid: node names for all Pods of the group that the preemption lets fit. */
  readonly nodes: ReadonlyMap<string, string>;
  readonly victims: readonly Victim[];
  readonly budgetsBroken: number;
}

/** Maximum number of domains that one search examines. */
const domainsMax = 8;

/** Undefined: preemption does not help. */
export function* findGangPreemption(
  deps: GangPreemptionDeps,
  question: PreemptionQuestion,
): InTurns<GangPreemption | undefined> {
  const { topologyKey: key, members, needed } = question;
  if (key === undefined) return yield* new Search(deps, question).run(undefined);
  const placed = domainOfPlaced(deps, question, key);
  if (placed !== undefined && "text" in placed) return undefined;
  const asked = { key, members, needed, required: placed?.name, nodesAre: "empty" as const };
  const { domains } = domainsFor(deps.cache.nodes, asked);
  let best: GangPreemption | undefined;
  const version = deps.cache.nodes.staticVersion;
  for (const domain of domains.toReversed().slice(0, domainsMax)) {
    const among = nodesOf(deps.cache.nodes, key, domain, version);
    const found = yield* new Search(deps, question).run(among);
    if (found !== undefined && (best === undefined || hurtsLess(found, best))) best = found;
  }
  return best;
}

function hurtsLess(a: GangPreemption, b: GangPreemption): boolean {
  const by = a.budgetsBroken - b.budgetsBroken || highest(a) - highest(b);
  return (by || a.victims.length - b.victims.length) < 0;
}

function highest({ victims }: GangPreemption): number {
  return victims.reduce((most, { info }) => Math.max(most, info.priority), -(2 ** 31));
}

/** Pods that are preempted together, with their slots. */
interface LiftedUnit {
  readonly pods: readonly { readonly info: PodInfo; readonly slot: number }[];
  readonly priority: number;
  readonly breaksBudget: boolean;
}

class Search {
  readonly #deps: GangPreemptionDeps;
  readonly #question: PreemptionQuestion;
  readonly #own: ReadonlySet<string>;
  readonly #trial: Trial = { placements: [], refused: [] };
  readonly #lifted = new Set<LiftedUnit>();
  readonly #liftedUids = new Set<string>();
  /** Candidates of the last search over the nodes; they hold for Pods of class `#classKey`. */
  #candidates: Preemption[] = [];
  #classKey: string | undefined;
  /** Slots from which Pods were lifted since that search. */
  readonly #freed = new Set<number>();
  /** Whether other work ran since the last search over all nodes. */
  #mayHaveRoom = false;

  constructor(deps: GangPreemptionDeps, question: PreemptionQuestion) {
    this.#deps = deps;
    this.#question = question;
    this.#own = new Set(question.members.map(({ uid }) => uid));
  }

  *run(among: (() => Int32Array) | undefined): InTurns<GangPreemption | undefined> {
    const { members, needed } = this.#question;
    const { isTurnOver, isWaiting } = this.#deps;
    try {
      let left = members.length;
      for (const info of members) {
        if (this.#trial.placements.length + left-- < needed) return undefined;
        if (isTurnOver?.() === true) yield* this.#pause();
        if (isWaiting?.(info) !== false) this.#placeOne(info, among?.());
      }
      const enough = Math.max(1, needed);
      if (this.#trial.placements.length < enough || this.#lifted.size === 0) return undefined;
      this.#spare();
      return this.#found();
    } finally {
      this.#undo();
    }
  }

  /** Undoes everything, lets other work run, and then repeats the placements and lifts that still hold. */
  *#pause(): InTurns<void> {
    const placements = this.#trial.placements.slice();
    const lifted = [...this.#lifted];
    this.#undo();
    yield;
    this.#freed.clear();
    this.#mayHaveRoom = true;
    for (const unit of lifted) this.#liftAgain(unit);
    const { cache, decider, isWaiting } = this.#deps;
    cache.loosened++;
    for (const { info, nodeName } of placements) {
      const slot = cache.nodes.slotOf(nodeName);
      if (slot === undefined || isWaiting?.(info) === false || !decider.passes(info, slot))
        continue;
      this.#trial.placements.push(assumeMember(this.#deps, info, nodeName));
    }
  }

  #undo(): void {
    takeBack(this.#deps, this.#trial);
    this.#trial.placements.length = 0;
    for (const unit of this.#lifted) this.#putBack(unit);
    this.#lifted.clear();
  }

  /** Lifts a unit again, without its Pods that were deleted or moved. */
  #liftAgain(unit: LiftedUnit): void {
    const pods = unit.pods.flatMap(({ info }) => {
      const { cache } = this.#deps;
      return cache.infoOf(info.uid) === info ? this.#placed(info) : [];
    });
    if (pods.length === 0) return;
    this.#take({ ...unit, pods });
  }

  #placeOne(info: PodInfo, among: Int32Array | undefined): void {
    const nodeName = this.#nodeLikeLast(info, among) ?? this.#nodeAnywhere(info, among);
    if (nodeName === undefined) return;
    this.#trial.placements.push(assumeMember(this.#deps, info, nodeName));
  }

  #nodeAnywhere(info: PodInfo, among: Int32Array | undefined): string | undefined {
    const decision = this.#deps.decider.decide(info, among);
    return decision.kind === "node" ? decision.nodeName : this.#free(info, decision.slots);
  }

  /**
   * For a Pod like the previous one, which fitted no node without preemption: only nodes that were freed since may have
   * room. The nodes of the last search that still help are good enough.
   */
  #nodeLikeLast(info: PodInfo, among: Int32Array | undefined): string | undefined {
    const { cache, decider } = this.#deps;
    if (this.#classKey !== info.classKey || !decider.isDecidedByClass(info)) return undefined;
    if (this.#mayHaveRoom) {
      const decision = decider.decide(info, among);
      if (decision.kind === "node") return decision.nodeName;
      this.#mayHaveRoom = false;
    }
    const isIn = (slot: number): boolean => among === undefined || among.includes(slot);
    const freed = Int32Array.from([...this.#freed].filter(isIn));
    const decision = freed.length === 0 ? undefined : decider.decide(info, freed);
    if (decision?.kind === "node") return decision.nodeName;
    this.#freed.clear();
    while (this.#candidates.length > 0) {
      const [{ nodeName } = { nodeName: "" }] = this.#candidates;
      const slot = cache.nodes.slotOf(nodeName) ?? -1;
      const [candidate] = findPreemptions(this.#deps, this.#asking(info), [slot]).candidates;
      if (candidate !== undefined && this.#lift(candidate)) return nodeName;
      this.#candidates.shift();
    }
    return undefined;
  }

  /** Lifts Pods off a node so that this Pod fits. @returns the node. */
  #free(info: PodInfo, slots: readonly number[]): string | undefined {
    this.#classKey = info.classKey;
    this.#freed.clear();
    this.#candidates = [...findPreemptions(this.#deps, this.#asking(info), slots).candidates];
    return this.#candidates.find((candidate) => this.#lift(candidate))?.nodeName;
  }

  #asking(info: PodInfo): PodInfo {
    const { priority } = this.#question;
    return priority === undefined ? info : { ...info, priority };
  }

  /** @returns false when a victim must stay: it is in the group, or its unit has too high a priority. */
  #lift({ budgetsBroken, victims }: Preemption): boolean {
    const priority =
      this.#question.priority ?? Math.min(...this.#question.members.map((m) => m.priority));
    const units: LiftedUnit[] = [];
    for (const victim of victims) {
      if (this.#own.has(victim.uid)) return false;
      const unit = this.#deps.unitOf(victim);
      if (unit !== undefined && unit.priority >= priority) return false;
      if (units.some(({ pods }) => pods.some(({ info }) => info.uid === victim.uid))) continue;
      const pods = (unit?.pods ?? [victim]).flatMap((info) => this.#placed(info));
      const breaksBudget = budgetsBroken > 0;
      units.push({ pods, priority: unit?.priority ?? victim.priority, breaksBudget });
    }
    for (const unit of units) this.#take(unit);
    // Pods that were refused before may fit now.
    this.#deps.cache.loosened++;
    return true;
  }

  #take(unit: LiftedUnit): void {
    for (const { info, slot } of unit.pods) {
      this.#deps.cache.lift(info, slot);
      this.#liftedUids.add(info.uid);
      this.#freed.add(slot);
    }
    this.#lifted.add(unit);
  }

  #placed(info: PodInfo): { readonly info: PodInfo; readonly slot: number }[] {
    const { cache } = this.#deps;
    const slot = cache.nodes.slotOf(cache.nodeOf(info.uid) ?? "");
    return slot === undefined || this.#liftedUids.has(info.uid) ? [] : [{ info, slot }];
  }

  #putBack({ pods }: LiftedUnit): void {
    for (const { info, slot } of pods) {
      this.#deps.cache.putBack(info, slot);
      this.#liftedUids.delete(info.uid);
    }
  }

  /** Puts back the lifted units that need not be preempted, the most important first. */
  #spare(): void {
    const byImportance = [...this.#lifted].toSorted(
      (a, b) =>
        Number(b.breaksBudget) - Number(a.breaksBudget) ||
        b.priority - a.priority ||
        b.pods.length - a.pods.length,
    );
    for (const unit of byImportance) {
      this.#putBack(unit);
      if (unit.pods.every(({ slot }) => this.#stillFits(slot))) {
        this.#lifted.delete(unit);
        continue;
      }
      this.#take(unit);
    }
  }

  /** Whether each Pod of the group on the node fits together with all the others. */
  #stillFits(slot: number): boolean {
    const { cache, decider } = this.#deps;
    const name = cache.nodes.name(slot);
    return this.#trial.placements.every(({ info, nodeName }) => {
      if (nodeName !== name) return true;
      cache.lift(info, slot);
      const fits = decider.passes(info, slot);
      cache.putBack(info, slot);
      return fits;
    });
  }

  #found(): GangPreemption {
    const { cache } = this.#deps;
    const nodes = new Map(this.#trial.placements.map(({ info, nodeName }) => [info.uid, nodeName]));
    const units = [...this.#lifted];
    const victims = units.flatMap(({ pods }) =>
      pods.map(({ info, slot }) => ({ info, nodeName: cache.nodes.name(slot) })),
    );
    return { nodes, victims, budgetsBroken: units.filter((u) => u.breaksBudget).length };
  }
}
