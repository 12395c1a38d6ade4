/** Binding conditions: the conditions that a driver must report for a device before the Pod is bound. */
import type {
  AllocatedDeviceStatus,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from "#api/gen/types.ts";
import { bindingTimeoutMs } from "./claim-waiters.ts";

export function hasBindingConditions({ status }: ResourceClaim): boolean {
  return resultsOf(status).some(({ bindingConditions = [] }) => bindingConditions.length > 0);
}

/** Whether all binding conditions are true. @throws with upstream's text once a driver has reported a failure. */
export function isReady({ metadata, status }: ResourceClaim): boolean {
  if (status?.allocation === undefined) return false;
  for (const result of resultsOf(status)) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const device = (status.devices ?? []).find((one) => isOf(one, result));
    const conditions = device?.conditions ?? [];
    const failed = conditions.find(
      (one) => bindingFailureConditions.includes(one.type) && one.status === "True",
    );
    if (failed !== undefined) {
      const what = `claim=${metadata?.name ?? ""}, reason=${failed.reason}`;
      throw new Error(`device binding failed: ${what}, message="${failed.message}"`);
    }
    const isTrue = (type: string): boolean =>
      conditions.some((one) => one.type === type && one.status === "True");
    if (!bindingConditions.every(isTrue)) return false;
  }
  return true;
}

/** Whether an allocated claim has failed or missed its time limit, so that the Pod must be placed anew. */
export function isHopeless(claim: ResourceClaim, nowMs: number): boolean {
  try {
    if (isReady(claim)) return false;
  } catch {
    return true;
  }
  const since = claim.status?.allocation?.allocationTimestamp;
  if (since === undefined || !hasBindingConditions(claim)) return false;
  return Date.parse(since) + bindingTimeoutMs < nowMs;
}

function isOf(one: AllocatedDeviceStatus, result: DeviceRequestAllocationResult): boolean {
  return one.driver === result.driver && one.pool === result.pool && one.device === result.device;
}

function resultsOf(status: ResourceClaim["status"]): readonly DeviceRequestAllocationResult[] {
  return status?.allocation?.devices?.results ?? [];
}
