/** The requests of claims in one form: each request with its alternatives in the order of preference. */
import type {
  CapacityRequirements,
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ResourceClaim,
} from "#api/gen/types.ts";

/** Maximum number of devices of one claim: upstream's AllocationResultsMaxSize. */
export const devicesMax = 32;

export interface Alternative {
  /** Name of the request. A constraint that names the request applies to all of its alternatives. */
  readonly base: string;
  /** `request`, or `request/alternative`. */
  readonly name: string;
  /** Name in the errors of upstream's allocator: the name of the request, or of the alternative alone. */
  readonly ownName: string;
  readonly deviceClass: DeviceClass;
  readonly isAll: boolean;
  /** Number of devices; 0 when `isAll`, because the number is the number of matching devices. */
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

/** The claim cannot be allocated on any node, because it or one of its classes is wrong. Texts are upstream's. */
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

/** @throws AllocationError */
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
