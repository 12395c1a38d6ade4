/** The reads and writes of devices and claims that the plugin needs; `Devices` implements them in production. */
import type {
  AllocationResult,
  Pod,
  PodExtendedResourceClaimStatus,
  ResourceClaim,
} from "#api/gen/types.ts";
import type { ClaimWaiters } from "./claim-waiters.ts";
import type { DeviceState } from "./device-state.ts";

export interface DeviceLookup {
  readonly state: DeviceState;
  readonly waiters: Pick<ClaimWaiters, "until">;
  /** Returns the claim with assumptions applied. */
  claim(namespace: string, name: string): ResourceClaim | undefined;
  /** Returns the claim that was made for the extended resources of the Pod with this uid. */
  extendedClaimOf(podUid: string): ResourceClaim | undefined;
  newShareId(): string;
  /** Current time in milliseconds since 1970. */
  now(): number;
  /** Whether another decision's allocation of the claim is in flight: decided, but not written yet. */
  isInFlight(uid: string): boolean;
  setInFlight(claim: ResourceClaim, allocation: AllocationResult): void;
  endInFlight(claim: ResourceClaim): void;
  /** Uses `claim`, the server's answer to a write, until the server shows that version or a later one. */
  assume(claim: ResourceClaim): void;
  get(claim: ResourceClaim): Promise<ResourceClaim>;
  update(claim: ResourceClaim): Promise<ResourceClaim>;
  updateStatus(claim: ResourceClaim): Promise<ResourceClaim>;
  create(claim: ResourceClaim): Promise<ResourceClaim>;
  /** Removes the claim's protection and deletes it. Resolves when the claim is deleted or being deleted. */
  remove(claim: ResourceClaim): Promise<void>;
  /** Writes the extended resource claim into the Pod's status. */
  noteExtended(pod: Pod, status: PodExtendedResourceClaimStatus): Promise<void>;
  removeReservation(claim: ResourceClaim, podUid: string): Promise<void>;
}
