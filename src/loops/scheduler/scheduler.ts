/**
 * The scheduler's shell: feeds informer events to cache and queue, takes Pods off the queue, decides,
 * and carries decisions out with many binds in flight.
 *
 * Holds  a Pod is assumed on its node before its bind is sent, and confirmed by the informer or forgotten when the bind
 *        fails: the next decision already takes the assumed Pod into account.
 * Bounds `bindsInFlightMax` binds; `sliceMax` decisions, and about 20 ms, between two turns of the event loop.
 */
import type { Namespace, Node, Pod, PodDisruptionBudget, Service } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { AssertionError, must } from "#base/assert.ts";
import { given } from "#base/given.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { createEventRecorder } from "#client/events.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { Binder } from "./bind.ts";
import { Cache } from "./cache.ts";
import { Conditions } from "./conditions.ts";
import { Devices } from "./devices/devices.ts";
import type { Extender } from "./extender.ts";
import { Extenders } from "./extenders.ts";
import { gangPlugin, type MemberVerdict } from "./gangs/gang-scheduler.ts";
import { GangShell } from "./gangs/gang-shell.ts";
import type { Gang } from "./gangs/gangs.ts";
import { haveSameStaticFacts } from "./node-table.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import type { FitError } from "./fit-error.ts";
import { fitErrorText } from "./fit-error.ts";
import {
  type AttemptResult,
  countByPlugin,
  type ProfileMetrics,
  type SchedulerMetrics,
  type SchedulerState,
} from "./metrics.ts";
import { Nominations } from "./nominations.ts";
import {
  haveSameClaims,
  isFinished,
  podInfo,
  sameForScheduling,
  schedulerNameOf,
} from "./pod-info.ts";
import type { PodInfo } from "./pod-info.ts";
import { type ClusterEvent, eventName } from "./hints.ts";
import { Volumes } from "./volumes.ts";
import type { PreemptionLimits } from "./preemption-limits.ts";
import { type Preempted, Preemptor } from "./preemptor.ts";
import { defaultProfile, type Profile } from "./profile.ts";
import type { QueuedPod, QueueOptions } from "./queue.ts";
import { SchedulingQueue, queueTimes } from "./queue.ts";
import { Turns } from "./turns.ts";

interface SchedulerDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: no metrics are counted. */
  readonly metrics?: SchedulerMetrics;
}

interface SchedulerOptions {
  /** At least one profile, with distinct names. */
  readonly profiles: readonly Profile[];
  readonly queue: QueueOptions;
  readonly bindsInFlightMax: number;
  /** Extenders for the Pods of all profiles. */
  readonly extenders: readonly Extender[];
}

/** Defaults that `cmd` passes on. */
export const schedulerDefaults: SchedulerOptions = {
  profiles: [defaultProfile],
  queue: queueTimes,
  bindsInFlightMax: 256,
  extenders: [],
};

interface SchedulerFigures {
  readonly decisions: number;
  readonly bound: number;
  readonly unschedulable: number;
  readonly bindErrors: number;
  readonly preemptions: number;
  /** Number of this scheduler's Pods without a node, in any part of the queue. */
  readonly pending: number;
  readonly active: number;
  readonly bindsInFlight: number;
  readonly nodes: number;
  readonly placedPods: number;
}

export interface Scheduler {
  /** Schedules until `signal` aborts, then resolves when the binds in flight have ended. Call once. */
  run(signal: AbortSignal): Promise<void>;
  metrics(): SchedulerFigures;
}

export function createScheduler(deps: SchedulerDeps, options: SchedulerOptions): Scheduler {
  return new SchedulerShell(deps, options);
}

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });
const budgetsRef = { group: "policy", version: "v1", resource: "poddisruptionbudgets" };

/** Time that compiled data of Pods is kept after the last such Pod; at most twice this time. */
const forgetMs = 300_000;
/** Maximum number of decisions between two turns of the event loop; fewer when decisions take long (`Turns`). */
const sliceMax = 64;

interface RunningProfile {
  readonly decider: ScheduleAlgorithm;
  readonly events: EventRecorder;
  readonly preemption: PreemptionLimits | undefined;
  readonly metrics: ProfileMetrics | undefined;
}

class SchedulerShell implements Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #options: SchedulerOptions;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #namespaces: Informer<Namespace>;
  readonly #volumes: Volumes;
  readonly #devices: Devices;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #services: Informer<Service>;
  readonly #cache: Cache;
  readonly #queue: SchedulingQueue;
  readonly #nominations = new Nominations();
  readonly #profiles: ReadonlyMap<string, RunningProfile>;
  readonly #binder: Binder;
  readonly #conditions: Conditions;
  readonly #preemptor: Preemptor;
  readonly #extenders: Extenders;
  readonly #gangs: GangShell;
  /** Aborts the requests to extenders. */
  readonly #stopped = new AbortController();
  /** The decision that waits for extenders; no other decision runs meanwhile. */
  #extended: Promise<void> | undefined;
  #running = false;
  #pumping = false;
  #decisions = 0;
  /** Number of changes of the cluster so far. */
  #events = 0;
  #unschedulable = 0;
  #aging: Timer | undefined;

  constructor(deps: SchedulerDeps, options: SchedulerOptions) {
    const { client, clock, informers, log, random } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#pods = informers.informer<Pod>(core("pods"));
    this.#nodes = informers.informer<Node>(core("nodes"));
    this.#namespaces = informers.informer<Namespace>(core("namespaces"));
    this.#volumes = new Volumes({ client, clock, informers, pods: this.#pods });
    this.#devices = new Devices({ client, clock, informers, random });
    this.#budgets = informers.informer<PodDisruptionBudget>(budgetsRef);
    this.#services = informers.informer<Service>(core("services"));
    const namespaces = (name: string) => this.#namespaces.get("", name)?.metadata?.labels;
    this.#cache = new Cache({ namespaces });
    const incoming = deps.metrics === undefined ? {} : { incoming: deps.metrics.incoming };
    const isHeld = (info: PodInfo): boolean => this.#gangs.isHeld(info);
    const wake = (): void => this.#wake();
    this.#queue = new SchedulingQueue({ clock, wake, isHeld, ...incoming }, options.queue);
    const nominations = this.#nominations;
    const services = (namespace: string) => this.#services.list(namespace);
    const lookups = { namespaces, services, volumes: this.#volumes, devices: this.#devices };
    const shared = { cache: this.#cache, random, nominations, ...lookups };
    this.#profiles = new Map(
      options.profiles.map(({ schedulerName, plugins, preemption, sample }) => {
        const metrics = deps.metrics?.profile(schedulerName);
        const steps = metrics === undefined ? {} : { steps: metrics.steps(clock) };
        const decider = new ScheduleAlgorithm({ ...shared, ...steps, plugins, sample });
        const events = createEventRecorder(deps, { component: schedulerName });
        return [schedulerName, { decider, events, preemption, metrics }];
      }),
    );
    this.#conditions = new Conditions({ client, clock, log });
    this.#extenders = new Extenders(options.extenders, log);
    const profileOf = (info: PodInfo) => this.#profileOf(info);
    const budgets = (namespace: string) => this.#budgets.list(namespace);
    const known = { ...deps, cache: this.#cache, nominations, budgets, profileOf };
    this.#preemptor = new Preemptor(known);
    this.#binder = new Binder(
      {
        client,
        cache: this.#cache,
        queue: this.#queue,
        eventsOf: (pod) => this.#profileOf(pod).events,
        log,
        clock,
        onBound: (pod, bindMs) => this.#noteBound(pod, bindMs),
        onFailed: (pod, nodeName) => this.#bindFailed(pod, nodeName),
        extenderOf: (info) => this.#extenders.for(info)?.binder,
      },
      { ended: () => this.#wake() },
    );
    this.#gangs = new GangShell({
      ...known,
      pods: this.#pods,
      queue: () => this.#queue,
      binder: () => this.#binder,
      hasExtenders: (info) => this.#extenders.for(info) !== undefined,
      reject: (pod, verdict, isOutdated) => this.#reject(pod, verdict, isOutdated),
      changes: () => this.#events,
      readAgain: (pod) => this.#podSet(undefined, pod),
      fail: (pod, text) => this.#extenderFailed(pod, new Error(text)),
      dropNomination: (uid) => this.#giveUpNomination(uid),
      settled: (uid) => this.#conditions.cancel(uid),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#deps.metrics?.show(() => this.#state());
    const removers = this.#subscribe();
    const informers = [this.#pods, this.#nodes, this.#namespaces, this.#budgets, this.#services];
    const all = [...informers.map(({ synced }) => synced), ...this.#volumes.synced];
    const ended = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([Promise.all([...all, ...this.#devices.synced]), ended]);
    await Promise.race([this.#gangs.known(), ended]);
    this.#running = !signal.aborted;
    this.#wake();
    await ended;
    this.#running = false;
    for (const remove of removers) remove();
    this.#queue.close();
    this.#gangs.close();
    this.#aging?.cancel();
    this.#binder.cancelAll();
    this.#stopped.abort();
    await this.#extended;
    await this.#binder.idle();
    await Promise.all([...this.#profiles.values()].map(({ events }) => events.close()));
    this.#deps.metrics?.show(undefined);
  }

  metrics(): SchedulerFigures {
    return {
      decisions: this.#decisions,
      bound: this.#binder.bound,
      unschedulable: this.#unschedulable,
      bindErrors: this.#binder.errors,
      preemptions: this.#preemptor.count,
      pending: this.#queue.size,
      active: this.#queue.activeCount,
      bindsInFlight: this.#binder.inFlight,
      nodes: this.#cache.nodes.size,
      placedPods: this.#cache.podCount,
    };
  }

  #state(): SchedulerState {
    return {
      nodes: this.#cache.nodes.size,
      placedPods: this.#cache.podCount,
      assumedPods: this.#cache.countAssumed(),
      pending: this.#queue.pendingCounts(),
      unschedulable: countByPlugin(this.#queue.unschedulable()),
    };
  }

  #noteBound(pod: QueuedPod, bindMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#profileOf(pod.info).metrics?.ran("Bind", "Success", bindMs);
    this.#noteAttempt(pod, "scheduled");
    this.#deps.metrics?.scheduled(pod.attempts, nowMs - (pod.firstActiveMs ?? nowMs));
  }

  #bindFailed(pod: QueuedPod, nodeName: string): void {
    this.#noteAttempt(pod, "error");
    this.#gangs.bindFailed(pod.info, nodeName);
  }

  #noteAttempt(pod: QueuedPod, result: AttemptResult): void {
    const ms = this.#deps.clock.monotonicMs() - pod.poppedMs;
    this.#profileOf(pod.info).metrics?.attempted(result, ms);
  }

  #subscribe(): (() => void)[] {
    return [
      this.#nodes.addHandler({
        add: (node) => this.#nodeSet(undefined, node),
        update: (old, node) => this.#nodeSet(old, node),
        delete: (node) => {
          this.#cache.deleteNode(node.metadata?.name ?? "");
          this.#devices.state.forgetNode(node.metadata?.name ?? "");
          this.#happened({ kind: "node-gone" });
        },
      }),
      this.#namespaces.addHandler({
        batch: () => {
          this.#cache.counts.forgetNamespaceSelections();
          this.#cache.loosened++;
          this.#happened({ kind: "namespaces" });
        },
      }),
      this.#pods.addHandler({
        add: (pod) => this.#podSet(undefined, pod),
        update: (old, pod) => this.#podSet(old, pod),
        delete: (pod) => this.#podGone(pod),
      }),
      this.#gangs.subscribe(),
      ...this.#volumes.subscribe((event) => this.#happened(event)),
      ...this.#devices.subscribe(
        (event) => this.#happened(event),
        () => this.#cache.classesChanged(),
      ),
    ];
  }

  #nodeSet(old: Node | undefined, node: Node): void {
    const before = this.#cache.nodes.staticVersion;
    // Heartbeats change only conditions, which cannot help a waiting Pod.
    const same = old !== undefined && sameAllocatable(old, node) && haveSameStaticFacts(old, node);
    const slot = same ? this.#cache.nodes.set(node) : this.#cache.setNode(node);
    if (same) return;
    const isStatic = this.#cache.nodes.staticVersion !== before;
    this.#happened({ kind: "node", slot, isStatic });
  }

  #podSet(old: Pod | undefined, pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const nodeName = pod.spec?.nodeName ?? "";
    if (isFinished(pod)) return this.#podGone(pod);
    if (nodeName !== "") return this.#podPlaced(old, pod, nodeName);
    if (pod.metadata?.deletionTimestamp !== undefined) return this.#podGone(pod);
    // While the Pod's bind is in flight, the outcome of the bind decides, not this update.
    if (this.#cache.isAssumed(uid) || !this.#isOurs(pod)) return;
    const known = this.#queue.get(uid);
    if (known !== undefined) this.#nominatedElsewhere(known.info, pod);
    if (known !== undefined && sameForScheduling(known.info.pod, pod)) {
      const hasNewClaims = !haveSameClaims(known.info.pod, pod);
      known.info.pod = pod;
      if (hasNewClaims) this.#queue.put(known.info);
      return;
    }
    const info = podInfo(pod);
    const nominated = pod.status?.nominatedNodeName ?? "";
    if (known === undefined && nominated !== "") this.#nominations.set(info, nominated);
    this.#gangs.waits(info);
    this.#queue.put(info);
  }

  /** Applies a nomination that another component set or removed; room is kept as for this scheduler's nominations. */
  #nominatedElsewhere(info: PodInfo, pod: Pod): void {
    const before = info.pod.status?.nominatedNodeName ?? "";
    const now = pod.status?.nominatedNodeName ?? "";
    if (now === before || now === (this.#nominations.nodeOf(info.uid) ?? "")) return;
    this.#preemptor.dropNomination(info.uid);
    if (now !== "") this.#nominations.set(info, now);
  }

  #podPlaced(old: Pod | undefined, pod: Pod, nodeName: string): void {
    const uid = pod.metadata?.uid ?? "";
    this.#queue.delete(uid);
    this.#conditions.cancel(uid);
    this.#preemptor.dropNomination(uid);
    const held = this.#cache.infoOf(uid);
    if (held !== undefined && sameForScheduling(held.pod, pod)) {
      held.pod = pod;
      this.#cache.confirm(held, nodeName);
      this.#gangs.placed(held);
      if ((old?.spec?.nodeName ?? "") === "") this.#happened({ kind: "pod-placed", info: held });
      return;
    }
    const info = podInfo(pod);
    this.#cache.confirm(info, nodeName);
    this.#gangs.placed(info);
    if (held !== undefined) {
      this.#happened({ kind: "pod-gone", slot: this.#cache.nodes.slotOf(nodeName) });
    }
    this.#happened({ kind: "pod-placed", info });
  }

  #podGone(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    this.#binder.cancel(uid);
    this.#gangs.gone(uid);
    this.#queue.delete(uid);
    this.#conditions.cancel(uid);
    this.#preemptor.dropNomination(uid);
    const nodeName = this.#cache.nodeOf(uid);
    if (nodeName === undefined) return;
    this.#cache.removePod(uid);
    this.#happened({ kind: "pod-gone", slot: this.#cache.nodes.slotOf(nodeName) });
  }

  #isOurs(pod: Pod): boolean {
    return this.#profiles.has(schedulerNameOf(pod));
  }

  #profileOf({ pod }: PodInfo): RunningProfile {
    return must(this.#profiles.get(schedulerNameOf(pod)), "a queued pod names a profile");
  }

  #happened(event: ClusterEvent): void {
    this.#events++;
    this.#queue.moveAllToActiveOrBackoffQueue(
      ({ info, rejectors }) =>
        !rejectors.has(gangPlugin) && this.#profileOf(info).decider.mayHelp(event, info, rejectors),
      eventName[event.kind],
    );
  }

  /** Gives up the room that was kept for the Pod, so that other Pods may use it. */
  #giveUpNomination(uid: string): void {
    const nodeName = this.#nominations.nodeOf(uid);
    if (nodeName === undefined) return;
    this.#preemptor.dropNomination(uid);
    this.#happened({ kind: "pod-gone", slot: this.#cache.nodes.slotOf(nodeName) });
  }

  /** Schedules decisions after the current batch of events, so that they see the whole batch. */
  #wake(): void {
    if (!this.#running || this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    const turns = new Turns(this.#deps.clock);
    for (let i = 0; i < sliceMax && this.#running && !turns.isOver(); i++) {
      const pod = this.#gangs.deciding ?? this.#pop();
      if (pod === undefined) return void (this.#pumping = false);
      const gang = this.#gangs.of(pod.info);
      const isGang = gang !== undefined || this.#gangs.deciding !== undefined;
      const extenders = isGang ? undefined : this.#extenders.for(pod.info);
      if (extenders !== undefined) return this.#pumpExtended(pod, extenders);
      try {
        if (isGang) i += this.#scheduleGang(gang, pod) - 1;
        else this.#scheduleOne(pod);
      } catch (error) {
        this.#notDecided(pod, error);
      }
    }
    if (this.#running) this.#deps.clock.after("scheduler.step", 0, () => this.#pump());
  }

  #pop(): QueuedPod | undefined {
    const isFull = this.#binder.inFlight >= this.#options.bindsInFlightMax;
    return isFull ? undefined : (this.#gangs.popTorn() ?? this.#queue.pop());
  }

  /** Decides this Pod with its extenders, then continues with the next Pod. */
  #pumpExtended(pod: QueuedPod, extenders: Extenders): void {
    this.#extended = this.#scheduleExtended(pod, extenders).finally(() => {
      this.#extended = undefined;
      this.#deps.clock.after("scheduler.step", 0, () => this.#pump());
    });
  }

  /** Retries a Pod with backoff after an error, because the Pod must not block the other Pods. */
  #notDecided(pod: QueuedPod, error: unknown): void {
    if (error instanceof AssertionError) {
      // The cache may be inconsistent, so the error is left to the owner of the process.
      this.#pumping = false;
      throw error;
    }
    this.#cache.forget(pod.info.uid);
    this.#queue.failed(pod, 0);
    this.#noteAttempt(pod, "error");
    const stack = error instanceof Error ? error.stack : String(error);
    this.#deps.log.error("a pod could not be decided", { pod: pod.info.key, error: stack });
  }

  #scheduleOne(pod: QueuedPod): void {
    this.#decisions++;
    this.#ageLater();
    const { decider } = this.#profileOf(pod.info);
    const decision = decider.decide(pod.info);
    this.#deps.metrics?.decided(this.#deps.clock.monotonicMs() - pod.poppedMs);
    if (decision.kind === "node") return this.#placeOne(pod, decision.nodeName);
    const { error, slots } = decision;
    this.#refuseOne(pod, error, this.#preemptor.run(pod.info, error, slots));
  }

  /** `gang` undefined: the last gang. @returns the number of Pods in the decision, or `sliceMax` at the end of a turn. */
  #scheduleGang(gang: Gang | undefined, pod: QueuedPod): number {
    this.#ageLater();
    if (this.#gangs.deciding === undefined && gang !== undefined) this.#gangs.begin(gang, pod);
    const count = this.#gangs.goOn();
    this.#decisions += count ?? 0;
    return count ?? sliceMax;
  }

  /** Never rejects. The Pod may have been deleted or replaced when the extenders have answered. */
  async #scheduleExtended(pod: QueuedPod, extenders: Extenders): Promise<void> {
    const { info } = pod;
    const isCurrent = (): boolean =>
      this.#running && this.#queue.isUnderDecision(pod) && pod.info === info;
    this.#decisions++;
    this.#ageLater();
    const { decider } = this.#profileOf(info);
    const { signal } = this.#stopped;
    const events = this.#events;
    try {
      const decision = await decider.decideExtended(info, extenders, signal);
      if (!isCurrent()) return;
      this.#deps.metrics?.decided(this.#deps.clock.monotonicMs() - pod.poppedMs);
      if (decision.kind === "outdated") return this.#queue.failed(pod);
      if (decision.kind === "node") return this.#placeOne(pod, decision.nodeName);
      const { error, slots } = decision;
      const asked = { extenders, signal };
      const found = await this.#preemptor.findExtended(info, error, slots, asked);
      if (!isCurrent()) return;
      const isOutdated = this.#events !== events;
      this.#refuseOne(pod, error, this.#preemptor.carryOut(info, found), isOutdated);
    } catch (error) {
      if (isCurrent()) this.#extenderFailed(pod, error);
    }
  }

  /** As upstream, treats a failed extender as an error of the scheduler, not of the Pod, which is retried with backoff. */
  #extenderFailed(pod: QueuedPod, error: unknown): void {
    if (error instanceof AssertionError) return this.#notDecided(pod, error);
    const message = error instanceof Error ? error.message : String(error);
    const { events } = this.#profileOf(pod.info);
    this.#queue.failed(pod);
    this.#noteAttempt(pod, "error");
    events.event(pod.info.pod, "Warning", "FailedScheduling", message);
    this.#conditions.write(pod.info.pod, { reason: "SchedulerError", message });
  }

  /** `isOutdated`: the cluster has changed since the decision began, and the change might help. */
  #refuseOne(pod: QueuedPod, error: FitError, preempted: Preempted, isOutdated = false): void {
    const { decider } = this.#profileOf(pod.info);
    const postFiltered = error.whole === undefined ? decider.postFilter(pod.info) : "";
    const after = [postFiltered, preempted.text].filter((t) => t !== "").join(", ");
    const text = [fitErrorText(error), after].filter((t) => t !== "").join(" ");
    const { nominatedNodeName } = preempted;
    const verdict = { text, plugins: error.plugins, ...given({ nominatedNodeName }) };
    this.#reject(pod, verdict, isOutdated);
  }

  #reject(
    pod: QueuedPod,
    { nominatedNodeName, plugins, text }: MemberVerdict,
    isOutdated = false,
  ): void {
    this.#unschedulable++;
    const { decider, events } = this.#profileOf(pod.info);
    const signature = `${schedulerNameOf(pod.info.pod)}|${decider.signatureOf(pod.info)}`;
    if (isOutdated) this.#queue.failed(pod);
    else this.#queue.refused(pod, plugins, signature);
    events.event(pod.info.pod, "Warning", "FailedScheduling", text);
    this.#noteAttempt(pod, "unschedulable");
    this.#conditions.write(pod.info.pod, {
      reason: "Unschedulable",
      message: text,
      ...given({ nominatedNodeName }),
    });
  }

  #ageLater(): void {
    this.#aging ??= this.#deps.clock.after("scheduler.forget", forgetMs, () => {
      this.#aging = undefined;
      const { counts } = this.#cache;
      counts.age();
      let left = counts.size;
      for (const { decider } of this.#profiles.values()) left += decider.age();
      if (left > 0) this.#ageLater();
    });
  }

  #placeOne(pod: QueuedPod, nodeName: string): void {
    if (!this.#binder.canPrepare) return this.#queue.failed(pod);
    const { decider, metrics } = this.#profileOf(pod.info);
    const beganMs = this.#deps.clock.monotonicMs();
    const reservations = decider.reserve(pod.info, nodeName);
    metrics?.ran("Reserve", "Success", this.#deps.clock.monotonicMs() - beganMs);
    this.#cache.assume(pod.info, nodeName);
    this.#preemptor.dropNomination(pod.info.uid);
    this.#conditions.cancel(pod.info.uid);
    this.#binder.bind(pod, nodeName, reservations);
  }
}

function sameAllocatable(a: Node, b: Node): boolean {
  return jsonEqual(a.status?.allocatable, b.status?.allocatable);
}
