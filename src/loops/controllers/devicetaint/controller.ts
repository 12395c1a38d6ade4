/**
 * Device taint eviction: pods whose allocated devices have a NoExecute taint that their claim does not tolerate are
 * deleted, at once or when the tolerationSeconds are over. A waiting eviction is cancelled when the taint goes.
 *
 *   pool:DRIVER/POOL  taints of a pool's devices changed ─► keys of the pods that use one of them, or are waiting
 *   pod:KEY           taints of the pod's devices ─► nothing, waits, or is due ─► EvictionLine ─► evicted
 *
 * Bounds one recorded start per waiting pod, dropped with the pod, the taint, or the claim; a pool is read once for
 *        changes of slices that come together.
 * After  k/k pkg/controller/devicetainteviction. DRADeviceTaintRules and DRAWorkloadResourceClaims are off in 1.36: no
 *        rules, no PodGroups. Unlike upstream, tolerationSeconds beyond 292 years tolerate for good: in Go the sum
 *        overflows, and the pod is evicted at once.
 */
import type { Pod, ResourceClaim, ResourceSlice } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { usesClaims } from "#api/pods/resource-claims.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource, watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { EvictionLine } from "../framework/eviction-line.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { evictingTaints, podDueMs, type DeviceView, type EvictingTaints } from "./tolerance.ts";

export const deviceTaintEvictionRole: ControllerRole = {
  account: "device-taint-eviction-controller",
  rules: [
    "delete,get,list,watch | core | pods",
    "patch,update | core | pods/status",
    "read | resource.k8s.io | resourceclaims",
    "read | resource.k8s.io | resourceslices",
    "read | resource.k8s.io | deviceclasses",
    "events",
  ],
};

const poolIndex = "devicetaint.pool";

export class DeviceTaintEvictionController implements KeyOptions {
  readonly name = "device-taint-eviction-controller";
  readonly workers = 8;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<ResourceClaim>;
  readonly #slices: Informer<ResourceSlice>;
  readonly #line: EvictionLine;
  /** Pods that a pass over a pool found. */
  readonly #found = new KeySource();
  /** By pool, as read last; dropped when the taints of one of its slices change. Pools without slices have no entry. */
  readonly #taints = new Map<string, EvictingTaints>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const { informers } = deps;
    this.#line = new EvictionLine(deps);
    this.#pods = informers.informer<Pod>(refs.pods);
    this.#claims = informers.informer<ResourceClaim>(refs.resourceclaims);
    this.#slices = informers.informer<ResourceSlice>(refs.resourceslices);
    this.#claims.addIndex(poolIndex, poolsOfClaim);
    this.#slices.addIndex(poolIndex, ({ spec }) => [poolKey(spec.driver, spec.pool.name)]);
    this.sources = [
      watch(this.#pods, (pod) => `pod:${keyOf(pod)}`, { only: usesClaims, changed: hasOtherView }),
      watch(this.#claims, consumersOf, { changed: hasOtherUse }),
      watch(this.#slices, (slice) => this.#keyOfChanged(slice), {
        changed: hasOtherTaints,
        sizeOf: (key) => this.#sizeOf(key.slice("pool:".length)),
      }),
      this.#found,
      this.#line.granted,
    ];
  }

  async reconcile({ key }: KeyRequest): Promise<ReconcileResult> {
    const at = key.indexOf(":");
    const object = key.slice(at + 1);
    if (key.startsWith("pool:")) return this.#syncPool(object);
    const pod = this.#pods.getByKey(object);
    const isGoing = pod?.metadata?.deletionTimestamp !== undefined;
    if (pod === undefined || isGoing) return this.#line.leave(key);
    // When the taint was first seen, for taints without timeAdded.
    const sinceMs = this.#line.sinceMs(key, pod);
    const dueMs = podDueMs(pod, this.#viewFor(pod), sinceMs);
    if (dueMs === undefined) return this.#cancel(key, pod);
    this.#line.wait(key, pod, sinceMs);
    const waitMs = dueMs - this.#deps.clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const isGranted = this.#line.isGranted(key, pod.metadata?.namespace ?? "");
    if (isGranted) await this.#evict(key, pod, dueMs);
  }

  #keyOfChanged({ spec }: ResourceSlice): string {
    const pool = poolKey(spec.driver, spec.pool.name);
    this.#taints.delete(pool);
    return `pool:${pool}`;
  }

  #sizeOf(pool: string): number {
    return this.#slices.countByIndex(poolIndex, pool) + this.#claims.countByIndex(poolIndex, pool);
  }

  /** Wakes the pods of claims that use a tainted device, and those whose eviction may have to be cancelled. */
  #syncPool(pool: string): undefined {
    const taints = this.#taintsOf(pool);
    for (const claim of this.#claims.byIndex(poolIndex, pool)) {
      const isTainted = resultsOf(claim).some(
        (result) => poolKey(result.driver, result.pool) === pool && taints.has(result.device),
      );
      for (const key of consumersOf(claim))
        if (isTainted || this.#line.isWaiting(key)) this.#found.add(key);
    }
  }

  #taintsOf(pool: string): EvictingTaints {
    const known = this.#taints.get(pool);
    if (known !== undefined) return known;
    const slices = this.#slices.byIndex(poolIndex, pool);
    const taints = evictingTaints(slices);
    if (slices.length > 0) this.#taints.set(pool, taints);
    return taints;
  }

  #viewFor(pod: Pod): DeviceView {
    return {
      claim: (name) => this.#claims.get(pod.metadata?.namespace ?? "", name),
      taintsOf: ({ driver, pool, device }) =>
        this.#taintsOf(poolKey(driver, pool)).get(device) ?? [],
    };
  }

  #cancel(key: string, pod: Pod): undefined {
    if (!this.#line.isWaiting(key)) return;
    this.#line.leave(key);
    this.#deps.recorder.event(pod, "Normal", eventReason, "Cancelling deletion");
  }

  async #evict(key: string, pod: Pod, dueMs: number): Promise<void> {
    this.#deps.recorder.event(pod, "Normal", eventReason, "Marking for deletion");
    const isDeleted = await this.#line.evict(pod, disruption);
    if (isDeleted) this.#deps.metrics?.deviceTaintEvicted(this.#deps.clock.nowMs() - dueMs);
    this.#line.leave(key);
  }
}

/** Names of drivers have no slash. */
function poolKey(driver: string, pool: string): string {
  return `${driver}/${pool}`;
}

function resultsOf({ status }: ResourceClaim) {
  return status?.allocation?.devices?.results ?? [];
}

function poolsOfClaim(claim: ResourceClaim): readonly string[] {
  return [...new Set(resultsOf(claim).map(({ driver, pool }) => poolKey(driver, pool)))];
}

/** Keys of the pods that the claim is reserved for. */
function consumersOf({ metadata, status }: ResourceClaim): readonly string[] {
  return (status?.reservedFor ?? [])
    .filter(({ apiGroup = "", resource }) => apiGroup === "" && resource === "pods")
    .map(({ name }) => `pod:${metadata?.namespace ?? ""}/${name}`);
}

function hasOtherUse({ status: old }: ResourceClaim, { status }: ResourceClaim): boolean {
  return !jsonEqual([old?.allocation, old?.reservedFor], [status?.allocation, status?.reservedFor]);
}

function hasOtherTaints(old: ResourceSlice, slice: ResourceSlice): boolean {
  return !jsonEqual(taintView(old), taintView(slice));
}

function taintView(slice: ResourceSlice): unknown {
  const { driver, pool } = slice.spec;
  return [driver, pool.name, pool.generation, [...evictingTaints([slice])]];
}

function hasOtherView(old: Pod, pod: Pod): boolean {
  return !jsonEqual(podView(old), podView(pod));
}

function podView({ metadata, spec, status }: Pod): unknown {
  const { uid, deletionTimestamp } = metadata ?? {};
  return [uid, deletionTimestamp, spec?.nodeName, status?.resourceClaimStatuses];
}

const eventReason = "DeviceTaintManagerEviction";

const disruption = {
  reason: "DeletionByDeviceTaintManager",
  message: "Device Taint manager: deleting due to NoExecute taint",
};
