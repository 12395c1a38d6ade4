/**
 * The pods of all hollow nodes of this process: one watch for all of them, one queue, one worker pool.
 *
 * Holds  a pod has one record while it is on one of our nodes; its address is taken once and freed with
 *        the record. At most `podWritesInFlightMax` writes are in flight.
 * Cost   a pod without further steps keeps some hundred bytes: its object is dropped.
 */
import type { Pod, PodStatus } from "#api/gen/types.ts";
import type { WatchedEvent } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { createEventRecorder } from "#client/events.ts";
import type { ReflectorSink } from "#client/reflector.ts";
import { runReflector } from "#client/reflector.ts";
import { isConflict, isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import type { HollowNode } from "./hollow-node.ts";
import type { HollowDeps } from "./nodes.ts";
import type { HollowOptions } from "./options.ts";
import type { PodRun } from "./pod-status.ts";
import { adoptRun, planPod } from "./pod-plan.ts";
import { statusPatch } from "./pod-status.ts";
import { programOf } from "./program.ts";

interface PodRecord {
  readonly node: HollowNode;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The latest object; dropped when the pod has no further steps. */
  pod: Pod | undefined;
  run: PodRun;
  readonly gated: boolean;
  /** The address is from the node's block, not the host's own. */
  ownsAddress: boolean;
}

const podsRef = { group: "", version: "v1", resource: "pods" } as const;
/** A full address block is looked at again after this time. */
const fullBlockMs = 1_000;
const retry = { retryFirstMs: 50, retryMostMs: 10_000 };

export class HollowPods implements ReflectorSink<Pod> {
  readonly #deps: HollowDeps;
  readonly #options: HollowOptions;
  readonly #nodes: ReadonlyMap<string, HollowNode>;
  readonly #records = new Map<string, PodRecord>();
  readonly #queue: WorkQueue;
  readonly #events: EventRecorder | undefined;
  started = 0;
  stopped = 0;

  constructor(deps: HollowDeps, options: HollowOptions, nodes: ReadonlyMap<string, HollowNode>) {
    this.#deps = deps;
    this.#options = options;
    this.#nodes = nodes;
    this.#queue = new WorkQueue(deps, { name: "hollow.pods", ...retry });
    this.#events = options.podEvents
      ? createEventRecorder(deps, { component: "kubelet", limitPerObject: false })
      : undefined;
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
    await this.#events?.close();
  }

  replace(items: readonly Pod[]): void {
    // Addresses in use are marked before any new one is given.
    for (const pod of items) this.#nodeOf(pod)?.addresses.adopt(pod.status?.podIP ?? "");
    const listed = new Set<string>();
    for (const pod of items) {
      listed.add(pod.metadata?.uid ?? "");
      this.#seen(pod);
    }
    for (const uid of this.#records.keys()) if (!listed.has(uid)) this.#drop(uid);
  }

  apply(events: readonly WatchedEvent<Pod>[]): void {
    for (const { type, object } of events) {
      if (type === "DELETED") this.#drop(object.metadata?.uid ?? "");
      else if (type !== "BOOKMARK") this.#seen(object);
    }
  }

  #nodeOf(pod: Pod): HollowNode | undefined {
    return this.#nodes.get(pod.spec?.nodeName ?? "");
  }

  #seen(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const known = this.#records.get(uid);
    if (known === undefined) return this.#accept(uid, pod);
    // At rest only deletion moves it, and readiness gates, which others open.
    const stirred = pod.metadata?.deletionTimestamp !== undefined || known.gated;
    if (known.pod === undefined && !stirred) return;
    known.pod = pod;
    if (stirred) this.#queue.add(uid);
  }

  #accept(uid: string, pod: Pod): void {
    const node = this.#nodeOf(pod);
    if (node === undefined) return;
    const { namespace = "", name = "" } = pod.metadata ?? {};
    const address = pod.status?.podIP ?? "";
    if (address !== "") node.addresses.adopt(address);
    this.#records.set(uid, {
      node,
      namespace,
      name,
      uid,
      pod,
      run: adoptRun(pod, address, this.#deps.clock.nowMs()),
      gated: (pod.spec?.readinessGates ?? []).length > 0,
      ownsAddress: address !== "" && address !== node.address,
    });
    this.#queue.add(uid);
  }

  #drop(uid: string): void {
    const record = this.#records.get(uid);
    if (record === undefined) return;
    this.#records.delete(uid);
    this.#queue.forget(uid);
    this.stopped++;
    if (record.ownsAddress) record.node.addresses.free(record.run.address);
  }

  async #reconcile(uid: string): Promise<ReconcileResult> {
    for (;;) {
      const record = this.#records.get(uid);
      const pod = record?.pod;
      if (record === undefined || pod === undefined) return;
      if (!this.#giveAddress(record, pod)) return { requeueAfterMs: fullBlockMs };
      const step = planPod({
        pod,
        run: record.run,
        program: programOf(pod, this.#options),
        hostAddress: record.node.address,
        nowMs: this.#deps.clock.nowMs(),
      });
      if (step.kind === "wait") {
        record.run = step.run;
        if (step.afterMs !== undefined) return { requeueAfterMs: step.afterMs };
        // A newer object may have come meanwhile; it is the queue's to bring it.
        if (record.pod === pod) record.pod = undefined;
        return;
      }
      if (step.kind === "delete") return this.#delete(record);
      if (!(await this.#write(record, pod, step.status))) return;
      this.#told(record, pod, step.run);
      record.run = step.run;
    }
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

  /** @returns false when the pod is no longer the one we know. */
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
      // Unless the watch was faster, this is the newest state.
      if (record.pod === pod) record.pod = written;
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
    // With finalizers the object stays; it is at rest until they are gone.
    record.pod = undefined;
  }

  #told(record: PodRecord, pod: Pod, run: PodRun): void {
    if (run.stage !== "running" || record.run.stage === "running") return;
    this.started++;
    if (this.#events === undefined) return;
    for (const container of pod.spec?.containers ?? []) {
      const text = `Container image "${container.image ?? ""}" already present on machine`;
      this.#events.event(pod, "Normal", "Pulled", text);
      this.#events.event(pod, "Normal", "Created", `Container created`);
      this.#events.event(pod, "Normal", "Started", `Container started`);
    }
  }
}
