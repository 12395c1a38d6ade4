/**
 * Carries out preemption: decides whether a Pod may preempt, finds the victims, and writes upstream's text. The Pod's
 * node is nominated. The victims are evicted in the background, so that the next decision does not wait for them
 * (upstream's asynchronous preemption).
 */
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Cache } from "./cache.ts";
import type { Extenders } from "./extenders.ts";
import type { FitError } from "./fit-error.ts";
import type { ProfileMetrics, SchedulerMetrics } from "./metrics.ts";
import type { Nominations } from "./nominations.ts";
import type { PodInfo } from "./pod-info.ts";
import { findPreemptions, isRoomComing, sortPreemptions } from "./preemption.ts";
import type { Preemption } from "./preemption-candidate.ts";
import { type PreemptionLimits, preemptionLimits } from "./preemption-limits.ts";
import type { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { evictVictim } from "./victims.ts";

interface PreemptorDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: SchedulerMetrics;
  readonly cache: Cache;
  readonly nominations: Nominations;
  /** Returns the disruption budgets of a namespace. */
  readonly budgets: (namespace: string) => readonly PodDisruptionBudget[];
  readonly profileOf: (info: PodInfo) => PreemptingProfile;
}

interface PreemptingProfile {
  readonly decider: ScheduleAlgorithm;
  readonly events: EventRecorder;
  readonly preemption: PreemptionLimits | undefined;
  readonly metrics: ProfileMetrics | undefined;
}

interface Asked {
  readonly extenders: Extenders;
  readonly signal: AbortSignal;
}

export interface Preempted {
  /** Message for the Pod's event; "" when preemption made room. */
  readonly text: string;
  readonly nominatedNodeName?: string;
}

const noPreemption: Preempted = { text: "" };

export class Preemptor {
  readonly #deps: PreemptorDeps;
  count = 0;

  constructor(deps: PreemptorDeps) {
    this.#deps = deps;
  }

  run(info: PodInfo, error: FitError, slots: readonly number[]): Preempted {
    if (this.#deps.profileOf(info).preemption === undefined) return noPreemption;
    const beganMs = this.#began();
    const preempted = this.#preempt(info, error, slots);
    this.#ended(info, preempted, beganMs);
    return preempted;
  }

  /**
   * Like `run`, with extenders, which may remove nodes or change victims. No victim is evicted before `carryOut`,
   * because the Pod may be deleted before they answer. Rejects when a non-ignorable extender fails.
   */
  async findExtended(
    info: PodInfo,
    error: FitError,
    slots: readonly number[],
    asked: Asked,
  ): Promise<Preempted | Preemption> {
    if (this.#deps.profileOf(info).preemption === undefined) return noPreemption;
    const beganMs = this.#began();
    const found = await this.#chooseExtended(info, error, slots, asked);
    this.#ended(info, "text" in found ? found : noPreemption, beganMs);
    return found;
  }

  carryOut(info: PodInfo, found: Preempted | Preemption): Preempted {
    return "text" in found ? found : this.#makeRoom(info, found);
  }

  dropNomination(uid: string): void {
    const { cache, nominations } = this.#deps;
    if (nominations.nodeOf(uid) === undefined) return;
    nominations.delete(uid);
    cache.loosened++;
  }

  #began(): number {
    const { clock, metrics } = this.#deps;
    if (metrics !== undefined) metrics.preemptionAttempts.count++;
    return clock.monotonicMs();
  }

  #ended(info: PodInfo, preempted: Preempted, beganMs: number): void {
    const status = preempted.text === "" ? "Success" : "Unschedulable";
    const ms = this.#deps.clock.monotonicMs() - beganMs;
    this.#deps.profileOf(info).metrics?.ran("PostFilter", status, ms);
  }

  #preempt(info: PodInfo, error: FitError, slots: readonly number[]): Preempted {
    const found = this.#findRoom(info, error, slots);
    if ("text" in found) return found;
    const best = must(found.candidates[0], "without candidates there is a text");
    return this.#makeRoom(info, best);
  }

  /** Returns the candidates (nodes and victims), or a message why there are none. */
  #findRoom(
    info: PodInfo,
    error: FitError,
    slots: readonly number[],
  ): Preempted | { readonly candidates: readonly Preemption[] } {
    if (error.nodeCount === 0) return noPreemption;
    if (info.pod.spec?.preemptionPolicy === "Never") {
      return { text: "preemption: not eligible due to preemptionPolicy=Never." };
    }
    const nominated = this.#deps.nominations.nodeOf(info.uid);
    if (nominated !== undefined && isRoomComing(this.#deps.cache, info, nominated)) {
      return { text: "preemption: not eligible due to a terminating pod on the nominated node." };
    }
    const { decider } = this.#deps.profileOf(info);
    const futile = decider.futilePreemption(info);
    if (futile !== undefined) return this.#preemptFailed(info, futile);
    const { candidates, refusals } = this.#findPreemptions(info, slots);
    if (candidates.length > 0) return { candidates };
    return this.#preemptFailed(info, futileText(error, refusals, slots.length));
  }

  #makeRoom(info: PodInfo, found: Preemption): Preempted {
    const { events } = this.#deps.profileOf(info);
    this.count++;
    this.#deps.metrics?.preemptionVictims.observe(found.victims.length);
    this.#deps.nominations.set(info, found.nodeName);
    for (const victim of found.victims) {
      void evictVictim({ ...this.#deps, events }, info, victim, found.nodeName);
    }
    return { text: "", nominatedNodeName: found.nodeName };
  }

  async #chooseExtended(
    info: PodInfo,
    error: FitError,
    slots: readonly number[],
    { extenders, signal }: Asked,
  ): Promise<Preempted | Preemption> {
    const found = this.#findRoom(info, error, slots);
    if ("text" in found) return found;
    const podsOn = (nodeName: string): readonly PodInfo[] | undefined => {
      const slot = this.#deps.cache.nodes.slotOf(nodeName);
      return slot === undefined ? undefined : [...this.#deps.cache.podsOn(slot)];
    };
    const left = await extenders.preempt(info, found.candidates, podsOn, signal);
    const [best] = sortPreemptions(left);
    return best ?? { text: "preemption: no candidate node for preemption" };
  }

  #findPreemptions(info: PodInfo, slots: readonly number[]) {
    const { budgets } = this.#deps;
    const { decider, preemption: limits = preemptionLimits } = this.#deps.profileOf(info);
    const deps = { cache: this.#deps.cache, decider, budgets, limits };
    return findPreemptions(deps, info, slots);
  }

  #preemptFailed(info: PodInfo, text: string) {
    this.#deps.profileOf(info).decider.notePreemptionFutile(info, text);
    const had = this.#deps.nominations.nodeOf(info.uid) !== undefined;
    if (had) this.dropNomination(info.uid);
    return { text, ...(had ? { nominatedNodeName: "" } : {}) };
  }
}

/** Returns upstream's message: the dry run's reason on each node it examined; preemption is not helpful on the others. */
function futileText(
  { nodeCount }: FitError,
  refusals: ReadonlyMap<string, number>,
  asked: number,
): string {
  const counts = new Map(refusals);
  if (asked < nodeCount) counts.set("Preemption is not helpful for scheduling", nodeCount - asked);
  const texts = [...counts].map(([text, count]) => `${count} ${text}`);
  return `preemption: 0/${nodeCount} nodes are available: ${texts.toSorted().join(", ")}.`;
}
