/**
 * Schedules groups: takes all waiting Pods of a group off the queue, asks for one decision, and carries it out.
 *
 *   first Pod popped ─► its siblings taken ─► placeGang ─┬─ enough: bind all, the rest is refused one by one
 *                                                        ├─ too few: room by preemption? all nominated, victims evicted
 *                                                        └─ nor that: all wait; backoff and hints as for single Pods
 *
 * A decision may take several turns of the event loop, of about 20 ms each, and Pods and nodes change in between. The
 * whole placement is checked again at the end. If it is no longer valid, the group is decided again. After
 * `overtakenMax` failures it is decided in one turn, so that busy clusters do not delay it forever.
 * Holds  each taken Pod is bound, refused or back in the queue when `schedule` has ended, unless others took it. A torn
 *        group (some placed, too few) has precedence over all others, because it occupies nodes without use.
 * Bounds `membersMax` Pods in one decision; a larger group is refused. `preemptorsMax` Pods for preemption and for kept
 *        room; a larger group waits until there is room.
 */
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { Cache } from "../cache.ts";
import { fitErrorText } from "../fit-error.ts";
import type { Nominations } from "../nominations.ts";
import type { PodInfo } from "../pod-info.ts";
import { isRoomComing } from "../preemption.ts";
import type { PreemptionLimits } from "../preemption-limits.ts";
import type { QueuedPod, SchedulingQueue } from "../queue.ts";
import type { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import {
  type GangDeps,
  type InTurns,
  isEnough,
  type Placement,
  type RefusedMember,
  takeBack,
  type Trial,
} from "./decide-gang.ts";
import { findGangPreemption, type GangPreemption, type Victim } from "./gang-preemption.ts";
import { coschedulingTexts, nativeTexts, type GroupTexts } from "./gang-texts.ts";
import type { Gang, Gangs } from "./gangs.ts";
import { KeptRoom } from "./kept-room.ts";
import {
  domainOfPlaced,
  type GangQuestion,
  mayHaveRoom,
  placeGang,
  trialsFor,
} from "./place-gang.ts";
import { Turns } from "../turns.ts";

/** Verdict on a Pod of a group that was not placed. */
export interface MemberVerdict {
  readonly text: string;
  readonly plugins: ReadonlySet<string>;
  readonly nominatedNodeName?: string;
}

export interface BoundMember {
  readonly pod: QueuedPod;
  readonly placement: Placement;
}

/** Status of the group, as in upstream's conditions of a PodGroup. */
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
  /** Binds all members once the prerequisites of all binds are met. The Pods must be assumed. */
  readonly bind: (gang: Gang, members: readonly BoundMember[]) => void;
  /** `isOutdated`: the cluster has changed since the decision began, and the change might help. */
  readonly reject: (pod: QueuedPod, verdict: MemberVerdict, isOutdated: boolean) => void;
  /** Reports an error of the scheduler, not of the Pod. */
  readonly fail: (pod: QueuedPod, text: string) => void;
  readonly evict: (preemptor: PodInfo, victims: readonly Victim[]) => void;
  readonly dropNomination: (uid: string) => void;
  readonly report: (gang: Gang, verdict: GroupVerdict, result: GangResult, ms: number) => void;
  /** Returns the number of changes of the cluster so far. */
  readonly changes: () => number;
  /** Reads a taken Pod again, because the server may have shown changes of it during the decision. */
  readonly lookAgain: (info: PodInfo) => void;
}

/** A decision in progress. */
interface Attempt {
  readonly gang: Gang;
  readonly members: readonly QueuedPod[];
  readonly deps: GangDeps;
  readonly beganMs: number;
  /** Number of changes of the cluster when the decision began. */
  readonly changes: number;
  readonly turns: Turns;
}

/** Plugin name for Pods whose group was refused because of other Pods; no event helps such a Pod alone. */
export const gangPlugin = "GangScheduling";

/** Number of decisions in turns that may become outdated before the group is decided in one turn. */
const overtakenMax = 2;
const membersMax = 2_000;
const preemptorsMax = 500;
const waitsForRest: ReadonlySet<string> = new Set([gangPlugin]);
/** Every eighth attempt makes a full decision although the total free room is too small, so that messages stay current. */
const fullTryEvery = 8;

export class GangScheduler {
  readonly #deps: GangSchedulerDeps;
  readonly #kept: KeptRoom;

  constructor(deps: GangSchedulerDeps) {
    this.#deps = deps;
    this.#kept = new KeptRoom(deps.clock, deps.dropNomination);
  }

  /** Returns a Pod of a group that has placed Pods, but too few; the Pod counts as popped. */
  popTorn(): QueuedPod | undefined {
    for (const { waiting } of this.#deps.gangs.torn()) {
      for (const uid of waiting.keys()) {
        if (this.#deps.queue.get(uid)?.place === "active") return this.#deps.queue.take(uid);
      }
    }
    return undefined;
  }

  /** Forgets the group's kept room, because the group has no Pod left or is placed. */
  ended(gang: Gang): void {
    this.#kept.end(gang);
  }

  /** Decides about the group of the popped Pod. @returns the number of Pods in the decision. */
  *schedule(gang: Gang, first: QueuedPod): InTurns<number> {
    const { clock, gangs, queue } = this.#deps;
    // The group became incomplete while the Pod was queued, so the Pod is held now.
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
    const attempt = this.#beginAttempt(gang, members);
    try {
      yield* this.#decide(attempt);
    } catch (error) {
      for (const pod of members) if (queue.isUnderDecision(pod)) queue.failed(pod);
      throw error;
    }
    if (attempt.turns.count > 1) this.#lookAgain(members);
    return members.length;
  }

  /** Takes the group's Pods from the queue, also Pods in backoff or refused, in upstream's placement order. */
  #takeMembers(gang: Gang, first: QueuedPod): readonly QueuedPod[] {
    const members = [first];
    for (const uid of gang.waiting.keys()) {
      const pod = uid === first.info.uid ? undefined : this.#deps.queue.take(uid);
      if (pod !== undefined) members.push(pod);
    }
    return members.sort((a, b) => b.info.priority - a.info.priority || a.order - b.order);
  }

  #beginAttempt(gang: Gang, members: readonly QueuedPod[]): Attempt {
    const { cache, clock, nominations, profileOf } = this.#deps;
    const first = must(members[0], "a group has the Pod that was popped");
    const byUid = new Map(members.map((pod) => [pod.info.uid, pod]));
    const { decider } = profileOf(first.info);
    const isWaiting = (info: PodInfo): boolean => this.#isOurs(byUid.get(info.uid), info);
    const turns = new Turns(clock);
    const isTurnOver = (): boolean => gang.overtaken < overtakenMax && turns.isOver();
    const deps = { cache, decider, nominations, isWaiting, isTurnOver };
    const [beganMs, changes] = [clock.monotonicMs(), this.#deps.changes()];
    return { gang, members, deps, beganMs, changes, turns };
  }

  /** Whether the Pod was neither deleted nor bound nor changed since it was taken. */
  #isOurs(pod: QueuedPod | undefined, info: PodInfo): boolean {
    const { cache, queue } = this.#deps;
    if (pod === undefined || pod.info !== info || !queue.isUnderDecision(pod)) return false;
    return cache.nodeOf(info.uid) === undefined || cache.isAssumed(info.uid);
  }

  *#decide(attempt: Attempt): InTurns<void> {
    const { deps, gang, members } = attempt;
    const flaw = this.#flawOf(members);
    if (flaw !== undefined) return this.#failAll(attempt, flaw);
    const question = this.#questionOf(gang, members);
    if (this.#isFutile(attempt, question)) return this.#refuseAgain(attempt);
    const decision = yield* placeGang(deps, question);
    switch (decision.kind) {
      case "placed": {
        const { trial } = decision;
        if (!this.#stillHolds(attempt, question, trial)) {
          takeBack(deps, trial);
          return this.#decideAnew(attempt);
        }
        this.#place(attempt, trial);
        const verdict = { status: "True", reason: "Scheduled", message: "" } as const;
        return this.#report(attempt, verdict, "scheduled");
      }
      case "error":
        return this.#failAll(attempt, decision.text);
      case "none": {
        const { placements, refused } = decision;
        const found = yield* this.#preempt(attempt, question);
        gang.overtaken = 0;
        if (typeof found === "object") return this.#awaitRoom(attempt, found, refused);
        this.#refuse(attempt, refused, found);
        if (members.length <= preemptorsMax) this.#kept.consider(gang, deps, question);
        const message = unplacedText(placements, found);
        const verdict = { status: "False", reason: "Unschedulable", message } as const;
        return this.#report(attempt, verdict, "unschedulable");
      }
    }
  }

  /** Whether the placements that were made over several turns still place the group. */
  #stillHolds({ deps, gang, turns }: Attempt, question: GangQuestion, trial: Trial): boolean {
    if (turns.count === 1) return true;
    if (this.#deps.gangs.heldBecause(gang) !== undefined || gang.spec === undefined) return false;
    const now = this.#needsOf(gang);
    if (!isEnough(trial, now.needed) || now.topologyKey !== question.topologyKey) return false;
    if (!trial.placements.every((placement) => this.#holds(deps, gang, placement))) return false;
    const { topologyKey } = now;
    if (topologyKey === undefined) return true;
    const names = [...now.placedOn, ...trial.placements.map(({ nodeName }) => nodeName)];
    const found = domainOfPlaced(deps, { placedOn: names }, topologyKey);
    return found !== undefined && !("text" in found);
  }

  #holds({ cache, decider, isWaiting }: GangDeps, gang: Gang, placement: Placement): boolean {
    const { info, nodeName } = placement;
    if (isWaiting?.(info) === false || this.#deps.gangs.of(info.uid) !== gang) return false;
    const slot = cache.nodes.slotOf(nodeName);
    if (slot === undefined || cache.nodeOf(info.uid) !== nodeName) return false;
    cache.lift(info, slot);
    const fits = decider.passes(info, slot);
    cache.putBack(info, slot);
    return fits;
  }

  /** Returns the Pods to the queue without backoff, because the cluster changed too much during the decision. */
  #decideAnew({ gang, members }: Attempt): void {
    const { queue } = this.#deps;
    gang.overtaken++;
    for (const pod of members) {
      if (!queue.isUnderDecision(pod)) continue;
      pod.attempts = Math.max(0, pod.attempts - 1);
      queue.put(pod.info);
    }
  }

  #lookAgain(members: readonly QueuedPod[]): void {
    for (const { info } of members) {
      if (this.#deps.cache.nodeOf(info.uid) === undefined) this.#deps.lookAgain(info);
    }
  }

  #needsOf(gang: Gang) {
    const { minCount, topologyKey } = must(gang.spec, "a group without its object is held");
    const placedOn = [...gang.placed.keys()].flatMap((uid) => this.#deps.cache.nodeOf(uid) ?? []);
    return { needed: Math.max(0, minCount - gang.placed.size), topologyKey, placedOn };
  }

  #questionOf(gang: Gang, members: readonly QueuedPod[]): GangQuestion {
    return {
      ...this.#needsOf(gang),
      members: members.map(({ info }) => info),
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

  /** Whether a group that was refused for lack of room still lacks it: the total free room is below its smallest requests. */
  #isFutile({ deps, gang, members }: Attempt, question: GangQuestion): boolean {
    if (gang.failures === 0 || gang.failures % fullTryEvery === 0) return false;
    if (members.some(({ signature }) => signature === "")) return false;
    if (!members.some(({ rejectors }) => rejectors.has("NodeResourcesFit"))) return false;
    if (members.some(({ info }) => this.#deps.nominations.nodeOf(info.uid) !== undefined))
      return false;
    return !mayHaveRoom(deps, question);
  }

  #place({ gang, members }: Attempt, { placements, refused }: Trial): void {
    const byUid = new Map(members.map((pod) => [pod.info.uid, pod]));
    gang.failures = 0;
    gang.overtaken = 0;
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
      this.#rejectOne(pod, { text: fitErrorText(error), plugins: error.plugins });
    }
  }

  /** Rejects the Pod, unless it was taken or changed meanwhile. */
  #rejectOne(pod: QueuedPod, verdict: MemberVerdict, isOutdated = false): void {
    if (this.#deps.queue.isUnderDecision(pod)) this.#deps.reject(pod, verdict, isOutdated);
  }

  /** Finds room for the group by preemption; returns a message when there is none. */
  *#preempt(
    { deps, gang, members }: Attempt,
    question: GangQuestion,
  ): InTurns<GangPreemption | string> {
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
    const found = yield* findGangPreemption({ ...deps, budgets, limits, unitOf }, asked);
    return found ?? "No preemption victims found for incoming preemptor";
  }

  /** Nominates the freed nodes for the group's Pods, which wait until the victims have left. */
  #awaitRoom(
    attempt: Attempt,
    { nodes, victims }: GangPreemption,
    refused: readonly RefusedMember[],
  ): void {
    const { evict, nominations, queue } = this.#deps;
    const { members } = attempt;
    const first = must(members[0], "a group has the Pod that was popped").info;
    const plugins = new Map(refused.map(({ info, error }) => [info.uid, error.plugins]));
    this.#failedOnce(attempt);
    for (const pod of members) {
      const { uid } = pod.info;
      const nominatedNodeName = queue.isUnderDecision(pod) ? nodes.get(uid) : undefined;
      if (nominatedNodeName !== undefined) nominations.set(pod.info, nominatedNodeName);
      this.#rejectOne(pod, {
        text: "pod group is waiting for preemption to complete",
        plugins: plugins.get(uid) ?? waitsForRest,
        ...given({ nominatedNodeName }),
      });
    }
    evict(first, victims);
    const message = "pod group is waiting for preemption to complete";
    const verdict = { status: "False", reason: "Unschedulable", message } as const;
    this.#report(attempt, verdict, "waiting_on_preemption");
  }

  /** Refuses the group. Changes during the decision may help, so its Pods are then retried whatever refused them. */
  #refuse(attempt: Attempt, refused: readonly RefusedMember[], preempted: string): void {
    const { changes, gang, members } = attempt;
    const texts = textsOf(gang);
    const errors = new Map(refused.map(({ info, error }) => [info.uid, error]));
    const culprit = refused[0]?.info.name ?? "";
    const after = preempted === "" ? "" : ` preemption: ${preempted}`;
    const isOutdated = this.#deps.changes() !== changes;
    this.#failedOnce(attempt);
    for (const pod of members) {
      const error = errors.get(pod.info.uid);
      const own = error === undefined ? "" : fitErrorText(error) + after;
      const text =
        own === "" ? texts.sibling(gang, culprit) : texts.refused(gang, own, pod.info.name);
      this.#rejectOne(pod, { text, plugins: error?.plugins ?? waitsForRest }, isOutdated);
    }
  }

  /** Refuses the group as in the last attempt, without another report. */
  #refuseAgain(attempt: Attempt): void {
    this.#failedOnce(attempt);
    for (const pod of attempt.members) this.#deps.queue.refusedAgain(pod);
  }

  #failAll(attempt: Attempt, text: string): void {
    const { fail, queue } = this.#deps;
    this.#failedOnce(attempt);
    for (const pod of attempt.members) if (queue.isUnderDecision(pod)) fail(pod, text);
    const verdict = { status: "False", reason: "SchedulerError", message: text } as const;
    this.#report(attempt, verdict, "error");
  }

  /** Counts one failure for the group, so that its Pods back off together. */
  #failedOnce({ gang, members }: Attempt): void {
    const { clock, queue } = this.#deps;
    gang.failures++;
    gang.refusedMs ??= clock.monotonicMs();
    for (const pod of members) pod.attempts = Math.max(pod.attempts, gang.failures);
    gang.dueMs = clock.monotonicMs() + queue.backoffMs(gang.failures);
  }

  #report({ beganMs, gang }: Attempt, verdict: GroupVerdict, result: GangResult): void {
    this.#deps.report(gang, verdict, result, this.#deps.clock.monotonicMs() - beganMs);
  }
}

/** Returns the message for the condition of a group that was not placed. */
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
