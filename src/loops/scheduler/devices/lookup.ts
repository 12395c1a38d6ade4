/** What the plugin needs to know of devices and claims, and how it writes; `Devices` is it in production. */
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
  /** With what is assumed. */
  claim(namespace: string, name: string): ResourceClaim | undefined;
  /** The claim that was made for extended resources of the Pod of this uid. */
  extendedClaimOf(podUid: string): ResourceClaim | undefined;
  newShareId(): string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Another decision's allocation of the claim is on its way to the server. */
  isInFlight(uid: string): boolean;
  setInFlight(claim: ResourceClaim, allocation: AllocationResult): void;
  endInFlight(claim: ResourceClaim): void;
  /** `claim` is the server's answer to a write. */
  assume(claim: ResourceClaim): void;
  get(claim: ResourceClaim): Promise<ResourceClaim>;
  update(claim: ResourceClaim): Promise<ResourceClaim>;
  updateStatus(claim: ResourceClaim): Promise<ResourceClaim>;
  create(claim: ResourceClaim): Promise<ResourceClaim>;
  /** Resolves when it is gone or going; takes off what protects it first. */
  remove(claim: ResourceClaim): Promise<void>;
  /** Writes the Pod's status. */
  noteExtended(pod: Pod, status: PodExtendedResourceClaimStatus): Promise<void>;
  removeReservation(claim: ResourceClaim, podUid: string): Promise<void>;
}
