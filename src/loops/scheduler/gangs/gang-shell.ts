/**
 * Groups in the scheduler's shell: reports events of Pods and PodGroups to `gangs.ts`, carries out the decisions of
 * `gang-scheduler.ts`, and writes the status of groups.
 *
 * Holds  a Pod of a group is in the queue's gated part exactly while `Gangs.isHeld` says so.
 * Bounds the status of a coscheduling group is computed at most once per `phaseEveryMs`.
 */
import type { Pod, PodDisruptionBudget, PodGroup } from "#api/gen/types.ts";
import { assert, must } from "#base/assert.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Binder } from "../bind.ts";
import type { Cache } from "../cache.ts";
import type { SchedulerMetrics } from "../metrics.ts";
import type { Nominations } from "../nominations.ts";
import type { PodInfo } from "../pod-info.ts";
import type { PreemptionLimits } from "../preemption-limits.ts";
import type { QueuedPod, SchedulingQueue } from "../queue.ts";
import type { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import { evictVictim } from "../victims.ts";
import type { InTurns } from "./decide-gang.ts";
import type { Victim } from "./gang-preemption.ts";
import {
  type BoundMember,
  type GangResult,
  GangScheduler,
  type GroupVerdict,
  type MemberVerdict,
} from "./gang-scheduler.ts";
import { type Gang, Gangs } from "./gangs.ts";
import { nextPhase } from "./group-phase.ts";
import { type CoschedulingGroup, type GroupForm, type GroupRef, groupRefOf } from "./group-spec.ts";
import { GroupSources } from "./group-sources.ts";
import { GroupStatus } from "./group-status.ts";

interface GangShellDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: SchedulerMetrics;
  readonly pods: Informer<Pod>;
  readonly cache: Cache;
  readonly nominations: Nominations;
  readonly queue: () => SchedulingQueue;
  readonly binder: () => Binder;
  readonly profileOf: (info: PodInfo) => {
    readonly decider: ScheduleAlgorithm;
    readonly events: EventRecorder;
    readonly preemption: PreemptionLimits | undefined;
  };
  readonly budgets: (namespace: string) => readonly PodDisruptionBudget[];
  readonly hasExtenders: (info: PodInfo) => boolean;
  readonly reject: (pod: QueuedPod, verdict: MemberVerdict, isOutdated: boolean) => void;
  /** Returns the number of changes of the cluster so far. */
  readonly changes: () => number;
  /** Reads a waiting Pod again. */
  readonly readAgain: (pod: Pod) => void;
  readonly fail: (pod: QueuedPod, text: string) => void;
  /** Removes the nomination, and requeues the Pods that wait for room on that node. */
  readonly dropNomination: (uid: string) => void;
  /** Called when the Pod's bind starts, because the Pod's last condition is no longer true. */
  readonly settled: (uid: string) => void;
}

const phaseEveryMs = 100;
const knownWithinMs = 5_000;
const groupIndex = "coscheduling group";

export class GangShell {
  readonly #deps: GangShellDeps;
  readonly #sources: GroupSources;
  readonly #gangs: Gangs;
  readonly #status: GroupStatus;
  #scheduler: GangScheduler | undefined;
  #decision: { readonly pod: QueuedPod; readonly turns: InTurns<number> } | undefined;
  readonly #phaseDirty = new Map<string, GroupRef>();
  #phaseTimer: Timer | undefined;
  #isIndexed = false;

  constructor(deps: GangShellDeps) {
    this.#deps = deps;
    this.#status = new GroupStatus(deps);
    this.#sources = new GroupSources({
      ...deps,
      changed: (ref) => this.#groupChanged(ref),
      learnt: (form) => this.#learnt(form),
    });
    this.#gangs = new Gangs({
      specOf: (ref) => this.#sources.specOf(ref),
      isServed: (form) => this.#sources.isServed(form),
    });
  }

  /** Returns the Pod's gang. Undefined: the Pod is scheduled on its own. */
  of({ uid }: PodInfo): Gang | undefined {
    return this.#gangs.of(uid);
  }

  isHeld({ uid }: PodInfo): boolean {
    return this.#gangs.isHeld(uid);
  }

  /** Records a waiting Pod; to be called before the Pod is put into the queue. */
  waits(info: PodInfo): void {
    const gang = this.#gangs.wait(info);
    if (gang === undefined) return;
    if (gang.spec === undefined) this.#sources.ask(gang.ref.form);
    else this.#release(gang);
  }

  /** Records that the Pod is assumed or bound. */
  placed(info: PodInfo): void {
    const gang = this.#gangs.place(info);
    if (gang !== undefined) this.#release(gang);
  }

  gone(uid: string): void {
    const gang = this.#gangs.leave(uid);
    if (gang !== undefined && gang.waiting.size + gang.placed.size === 0) this.#core().ended(gang);
  }

  /** Keeps the Pod's room, because the rest of its group is placed. No effect when the server has shown the Pod bound. */
  bindFailed(info: PodInfo, nodeName: string): void {
    if (this.of(info) === undefined || !this.#deps.cache.isAssumed(info.uid)) return;
    this.#deps.nominations.set(info, nodeName);
    this.#gangs.wait(info);
  }

  popTorn(): QueuedPod | undefined {
    return this.#gangs.torn().size === 0 ? undefined : this.#core().popTorn();
  }

  /** The popped Pod of the group under decision; nothing else is decided meanwhile. */
  get deciding(): QueuedPod | undefined {
    return this.#decision?.pod;
  }

  /** Begins a decision. */
  begin(gang: Gang, pod: QueuedPod): void {
    assert(this.#decision === undefined, "one group is decided about at a time");
    this.#decision = { pod, turns: this.#core().schedule(gang, pod) };
  }

  /** Runs one turn of the decision. @returns the number of Pods in the decision; undefined: it needs another turn. */
  goOn(): number | undefined {
    const decision = must(this.#decision, "a decision was begun");
    try {
      const { done, value } = decision.turns.next();
      if (done !== true) return undefined;
      this.#decision = undefined;
      return value;
    } catch (error) {
      this.#decision = undefined;
      throw error;
    }
  }

  /** Adds the handlers that only groups need. @returns their remover. */
  subscribe(): () => void {
    return this.#deps.pods.addHandler({
      batch: (changes) => {
        for (const { object } of changes) this.#phaseLater(groupRefOf(object));
      },
    });
  }

  /**
   * Call before the first decision, so that groups that an earlier scheduler left unfinished have precedence. Resolves
   * when the groups of the waiting Pods are known, or after `knownWithinMs`.
   */
  async known(): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#deps.clock.after("scheduler.groups", knownWithinMs, resolve);
    });
    await Promise.race([this.#sources.known(), late]);
    timer?.cancel();
  }

  close(): void {
    // Ends the decision, which undoes its assumptions.
    this.#decision?.turns.return(0);
    this.#decision = undefined;
    this.#sources.close();
    this.#phaseTimer?.cancel();
  }

  #core(): GangScheduler {
    this.#scheduler ??= new GangScheduler({
      ...this.#deps,
      gangs: this.#gangs,
      queue: this.#deps.queue(),
      lookAgain: ({ name, namespace, uid }) => {
        const pod = this.#deps.pods.get(namespace, name);
        if (pod?.metadata?.uid === uid) this.#deps.readAgain(pod);
      },
      bind: (gang, members) => this.#bind(gang, members),
      evict: (preemptor, victims) => this.#evict(preemptor, victims),
      report: (gang, verdict, result, ms) => this.#report(gang, verdict, result, ms),
    });
    return this.#scheduler;
  }

  /** Puts the held Pods into the queue when the group no longer holds them. */
  #release(gang: Gang): void {
    if (this.#gangs.heldBecause(gang) !== undefined) return;
    const queue = this.#deps.queue();
    for (const [uid, info] of gang.waiting) {
      if (queue.get(uid)?.place === "gated") queue.put(info);
    }
  }

  #groupChanged(ref: GroupRef): void {
    this.#phaseLater(ref);
    const gang = this.#gangs.change(ref);
    if (gang !== undefined) this.#release(gang);
  }

  #learnt(form: GroupForm): void {
    const queue = this.#deps.queue();
    if (form === "coscheduling" && this.#sources.isServed(form) === true) this.#indexPods();
    for (const gang of this.#gangs.values()) {
      if (gang.ref.form !== form) continue;
      for (const [uid, info] of gang.waiting) {
        if (queue.get(uid)?.place === "gated") queue.put(info);
      }
    }
  }

  #bind(gang: Gang, members: readonly BoundMember[]): void {
    const orders = members.map(({ pod, placement }) => ({ pod, ...placement }));
    for (const { pod } of members) this.#deps.settled(pod.info.uid);
    this.#deps.binder().bindTogether(orders, gang.spec?.timeoutMs ?? 0);
  }

  #evict(preemptor: PodInfo, victims: readonly Victim[]): void {
    const { events } = this.#deps.profileOf(preemptor);
    for (const { info, nodeName } of victims) {
      void evictVictim({ ...this.#deps, events }, preemptor, info, nodeName);
    }
  }

  #report(gang: Gang, verdict: GroupVerdict, result: GangResult, ms: number): void {
    const [first] = [...gang.placed.values(), ...gang.waiting.values()];
    const profile = first?.pod.spec?.schedulerName ?? "default-scheduler";
    this.#deps.metrics?.gangs.attempted(profile, result, ms);
    const { ref, spec } = gang;
    if (ref.form !== "native" || spec === undefined) return;
    // The object of a group of the native form is a PodGroup of the API.
    this.#status.writeCondition(ref, spec.object as PodGroup, verdict);
  }

  /** Indexes Pods by group: the phase also counts finished Pods, which belong to no gang any more. */
  #indexPods(): void {
    if (this.#isIndexed) return;
    this.#isIndexed = true;
    this.#deps.pods.addIndex(groupIndex, (pod) => {
      const ref = groupRefOf(pod);
      return ref?.form === "coscheduling" ? [ref.key] : [];
    });
  }

  #phaseLater(ref: GroupRef | undefined): void {
    if (ref?.form !== "coscheduling" || this.#sources.isServed(ref.form) !== true) return;
    this.#phaseDirty.set(ref.key, ref);
    this.#phaseTimer ??= this.#deps.clock.after("scheduler.groups", phaseEveryMs, () => {
      this.#phaseTimer = undefined;
      this.#writePhases();
    });
  }

  #writePhases(): void {
    this.#indexPods();
    const dirty = [...this.#phaseDirty];
    this.#phaseDirty.clear();
    for (const [key, ref] of dirty) {
      const group = this.#sources.specOf(ref)?.object;
      if (group === undefined) continue;
      const pods = this.#deps.pods.byIndex(groupIndex, key);
      // The object of a group of the coscheduling form is a CoschedulingGroup.
      const next = nextPhase(group as CoschedulingGroup, pods);
      if (next !== undefined) this.#status.writePhase(ref, next);
    }
  }
}
