/**
 * Registers hollow nodes and keeps them alive: leases every ten seconds, status every five minutes or
 * at once when another client has written that the node is not ready.
 *
 * Holds  requests in flight ≤ nodeWritesInFlightMax for statuses and as many for leases; a node never has
 *        two renewals in flight.
 */
import type { Lease, Node } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { Client, WatchedEvent } from "#client/client.ts";
import type { ReflectorSink } from "#client/reflector.ts";
import { runReflector } from "#client/reflector.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#client/api-errors.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { parseCidr } from "./addresses.ts";
import { isSilent, skewOf } from "./failure.ts";
import { failureAt, nextChangeMs } from "./failure-schedule.ts";
import type { HollowNode } from "./hollow-node.ts";
import {
  hollowMark,
  leaseNamespace,
  leaseObject,
  nodeConditions,
  nodeObject,
  nodeStatus,
  zoneOf,
} from "./node-object.ts";
import type { HollowOptions } from "./options.ts";
import { Wheel } from "./wheel.ts";

export interface HollowDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Stages that take precedence over the built-in behaviour of hollow nodes and pods. Absent: there are none. */
  readonly staging?: HollowStaging;
}

/** Receives the objects of the two watches, after this package has. */
interface HollowStaging {
  readonly nodes: ReflectorSink<KubeObject>;
  readonly pods: ReflectorSink<KubeObject>;
  /** Whether stages write the statuses of this kind. */
  has(kind: "Node" | "Pod"): boolean;
}

const nodesRef = { group: "", version: "v1", resource: "nodes" } as const;
const leasesRef = { group: "coordination.k8s.io", version: "v1", resource: "leases" } as const;
/** Maximum delay of the timer; a later change needs another timer. */
const longestMs = 86_400_000;
/** A kubelet retries after 0.2 s, doubling to 7 s. */
const retry = { retryFirstMs: 200, retryMostMs: 7_000 };

export class HollowNodes implements ReflectorSink<Node> {
  readonly #deps: HollowDeps;
  readonly #options: HollowOptions;
  readonly #nodes: ReadonlyMap<string, HollowNode>;
  readonly #statuses: WorkQueue;
  readonly #leases: WorkQueue;
  readonly #wheel: Wheel<HollowNode>;
  /** Resolves when every node is registered; the write of its first lease has started then. */
  readonly registered: Promise<void>;
  #resolveRegistered: () => void = () => {};
  #unregistered: number;
  readonly #startMs: number;
  renewals = 0;

  constructor(deps: HollowDeps, options: HollowOptions, nodes: ReadonlyMap<string, HollowNode>) {
    this.#deps = deps;
    this.#options = options;
    this.#nodes = nodes;
    this.#unregistered = nodes.size;
    this.#startMs = deps.clock.monotonicMs();
    this.#statuses = new WorkQueue(deps, { name: "hollow.nodes", ...retry });
    this.#leases = new WorkQueue(deps, { name: "hollow.leases", ...retry });
    const turn = (node: HollowNode): void => this.#turn(node);
    this.#wheel = new Wheel(deps, { roundMs: options.heartbeatMs, turn });
    this.registered = new Promise((resolve) => {
      this.#resolveRegistered = resolve;
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const name of this.#nodes.keys()) this.#statuses.add(name);
    if (this.#unregistered === 0) this.#resolveRegistered();
    this.#wheel.start();
    this.#follow(signal);
    signal.addEventListener("abort", () => this.#wheel.stop(), { once: true });
    if (signal.aborted) this.#wheel.stop();
    const { nodeWritesInFlightMax: max } = this.#options;
    const selection = { ref: nodesRef, labelSelector: `${hollowMark}=true` };
    await Promise.all([
      runWorkers(this.#statuses, max, (name) => this.#reconcile(name), signal),
      runWorkers(this.#leases, max, (name) => this.#renew(name), signal),
      runReflector<Node>(this.#deps, selection, this, signal),
    ]);
  }

  /** Starts a node that was added to `nodes` after the start. */
  add(node: HollowNode): void {
    this.#unregistered++;
    this.#statuses.add(node.name);
  }

  /** Stops the leases and statuses of a node that was removed from `nodes`. */
  delete(node: HollowNode): void {
    node.gone = true;
    this.#wheel.delete(node);
  }

  replace(items: readonly Node[]): void {
    for (const item of items) this.#seen(item);
    this.#deps.staging?.nodes.replace(items, "");
  }

  apply(events: readonly WatchedEvent<Node>[]): void {
    for (const { type, object } of events) {
      if (type === "DELETED") this.#deleted(object);
      else if (type !== "BOOKMARK") this.#seen(object);
    }
    this.#deps.staging?.nodes.apply(events);
  }

  /** Applies a Node object. As a kubelet, a node that the control plane has given up on reports at once. */
  #seen(object: Node): void {
    const node = this.#nodes.get(object.metadata?.name ?? "");
    const known = node?.failure?.kind;
    node?.seen(object);
    if (node === undefined || node.uid === "") return;
    if (node.failure?.kind !== known) this.#statuses.add(node.name);
    const ready = object.status?.conditions?.find((condition) => condition.type === "Ready");
    if (ready?.status !== "True") this.#statuses.add(node.name);
  }

  #deleted(object: Node): void {
    const node = this.#nodes.get(object.metadata?.name ?? "");
    if (node === undefined || node.uid !== object.metadata?.uid) return;
    node.gone = true;
    this.#wheel.delete(node);
    this.#deps.log.info("hollow node was deleted", { node: node.name });
  }

  /** Applies the failures that are scheduled now, and sets a timer for the next change. */
  #follow(signal: AbortSignal): void {
    const { failures } = this.#options;
    const { clock } = this.#deps;
    if (failures.length === 0 || signal.aborted) return;
    const elapsedMs = clock.monotonicMs() - this.#startMs;
    for (const node of this.#nodes.values()) {
      const { index } = node;
      const zone = zoneOf(index, this.#options);
      const failure = failureAt(failures, { index, zone }, elapsedMs);
      if (failure === node.scheduled) continue;
      node.scheduled = failure;
      this.#statuses.add(node.name);
    }
    const leftMs = nextChangeMs(failures, elapsedMs) - elapsedMs;
    if (leftMs === Infinity) return;
    const timer = clock.after("hollow.failures", Math.min(longestMs, leftMs), () => {
      this.#follow(signal);
    });
    signal.addEventListener("abort", () => timer.cancel(), { once: true });
  }

  #isSilent(node: HollowNode): boolean {
    return isSilent(node.failure, this.#deps.clock.nowMs());
  }

  #turn(node: HollowNode): void {
    if (this.#isSilent(node)) {
      node.wasSilent = true;
      return;
    }
    if (node.wasSilent) {
      node.wasSilent = false;
      this.#statuses.add(node.name);
    }
    if (!this.#isLate(node)) this.#leases.add(node.name);
    if (--node.beatsToStatus > 0) return;
    node.beatsToStatus = this.#statusBeats();
    this.#statuses.add(node.name);
  }

  /** Whether a slow node skips this heartbeat. */
  #isLate({ failure, index }: HollowNode): boolean {
    if (failure?.kind !== "slow") return false;
    const beat = Math.floor(this.#deps.clock.nowMs() / this.#options.heartbeatMs);
    return (beat + index) % failure.beats !== 0;
  }

  #statusBeats(): number {
    return Math.max(1, Math.round(this.#options.statusMs / this.#options.heartbeatMs));
  }

  async #reconcile(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined || node.gone) return;
    if (node.uid === "") await this.#register(node);
    else if (this.#isSilent(node)) return;
    else if (!this.#isStaged()) await this.#writeStatus(node);
  }

  #isStaged(): boolean {
    return this.#deps.staging?.has("Node") ?? false;
  }

  async #register(node: HollowNode): Promise<void> {
    const { client, clock, random } = this.#deps;
    let object: Node;
    try {
      const made = nodeObject(node.facts, node.options, clock.nowMs());
      const first = this.#isStaged() ? withoutConditions(made) : made;
      object = await client.create<Node>(nodesRef, "", first);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      object = await client.get<Node>(nodesRef, "", node.name);
      const block = parseCidr(object.spec?.podCIDR ?? "");
      if (block !== undefined) node.useBlock(block);
      if (!this.#isStaged()) await this.#writeStatus(node, object);
    }
    node.uid = object.metadata?.uid ?? "";
    node.beatsToStatus = 1 + random.below(this.#statusBeats());
    this.#wheel.add(node);
    this.#leases.add(node.name);
    if (--this.#unregistered === 0) this.#resolveRegistered();
  }

  async #writeStatus(node: HollowNode, known?: Node): Promise<void> {
    const { client, clock } = this.#deps;
    const { failure } = node;
    const nowMs = clock.nowMs() + skewOf(failure);
    try {
      const object = known ?? (await client.get<Node>(nodesRef, "", node.name));
      const hasDiskPressure = failure?.kind === "disk-pressure";
      const conditions = nodeConditions(nowMs, object.status?.conditions, hasDiskPressure);
      const { capacity, allocatable, nodeInfo } = nodeStatus(node.facts, node.options, nowMs);
      const whole = known === undefined ? {} : { capacity, allocatable, nodeInfo };
      const patch = { status: { conditions, ...whole } };
      const options = { subresource: "status" };
      await client.patch(nodesRef, "", node.name, "strategic", patch, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      node.gone = true;
      this.#wheel.delete(node);
    }
  }

  async #renew(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined || node.gone || this.#isSilent(node)) return;
    const { client, clock } = this.#deps;
    try {
      const known = node.leaseVersion === "" ? undefined : node.leaseVersion;
      const nowMs = clock.nowMs() + skewOf(node.failure);
      const lease = leaseObject(name, node.uid, nowMs, known);
      const written =
        known === undefined
          ? await client.create<Lease>(leasesRef, leaseNamespace, lease)
          : await client.update<Lease>(leasesRef, leaseNamespace, lease);
      node.leaseVersion = written.metadata?.resourceVersion ?? "";
      this.renewals++;
    } catch (error) {
      if (isNotFound(error)) node.leaseVersion = "";
      else if (isConflict(error) || isAlreadyExists(error)) {
        const lease = await client.get<Lease>(leasesRef, leaseNamespace, name);
        node.leaseVersion = lease.metadata?.resourceVersion ?? "";
      }
      throw error; // tried again with what was learned
    }
  }
}

/** Removes the conditions, because a stage decides when the node is ready. */
function withoutConditions({ status, ...node }: Node): Node {
  const { conditions: _, ...rest } = status ?? {};
  return { ...node, status: rest };
}
