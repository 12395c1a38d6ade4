/**
 * Computes when a pod must go because of NoExecute taints of the devices of its claims. Pure.
 *
 * After  k/k pkg/controller/devicetainteviction (claimEvictionTime, podEvictionTime);
 *        k8s.io/dynamic-resource-allocation/resourceclaim (ToleratesTaint).
 */
import { clampToSafe } from "#api/go/go-integer.ts";
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceToleration,
  Pod,
  ResourceClaim,
  ResourceSlice,
} from "#api/gen/types.ts";
import { claimOf, isReservedFor } from "#api/pods/resource-claims.ts";
import { notOwned } from "../resourceclaim/pod-claims.ts";

/** NoExecute taints by device, of devices that have some. */
export type EvictingTaints = ReadonlyMap<string, readonly DeviceTaint[]>;

/** `slices`: of one pool. Those of an earlier generation than the newest are out of date and do not count. */
export function evictingTaints(slices: readonly ResourceSlice[]): EvictingTaints {
  const newest = slices.reduce<number | bigint>(
    (most, { spec }) => (spec.pool.generation > most ? spec.pool.generation : most),
    Number.NEGATIVE_INFINITY,
  );
  const byDevice = new Map<string, readonly DeviceTaint[]>();
  for (const { spec } of slices) {
    if (spec.pool.generation < newest) continue;
    for (const { name, taints = [] } of spec.devices ?? []) {
      const evicting = taints.filter(({ effect }) => effect === "NoExecute");
      if (evicting.length > 0 && !byDevice.has(name)) byDevice.set(name, evicting);
    }
  }
  return byDevice;
}

export interface DeviceView {
  /** The claim of this name in the pod's namespace. */
  claim(name: string): ResourceClaim | undefined;
  /** NoExecute taints of an allocated device. */
  taintsOf(result: DeviceRequestAllocationResult): readonly DeviceTaint[];
}

/**
 * The time in ms since 1970 at which the pod must go: the soonest of all its claims; undefined: never. A taint without
 * timeAdded counts from `sinceMs`.
 */
export function podDueMs(pod: Pod, view: DeviceView, sinceMs: number): number | undefined {
  if ((pod.spec?.nodeName ?? "") === "") return undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  for (const claim of usedClaims(pod, view)) {
    for (const result of claim.status?.allocation?.devices?.results ?? []) {
      for (const taint of view.taintsOf(result))
        dueMs = Math.min(dueMs, taintDueMs(taint, result.tolerations ?? [], sinceMs));
    }
  }
  return Number.isFinite(dueMs) ? dueMs : undefined;
}

/** Claims that the pod names, that are its own where they come from a template, and that are reserved for it. */
function usedClaims(pod: Pod, view: DeviceView): readonly ResourceClaim[] {
  return (pod.spec?.resourceClaims ?? []).flatMap((entry) => {
    const named = claimOf(pod, entry);
    const claim = named.kind === "named" ? view.claim(named.name) : undefined;
    if (named.kind !== "named" || claim === undefined) return [];
    if (named.isGenerated && notOwned(pod, claim) !== undefined) return [];
    return isReservedFor(pod, claim) ? [claim] : [];
  });
}

/**
 * One toleration without tolerationSeconds tolerates for good; otherwise the shortest counts. As upstream, a toleration
 * of all effects (the field is empty) lets the scheduler place the pod, and does not protect it from eviction.
 */
function taintDueMs(
  taint: DeviceTaint,
  tolerations: readonly DeviceToleration[],
  sinceMs: number,
): number {
  const addedMs = Date.parse(taint.timeAdded ?? "");
  const startMs = Number.isNaN(addedMs) ? sinceMs : addedMs;
  const matching = tolerations.filter((one) => one.effect === "NoExecute" && tolerates(one, taint));
  if (matching.length === 0) return startMs;
  let leastSeconds = Number.POSITIVE_INFINITY;
  for (const { tolerationSeconds } of matching) {
    if (tolerationSeconds === undefined) return Number.POSITIVE_INFINITY;
    leastSeconds = Math.min(leastSeconds, Math.max(0, clampToSafe(tolerationSeconds)));
  }
  return startMs + leastSeconds * 1000;
}

/** An empty key stands for all keys. The effects are compared by the caller. */
function tolerates(toleration: DeviceToleration, taint: DeviceTaint): boolean {
  const { key = "", operator = "Equal", value = "" } = toleration;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && value === (taint.value ?? "");
}
