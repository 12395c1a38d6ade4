/**
 * The pods of all hollow nodes of this process: one watch for all of them, one queue, one worker pool.
 *
 * Holds  a pod has one record while it is on one of our nodes; its address is taken once and freed with
 *        the record. At most `podWritesInFlightMax` writes are in flight.
 * Cost   a pod without further steps keeps some hundred bytes: its object is dropped.
 */
import type { Pod, PodStatus } from "#api/gen/types.ts";
import { usesClaims } from "#api/pods/resource-claims.ts";
import { given } from "#base/given.ts";
import type { WatchedEvent } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { createEventRecorder } from "#client/events.ts";
import type { ReflectorSink } from "#client/reflector.ts";
import { runReflector } from "#client/reflector.ts";
import { isConflict, isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import { prepareClaims } from "./device-driver.ts";
import { isSilent } from "./failure.ts";
import type { HollowNode } from "./hollow-node.ts";
import type { HollowDeps } from "./nodes.ts";
import type { HollowOptions } from "./options.ts";
import type { PlanFacts, PodEvent } from "./pod-plan.ts";
import { planPod } from "./pod-plan.ts";
import type { Place } from "./pod-room.ts";
import { PodRoom } from "./pod-room.ts";
import type { PodRun } from "./pod-run.ts";
import { adoptRun, hasEnded } from "./pod-run.ts";
import { statusPatch } from "./pod-status.ts";
import { programOf } from "./program.ts";

interface PodRecord extends Place {
  readonly namespace: string;
  readonly name: string;
  /** The latest object; dropped when the pod has no further steps. */
  pod: Pod | undefined;
  run: PodRun;
  readonly gated: boolean;
  /** Newest known resourceVersion as a number; the watch may deliver older objects later. */
  version: number;
  /** When the resource claims are prepared or checked again. Absent: never checked. */
  claims?: { readonly isPreparing: boolean; readonly untilMs: number };
  /** Whether the address is from the node's block, not the host's own address. */
  ownsAddress: boolean;
}

const podsRef = { group: "", version: "v1", resource: "pods" } as const;
/** Interval at which pods of a silent node are checked again. */
const silentMs = 2_000;
/** Interval at which a full address block is checked again. */
const fullBlockMs = 1_000;
/** Interval of further attempts to prepare claims; a kubelet waits some seconds as well. */
const unpreparedMs = 2_000;
const retry = { retryFirstMs: 50, retryMostMs: 10_000 };

export class HollowPods implements ReflectorSink<Pod> {
  readonly #deps: HollowDeps;
  readonly #options: HollowOptions;
  readonly #nodes: ReadonlyMap<string, HollowNode>;
  readonly #records = new Map<string, PodRecord>();
  readonly #queue: WorkQueue;
  readonly #events: EventRecorder;
  readonly #room: PodRoom;
  started = 0;
  stopped = 0;

  constructor(deps: HollowDeps, options: HollowOptions, nodes: ReadonlyMap<string, HollowNode>) {
    this.#deps = deps;
    this.#options = options;
    this.#nodes = nodes;
    this.#queue = new WorkQueue(deps, { name: "hollow.pods", ...retry });
    this.#events = createEventRecorder(deps, { component: "kubelet", limitPerObject: false });
    this.#room = new PodRoom(deps.client, (uid) => this.#queue.add(uid));
  }

  get count(): number {
    return this.#records.size;
  }

  async run(signal: AbortSignal): Promise<void> {
    const selection = { ref: podsRef, fieldSelector: "spec.nodeName!=" };
    await Promise.all([
      runWorkers(
        this.#queue,
        this.#options.podWritesInFlightMax,
        (uid) => this.#reconcile(uid),
        signal,
      ),
      runReflector<Pod>(this.#deps, selection, this, signal),
    ]);
    await this.#events.close();
  }

  replace(items: readonly Pod[]): void {
    // Marks all used addresses before a new address is assigned.
    for (const pod of items) this.#nodeOf(pod)?.addresses.adopt(pod.status?.podIP ?? "");
    const listed = new Set<string>();
    // As a kubelet after a restart, admits older pods first.
    for (const pod of items.toSorted(byCreation)) {
      const uid = pod.metadata?.uid ?? "";
      listed.add(uid);
      // A list is the present state, even when the store was restored to an earlier state.
      const known = this.#records.get(uid);
      if (known !== undefined) known.version = 0;
      this.#seen(pod);
    }
    for (const uid of this.#records.keys()) if (!listed.has(uid)) this.#drop(uid);
    this.#deps.staging?.pods.replace(items, "");
  }

  apply(events: readonly WatchedEvent<Pod>[]): void {
    for (const { type, object } of events) {
      if (type === "DELETED") this.#drop(object.metadata?.uid ?? "");
      else if (type !== "BOOKMARK") this.#seen(object);
    }
    this.#deps.staging?.pods.apply(events);
  }

  /** Returns the pod's address, assigned at the first call; "" for an unknown pod, or when the block is full. */
  addressOf(uid: string): string {
    const record = this.#records.get(uid);
    if (record === undefined) return "";
    if (record.run.address === "") {
      const address = record.node.addresses.take() ?? "";
      record.ownsAddress = address !== "";
      record.run = { ...record.run, address };
    }
    return record.run.address;
  }

  #nodeOf(pod: Pod): HollowNode | undefined {
    return this.#nodes.get(pod.spec?.nodeName ?? "");
  }

  #seen(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const known = this.#records.get(uid);
    if (known === undefined) return this.#accept(uid, pod);
    const version = versionOf(pod);
    if (version < known.version) return;
    known.version = version;
    if (hasEnded(pod)) this.#room.release(known);
    const isStirred = this.#isStirred(known, pod);
    if (known.pod === undefined && !isStirred) return;
    known.pod = pod;
    if (isStirred) this.#queue.add(uid);
  }

  /** Whether a pod at rest needs a step: deleted, with a newer spec or readiness gates, or ended by another client. */
  #isStirred({ run, gated }: PodRecord, pod: Pod): boolean {
    if (pod.metadata?.deletionTimestamp !== undefined || gated) return true;
    if (run.stage === "finished") return false;
    return (pod.metadata?.generation ?? 0) > run.observed || hasEnded(pod);
  }

  #accept(uid: string, pod: Pod): void {
    const node = this.#nodeOf(pod);
    if (node === undefined) return;
    const { namespace = "", name = "" } = pod.metadata ?? {};
    const address = pod.status?.podIP ?? "";
    if (address !== "") node.addresses.adopt(address);
    const record: PodRecord = {
      node,
      namespace,
      name,
      uid,
      pod,
      run: adoptRun(pod, address, this.#deps.clock.nowMs()),
      gated: (pod.spec?.readinessGates ?? []).length > 0,
      version: versionOf(pod),
      ownsAddress: address !== "" && address !== node.address,
      demand: undefined,
      isAdmitted: false,
    };
    this.#records.set(uid, record);
    const isOurs = pod.status?.startTime !== undefined && !hasEnded(pod);
    if (isOurs) this.#room.adopt(record, pod);
    this.#queue.add(uid);
  }

  #drop(uid: string): void {
    const record = this.#records.get(uid);
    if (record === undefined) return;
    this.#records.delete(uid);
    this.#queue.forget(uid);
    this.stopped++;
    this.#room.release(record);
    if (record.ownsAddress) record.node.addresses.free(record.run.address);
  }

  async #reconcile(uid: string): Promise<ReconcileResult> {
    for (;;) {
      const record = this.#records.get(uid);
      const pod = record?.pod;
      if (record === undefined || pod === undefined) return;
      if (isSilent(record.node.failure, this.#deps.clock.nowMs())) {
        return { requeueAfterMs: silentMs };
      }
      if (this.#deps.staging?.has("Pod") === true) return void (record.pod = undefined);
      const rejection = await this.#room.admit(record, pod);
      const heldMs = rejection === undefined ? await this.#prepare(record, pod) : 0;
      if (rejection === undefined && heldMs === 0 && !this.#giveAddress(record, pod)) {
        return { requeueAfterMs: fullBlockMs };
      }
      const facts = { ...this.#facts(record, pod), heldMs };
      const step = planPod(rejection === undefined ? facts : { ...facts, rejection });
      if (step.kind === "wait") {
        record.run = step.run;
        if (step.afterMs !== undefined) return { requeueAfterMs: step.afterMs };
        this.#rest(record, pod);
        return;
      }
      if (step.kind === "delete") return this.#delete(record);
      if (!(await this.#write(record, pod, step.status))) return;
      this.#countStart(record, pod, step.run);
      this.#tell(pod, step.events);
      record.run = step.run;
      if (step.run.stage === "finished") this.#room.release(record);
    }
  }

  /** @returns the time until the Pod's claims are checked again; 0: no claim keeps its containers from starting. */
  async #prepare(record: PodRecord, pod: Pod): Promise<number> {
    const hasClaims = usesClaims(pod) || pod.status?.extendedResourceClaimStatus !== undefined;
    if (!hasClaims || !isStarting(record.run) || hasEnded(pod)) return 0;
    if (pod.metadata?.deletionTimestamp !== undefined) return 0;
    const nowMs = this.#deps.clock.nowMs();
    const { claims } = record;
    if (claims !== undefined && nowMs < claims.untilMs) return claims.untilMs - nowMs;
    if (claims?.isPreparing === true) return 0;
    const { refusal, takesMs } = await prepareClaims(this.#deps.client, pod, this.#options.devices);
    const heldMs = refusal === undefined ? takesMs : Math.max(takesMs, unpreparedMs);
    record.claims = { isPreparing: refusal === undefined, untilMs: nowMs + heldMs };
    if (refusal !== undefined) {
      const reason = "FailedPrepareDynamicResources";
      this.#tell(pod, [{ type: "Warning", reason, message: refusal }]);
    }
    return heldMs;
  }

  #facts(record: PodRecord, pod: Pod): PlanFacts {
    const resize = this.#room.resize(record, pod, record.run);
    return {
      pod,
      run: record.run,
      program: programOf(pod, this.#options),
      hostAddress: record.node.address,
      nowMs: this.#deps.clock.nowMs(),
      images: this.#options.unpullable,
      ...given({ resize }),
    };
  }

  /** Drops the object, unless the queue brings a newer one or a deferred resize needs the object. */
  #rest(record: PodRecord, pod: Pod): void {
    if (record.pod === pod && record.run.resize === undefined) record.pod = undefined;
  }

  #giveAddress(record: PodRecord, pod: Pod): boolean {
    const { run, node } = record;
    if (run.address !== "" || run.stage === "finished") return true;
    if (pod.metadata?.deletionTimestamp !== undefined) return true;
    const own = pod.spec?.hostNetwork !== true;
    const address = own ? node.addresses.take() : node.address;
    if (address === undefined) return false;
    record.ownsAddress = own;
    record.run = { ...run, address };
    return true;
  }

  /** @returns false when the pod was deleted or replaced. */
  async #write(record: PodRecord, pod: Pod, status: Partial<PodStatus>): Promise<boolean> {
    const { namespace, name, uid } = record;
    const patch = { metadata: { uid }, status: statusPatch(pod, status) };
    const options = { subresource: "status" };
    try {
      const written = await this.#deps.client.patch<Pod>(
        podsRef,
        namespace,
        name,
        "strategic",
        patch,
        options,
      );
      const version = versionOf(written);
      // The written object is the newest state, unless the watch has already delivered a newer one.
      if (record.pod === pod || version > record.version) {
        record.pod = written;
        record.version = version;
      }
      return true;
    } catch (error) {
      if (isNotFound(error)) this.#drop(uid);
      else if (!isConflict(error)) throw error;
      return false;
    }
  }

  async #delete(record: PodRecord): Promise<void> {
    const { namespace, name, uid } = record;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    try {
      await this.#deps.client.delete(podsRef, namespace, name, options);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    // An object with finalizers remains; no steps are needed until they are removed.
    record.pod = undefined;
  }

  #countStart(record: PodRecord, pod: Pod, run: PodRun): void {
    if (run.stage !== "running" || record.run.stage === "running") return;
    this.started++;
    if (!this.#options.podEvents) return;
    for (const container of pod.spec?.containers ?? []) {
      const text = `Container image "${container.image ?? ""}" already present on machine`;
      this.#events.event(pod, "Normal", "Pulled", text);
      this.#events.event(pod, "Normal", "Created", `Container created`);
      this.#events.event(pod, "Normal", "Started", `Container started`);
    }
  }

  /** Sends events. Failures are always sent, because they are rare and backed off. */
  #tell(pod: Pod, events: readonly PodEvent[]): void {
    for (const { type, reason, message } of events) {
      this.#events.event({ apiVersion: "v1", kind: "Pod", ...pod }, type, reason, message);
    }
  }
}

/** Whether the pod has no sandbox yet: claims are prepared in this stage and stay prepared. */
function isStarting({ stage }: PodRun): boolean {
  return stage === "accepted" || stage === "creating";
}

/** NaN is neither older nor newer than a number, so an object with a non-numeric version counts as new. */
function versionOf(pod: Pod): number {
  return Number(pod.metadata?.resourceVersion ?? "");
}

function byCreation(a: Pod, b: Pod): number {
  const [first = "", second = ""] = [a, b].map(({ metadata }) => metadata?.creationTimestamp ?? "");
  return first < second ? -1 : first > second ? 1 : 0;
}
