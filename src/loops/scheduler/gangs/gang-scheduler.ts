/**
 * Schedules groups: takes all waiting Pods of a group off the queue, asks for one decision, and carries it out.
 *
 *   first Pod popped ─► its siblings taken ─► placeGang ─┬─ enough: bind all, the rest is refused one by one
 *                                                        ├─ too few: room by preemption? all nominated, victims evicted
 *                                                        └─ nor that: all wait; backoff and hints as for single Pods
 *
 * Holds  a Pod that was taken is bound, refused or back in the queue when `schedule` returns.
 *        A torn group (some placed, too few) goes before all others: it holds nodes in vain.
 * Bounds `membersMax` Pods in one decision; a group that is larger is refused. `preemptorsMax` for room by preemption
 *        and for kept room; a larger group waits until there is room.
 */
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Cache } from "../cache.ts";
import { fitErrorText } from "../fit-error.ts";
import type { Nominations } from "../nominations.ts";
import type { PodInfo } from "../pod-info.ts";
import { isRoomComing } from "../preemption.ts";
import type { PreemptionLimits } from "../preemption-limits.ts";
import type { QueuedPod, SchedulingQueue } from "../queue.ts";
import type { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import type { GangDeps, Placement, RefusedMember } from "./decide-gang.ts";
import { findGangPreemption, type GangPreemption, type Victim } from "./gang-preemption.ts";
import { coschedulingTexts, nativeTexts, type GroupTexts } from "./gang-texts.ts";
import type { Gang, Gangs } from "./gangs.ts";
import { KeptRoom } from "./kept-room.ts";
import { type GangQuestion, mayHaveRoom, placeGang, trialsFor } from "./place-gang.ts";

/** What is said of a Pod of a group that was not placed. */
export interface MemberVerdict {
  readonly text: string;
  readonly plugins: ReadonlySet<string>;
  readonly nominatedNodeName?: string;
}

export interface BoundMember {
  readonly pod: QueuedPod;
  readonly placement: Placement;
}

/** As upstream's conditions of a PodGroup. */
export interface GroupVerdict {
  readonly status: "True" | "False";
  readonly reason: "Scheduled" | "Unschedulable" | "SchedulerError";
  readonly message: string;
}

export type GangResult = "scheduled" | "unschedulable" | "waiting_on_preemption" | "error";

interface GangSchedulerDeps {
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominations;
  readonly clock: Clock;
  readonly gangs: Gangs;
  readonly profileOf: (info: PodInfo) => {
    readonly decider: ScheduleAlgorithm;
    readonly preemption: PreemptionLimits | undefined;
  };
  readonly budgets: (namespace: string) => readonly PodDisruptionBudget[];
  readonly hasExtenders: (info: PodInfo) => boolean;
  /** Binds all of them, once each has what its bind needs; the Pods are assumed. */
  readonly bind: (gang: Gang, members: readonly BoundMember[]) => void;
  readonly reject: (pod: QueuedPod, verdict: MemberVerdict) => void;
  /** An error of the scheduler, not of the Pod. */
  readonly fail: (pod: QueuedPod, text: string) => void;
  readonly evict: (preemptor: PodInfo, victims: readonly Victim[]) => void;
  readonly dropNomination: (uid: string) => void;
  readonly report: (gang: Gang, verdict: GroupVerdict, result: GangResult, ms: number) => void;
}

/** The plugin that refused a Pod whose group was refused for other Pods: no event of the cluster helps that Pod alone. */
export const gangPlugin = "GangScheduling";

/** A decision is one turn of the loop, at some 5,000 Pods a second; room by preemption is found for some 500 a second. */
const membersMax = 2_000;
const preemptorsMax = 500;
const waitsForRest: ReadonlySet<string> = new Set([gangPlugin]);
/** Every eighth try decides about the group although the free room in sum is too small, so that its messages stay current. */
const fullTryEvery = 8;

export class GangScheduler {
  readonly #deps: GangSchedulerDeps;
  readonly #kept: KeptRoom;

  constructor(deps: GangSchedulerDeps) {
    this.#deps = deps;
    this.#kept = new KeptRoom(deps.clock, deps.dropNomination);
  }

  /** A Pod of a group of which some Pods are placed, but too few; it counts as popped. */
  popTorn(): QueuedPod | undefined {
    for (const { waiting } of this.#deps.gangs.torn()) {
      for (const uid of waiting.keys()) {
        if (this.#deps.queue.get(uid)?.place === "active") return this.#deps.queue.take(uid);
      }
    }
    return undefined;
  }

  /** No Pod of it is left, or it is placed. */
  ended(gang: Gang): void {
    this.#kept.end(gang);
  }

  /** Decides for the popped Pod's group. @returns how many Pods were decided about. */
  schedule(gang: Gang, first: QueuedPod): number {
    const { clock, gangs, queue } = this.#deps;
    // It became incomplete while the Pod was in the queue: the Pod is held now.
    if (gangs.heldBecause(gang) !== undefined) {
      queue.put(first.info);
      return 1;
    }
    if (gang.dueMs > clock.monotonicMs()) {
      first.attempts = Math.max(first.attempts, gang.failures);
      queue.failed(first);
      return 1;
    }
    const members = this.#takeMembers(gang, first);
    try {
      this.#decide(gang, members);
    } catch (error) {
      for (const pod of members) if (queue.isUnderDecision(pod)) queue.failed(pod);
      throw error;
    }
    return members.length;
  }

  /** Those that wait for anything but this, too; in the order in which they are placed, as upstream. */
  #takeMembers(gang: Gang, first: QueuedPod): readonly QueuedPod[] {
    const members = [first];
    for (const uid of gang.waiting.keys()) {
      const pod = uid === first.info.uid ? undefined : this.#deps.queue.take(uid);
      if (pod !== undefined) members.push(pod);
    }
    return members.sort((a, b) => b.info.priority - a.info.priority || a.order - b.order);
  }

  #decide(gang: Gang, members: readonly QueuedPod[]): void {
    const beganMs = this.#deps.clock.monotonicMs();
    const flaw = this.#flawOf(members);
    if (flaw !== undefined) return this.#failAll(gang, members, flaw, beganMs);
    const first = must(members[0], "a group has the Pod that was popped");
    const { decider } = this.#deps.profileOf(first.info);
    const deps = { ...this.#deps, decider };
    const question = this.#questionOf(gang, members);
    if (this.#isFutile(gang, members, deps, question)) return this.#refuseAgain(gang, members);
    const decision = placeGang(deps, question);
    switch (decision.kind) {
      case "placed": {
        const { placements, refused } = decision.trial;
        this.#place(gang, members, placements, refused);
        const verdict = { status: "True", reason: "Scheduled", message: "" } as const;
        return this.#report(gang, verdict, "scheduled", beganMs);
      }
      case "error":
        return this.#failAll(gang, members, decision.text, beganMs);
      case "none": {
        const { placements, refused } = decision;
        const found = this.#preempt(gang, members, deps, question);
        if (typeof found === "object")
          return this.#awaitRoom(gang, members, found, refused, beganMs);
        this.#refuse(gang, members, refused, found);
        if (members.length <= preemptorsMax) this.#kept.consider(gang, deps, question);
        const message = unplacedText(placements, found);
        const verdict = { status: "False", reason: "Unschedulable", message } as const;
        return this.#report(gang, verdict, "unschedulable", beganMs);
      }
    }
  }

  #questionOf(gang: Gang, members: readonly QueuedPod[]): GangQuestion {
    const { minCount, topologyKey } = must(gang.spec, "a group without its object is held");
    const placedOn = [...gang.placed.keys()].flatMap((uid) => this.#deps.cache.nodeOf(uid) ?? []);
    return {
      members: members.map(({ info }) => info),
      needed: Math.max(0, minCount - gang.placed.size),
      topologyKey,
      placedOn,
      skip: gang.failures * trialsFor(members.length),
    };
  }

  #flawOf(members: readonly QueuedPod[]): string | undefined {
    const names = new Set(members.map(({ info }) => info.pod.spec?.schedulerName ?? ""));
    if (names.size > 1) {
      const [a, b] = names;
      return `all pods in a single pod group should have the same .spec.schedulerName set, got: "${a}" and "${b}"`;
    }
    if (members.length > membersMax) {
      return `a pod group is decided as a whole, of at most ${membersMax} pods, and has ${members.length}`;
    }
    if (members.some(({ info }) => this.#deps.hasExtenders(info))) {
      return "a pod group is decided as a whole, which extenders cannot be asked about";
    }
    return undefined;
  }

  /** There is less room than the group's smallest Pods would need, as when it was refused for lack of room. */
  #isFutile(
    gang: Gang,
    members: readonly QueuedPod[],
    deps: GangDeps,
    question: GangQuestion,
  ): boolean {
    if (gang.failures === 0 || gang.failures % fullTryEvery === 0) return false;
    if (members.some(({ signature }) => signature === "")) return false;
    if (!members.some(({ rejectors }) => rejectors.has("NodeResourcesFit"))) return false;
    if (members.some(({ info }) => this.#deps.nominations.nodeOf(info.uid) !== undefined))
      return false;
    return !mayHaveRoom(deps, question);
  }

  #place(
    gang: Gang,
    members: readonly QueuedPod[],
    placements: readonly Placement[],
    refused: readonly RefusedMember[],
  ): void {
    const byUid = new Map(members.map((pod) => [pod.info.uid, pod]));
    gang.failures = 0;
    gang.dueMs = 0;
    gang.refusedMs = undefined;
    for (const { info } of placements) this.#deps.gangs.place(info);
    const bound = placements.map((placement) => ({
      pod: must(byUid.get(placement.info.uid), "a placement is of a Pod that was taken"),
      placement,
    }));
    this.#deps.bind(gang, bound);
    this.#kept.end(gang);
    for (const { info, error } of refused) {
      const pod = must(byUid.get(info.uid), "a refusal is of a Pod that was taken");
      this.#deps.reject(pod, { text: fitErrorText(error), plugins: error.plugins });
    }
  }

  /** Room for the group by taking others away; else why there is none, for people. */
  #preempt(
    gang: Gang,
    members: readonly QueuedPod[],
    deps: GangDeps,
    question: GangQuestion,
  ): GangPreemption | string {
    const { budgets, cache, gangs, nominations, profileOf } = this.#deps;
    const first = must(members[0], "a group has the Pod that was popped").info;
    const { preemption: limits } = profileOf(first);
    if (limits === undefined) return "";
    if (first.pod.spec?.preemptionPolicy === "Never") {
      return "not eligible due to preemptionPolicy=Never.";
    }
    if (members.length > preemptorsMax) {
      return `not eligible: victims are looked for for at most ${preemptorsMax} pods at once, and the group has ${members.length}.`;
    }
    const isComing = members.some(({ info }) => {
      const nominated = nominations.nodeOf(info.uid);
      return nominated !== undefined && isRoomComing(cache, info, nominated);
    });
    if (isComing) return "not eligible due to a terminating pod on the nominated node.";
    const unitOf = (info: PodInfo) => unitIn(gangs, info);
    const asked = { ...question, priority: gang.spec?.priority };
    const found = findGangPreemption({ ...deps, budgets, limits, unitOf }, asked);
    return found ?? "No preemption victims found for incoming preemptor";
  }

  /** Its Pods get the nodes that are made free; they wait until the victims have left. */
  #awaitRoom(
    gang: Gang,
    members: readonly QueuedPod[],
    { nodes, victims }: GangPreemption,
    refused: readonly RefusedMember[],
    beganMs: number,
  ): void {
    const { evict, nominations, reject } = this.#deps;
    const first = must(members[0], "a group has the Pod that was popped").info;
    const plugins = new Map(refused.map(({ info, error }) => [info.uid, error.plugins]));
    this.#failedOnce(gang, members);
    for (const pod of members) {
      const { uid } = pod.info;
      const nominatedNodeName = nodes.get(uid);
      if (nominatedNodeName !== undefined) nominations.set(pod.info, nominatedNodeName);
      reject(pod, {
        text: "pod group is waiting for preemption to complete",
        plugins: plugins.get(uid) ?? waitsForRest,
        ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
      });
    }
    evict(first, victims);
    const message = "pod group is waiting for preemption to complete";
    const verdict = { status: "False", reason: "Unschedulable", message } as const;
    this.#report(gang, verdict, "waiting_on_preemption", beganMs);
  }

  #refuse(
    gang: Gang,
    members: readonly QueuedPod[],
    refused: readonly RefusedMember[],
    preempted: string,
  ): void {
    const texts = textsOf(gang);
    const errors = new Map(refused.map(({ info, error }) => [info.uid, error]));
    const culprit = refused[0]?.info.name ?? "";
    const after = preempted === "" ? "" : ` preemption: ${preempted}`;
    this.#failedOnce(gang, members);
    for (const pod of members) {
      const error = errors.get(pod.info.uid);
      const own = error === undefined ? "" : fitErrorText(error) + after;
      const text =
        own === "" ? texts.sibling(gang, culprit) : texts.refused(gang, own, pod.info.name);
      this.#deps.reject(pod, { text, plugins: error?.plugins ?? waitsForRest });
    }
  }

  /** As the last time, without saying it again. */
  #refuseAgain(gang: Gang, members: readonly QueuedPod[]): void {
    this.#failedOnce(gang, members);
    for (const pod of members) this.#deps.queue.refusedAgain(pod);
  }

  #failAll(gang: Gang, members: readonly QueuedPod[], text: string, beganMs: number): void {
    this.#failedOnce(gang, members);
    for (const pod of members) this.#deps.fail(pod, text);
    const verdict = { status: "False", reason: "SchedulerError", message: text } as const;
    this.#report(gang, verdict, "error", beganMs);
  }

  /** Its Pods back off as one. */
  #failedOnce(gang: Gang, members: readonly QueuedPod[]): void {
    const { clock, queue } = this.#deps;
    gang.failures++;
    gang.refusedMs ??= clock.monotonicMs();
    for (const pod of members) pod.attempts = Math.max(pod.attempts, gang.failures);
    gang.dueMs = clock.monotonicMs() + queue.backoffMs(gang.failures);
  }

  #report(gang: Gang, verdict: GroupVerdict, result: GangResult, beganMs: number): void {
    this.#deps.report(gang, verdict, result, this.#deps.clock.monotonicMs() - beganMs);
  }
}

/** Of the condition of a group that was not placed. */
function unplacedText(placements: number, preempted: string): string {
  const why = ["pod group is unschedulable", preempted].filter((part) => part !== "").join(", ");
  return `0/${placements} placements are available, first placement status: ${why}`;
}

function textsOf(gang: Gang): GroupTexts {
  return gang.ref.form === "native" ? nativeTexts : coschedulingTexts;
}

function unitIn(gangs: Gangs, info: PodInfo) {
  const gang = gangs.of(info.uid);
  if (gang?.spec?.isDisruptedWhole !== true) return undefined;
  const pods = [...gang.placed.values()];
  const highest = pods.reduce((most, { priority }) => Math.max(most, priority), -(2 ** 31));
  return { pods, priority: gang.spec.priority ?? highest };
}
