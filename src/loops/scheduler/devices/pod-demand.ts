/**
 * Collects the device requests of a Pod: its claims, allocated or not, and its extended resources that a DeviceClass
 * implements. On nodes without a device plugin for these, the scheduler converts them into one more claim.
 */
import type { ContainerExtendedResourceRequest, Node, ResourceClaim } from "#api/gen/types.ts";
import { usesClaims } from "#api/pods/resource-claims.ts";
import { amountOf } from "../amounts.ts";
import type { PodInfo } from "../pod-info.ts";
import { newExtendedClaim, requestsOf } from "./extended-resources.ts";
import type { DeviceLookup } from "./lookup.ts";
import { claimsOfPod } from "./pod-claims.ts";

export interface Demand {
  readonly allocated: readonly ResourceClaim[];
  readonly open: readonly ResourceClaim[];
  /** Extended resources of the Pod that a device class provides. */
  readonly extended: readonly string[];
  /** Claim of an earlier attempt, which must be deleted before the Pod can be placed. */
  readonly stale: ResourceClaim | undefined;
}

/** The claims to allocate on one node. */
interface NodeDemand {
  readonly open: readonly ResourceClaim[];
  /** The claim for extended resources, when there is one; it is the last claim of `open`. */
  readonly extended:
    | {
        readonly claim: ResourceClaim;
        readonly mappings: readonly ContainerExtendedResourceRequest[];
      }
    | undefined;
}

export function asksForDevices(info: PodInfo, lookup: DeviceLookup): boolean {
  return usesClaims(info.pod) || extendedOf(info, lookup).length > 0;
}

function extendedOf({ requests }: PodInfo, { state }: DeviceLookup): readonly string[] {
  if (requests.scalars.length === 0) return none;
  const names = requests.scalars.map(([name]) => name);
  return names.filter((name) => state.classBehind(name) !== undefined);
}
const none: readonly string[] = [];

export function claimsOf({ pod }: PodInfo, lookup: DeviceLookup) {
  return claimsOfPod(pod, (namespace, claim) => lookup.claim(namespace, claim));
}

export function demandOf(info: PodInfo, lookup: DeviceLookup): Demand {
  const found = claimsOf(info, lookup);
  const claims = found.kind === "claims" ? found.claims : [];
  const isAllocated = ({ status }: ResourceClaim): boolean => status?.allocation !== undefined;
  const extended = extendedOf(info, lookup);
  return {
    allocated: claims.filter(isAllocated),
    open: claims.filter((claim) => !isAllocated(claim)),
    extended,
    stale: extended.length === 0 ? undefined : lookup.extendedClaimOf(info.uid),
  };
}

/** `lacking`: the extended resources of the demand that no device plugin provides on the node. */
export function nodeDemandOf(
  { pod }: PodInfo,
  { open }: Demand,
  lacking: readonly string[],
  lookup: DeviceLookup,
): NodeDemand {
  if (lacking.length === 0) return { open, extended: undefined };
  const classOf = (resource: string) => lookup.state.classBehind(resource);
  const { requests, mappings } = requestsOf(pod, lacking, classOf);
  const claim = newExtendedClaim(pod, lookup.newShareId(), requests);
  return { open: [...open, claim], extended: { claim, mappings } };
}

export function lackingOn({ status }: Node, extended: readonly string[]): readonly string[] {
  const { allocatable = {} } = status ?? {};
  return extended.filter((name) => amountOf(name, allocatable[name] ?? "0") === 0);
}
