/** What claims ask for, in one shape: requests, and the alternatives of each in the order of preference. */
import type {
  CapacityRequirements,
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ResourceClaim,
} from "#api/gen/types.ts";

/** Upstream's AllocationResultsMaxSize: devices of one claim. */
export const devicesMax = 32;

export interface Alternative {
  /** Of the request; constraints name it, and with it all of its alternatives. */
  readonly base: string;
  /** `request`, or `request/alternative`. */
  readonly name: string;
  /** As errors of upstream's allocator call it: the request's or the alternative's own. */
  readonly ownName: string;
  readonly deviceClass: DeviceClass;
  readonly isAll: boolean;
  /** Of `isAll` 0: there are as many as there are devices. */
  readonly count: number;
  readonly isAdmin: boolean;
  readonly selectors: readonly DeviceSelector[];
  readonly tolerations: readonly DeviceToleration[] | undefined;
  readonly capacity: CapacityRequirements["requests"];
}

export interface Wanted {
  readonly claim: ResourceClaim;
  readonly requests: readonly (readonly Alternative[])[];
}

/** What cannot be allocated anywhere: the claim is wrong, or one of its classes. Texts are upstream's. */
export class AllocationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AllocationError";
  }
}

type ClassOf = (name: string) => DeviceClass | undefined;

export function claimKey({ metadata }: ResourceClaim): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/** Throws AllocationError. */
export function wantedOf(claim: ResourceClaim, classOf: ClassOf): Wanted {
  const requests = (claim.spec.devices?.requests ?? []).map((request) =>
    alternativesOf(claim, request, classOf),
  );
  return { claim, requests };
}

interface Demand {
  readonly deviceClassName: string;
  readonly allocationMode?: string;
  readonly count?: number | bigint;
  readonly adminAccess?: boolean;
  readonly selectors?: readonly DeviceSelector[];
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: CapacityRequirements;
}

function alternativesOf(
  claim: ResourceClaim,
  { name, exactly, firstAvailable = [] }: DeviceRequest,
  classOf: ClassOf,
): readonly Alternative[] {
  if (exactly !== undefined) {
    return [alternativeOf(claim, { base: name, name, ownName: name }, exactly, classOf)];
  }
  return firstAvailable.map((one) => {
    const names = { base: name, name: `${name}/${one.name}`, ownName: one.name };
    return alternativeOf(claim, names, one, classOf);
  });
}

function alternativeOf(
  claim: ResourceClaim,
  names: Pick<Alternative, "base" | "name" | "ownName">,
  demand: Demand,
  classOf: ClassOf,
): Alternative {
  const where = `claim ${claimKey(claim)}, request ${names.ownName}`;
  (demand.selectors ?? []).forEach(({ cel }, i) => {
    if (cel !== undefined) return;
    const why = "CEL expression empty (unsupported selector type?)";
    throw new AllocationError(`${where}, selector #${i}: ${why}`);
  });
  const className = demand.deviceClassName;
  const deviceClass = classOf(className);
  if (deviceClass === undefined) {
    const why = `deviceclass.resource.k8s.io "${className}" not found`;
    throw new AllocationError(`${where}: could not retrieve device class ${className}: ${why}`);
  }
  const mode = demand.allocationMode ?? "ExactCount";
  if (mode !== "ExactCount" && mode !== "All") {
    throw new AllocationError(`${where}: unsupported count mode ${mode}`);
  }
  return {
    ...names,
    deviceClass,
    isAll: mode === "All",
    count: mode === "All" ? 0 : Number(demand.count ?? 1),
    isAdmin: demand.adminAccess === true,
    selectors: demand.selectors ?? [],
    tolerations: demand.tolerations,
    capacity: demand.capacity?.requests,
  };
}
