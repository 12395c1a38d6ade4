/** From a Service, its pods and the slices there are to all writes of slices, pure. */
import type { EndpointSlice, Pod, Service } from "#api/gen/types.ts";
import { controllerReference } from "#client/owner.ts";
import {
  familiesOf,
  planGroups,
  type Desired,
  type DesiredInput,
  type Family,
  type PortGroup,
} from "./desired.ts";
import { labelsFrom, managedLabel, serviceLabel } from "./labels.ts";
import { planSlices, type SliceContent } from "./slices.ts";

const gvk = { group: "", version: "v1", kind: "Service" };
const manager = "endpointslice-controller.k8s.io";

/** What the caches know of a Service. */
export interface ServiceRound {
  readonly service: Service;
  /** Those the Service selects. */
  readonly pods: readonly Pod[];
  readonly nodeOf: DesiredInput["nodeOf"];
  /** Slices with the Service's name that this controller manages. */
  readonly existing: readonly EndpointSlice[];
}

export interface ServicePlan {
  /** To be carried out in this order. */
  readonly families: readonly FamilyPlan[];
  /** Slices of an earlier Service with this name, or of a family that the Service no longer has. */
  readonly strangers: readonly EndpointSlice[];
  /** The content of the v1 Endpoints object: the Service's first family. */
  readonly primary: readonly PortGroup[];
  /** A pod was omitted because its node is unknown; reconcile again. */
  readonly isIncomplete: boolean;
}

/** Complete objects to be written. */
interface FamilyPlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

type DesiredFamily = Desired & { readonly family: Family };

export function planService(round: ServiceRound): ServicePlan {
  const { service, existing } = round;
  const desired = familiesOf(service).map((family) => planDesired(round, family));
  const mine = existing.filter((slice) => isOwnedBy(slice, service));
  const isKept = (slice: EndpointSlice): boolean =>
    mine.includes(slice) && desired.some(({ family }) => family === slice.addressType);
  return {
    families: desired.map((one) => planFamily(service, one, mine)),
    strangers: existing.filter((slice) => !isKept(slice)),
    primary: desired[0]?.groups ?? [],
    isIncomplete: desired.some(({ isIncomplete }) => isIncomplete),
  };
}

function planDesired(round: ServiceRound, family: Family): DesiredFamily {
  return { family, ...planGroups({ ...round, family }) };
}

function planFamily(
  service: Service,
  { family, groups }: DesiredFamily,
  mine: readonly EndpointSlice[],
): FamilyPlan {
  const existing = mine.filter((slice) => slice.addressType === family);
  const labels = labelsOf(service);
  const plan = planSlices({ groups, existing, labels });
  return {
    create: plan.create.map((content) => sliceOf(service, family, content)),
    update: plan.update.map(({ slice, content }) => ({
      ...slice,
      ...content,
      metadata: { ...slice.metadata, labels },
    })),
    remove: plan.remove,
  };
}

/** Whether this controller manages the slice; other slices are never written. */
export function isManaged(slice: EndpointSlice): boolean {
  return slice.metadata?.labels?.[managedLabel] === manager;
}

function sliceOf(service: Service, addressType: Family, content: SliceContent): EndpointSlice {
  const { name = "", namespace = "" } = service.metadata ?? {};
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: labelsOf(service),
      ownerReferences: [controllerReference(gvk, service)],
    },
    addressType,
    ...content,
  };
}

function labelsOf(service: Service): Readonly<Record<string, string>> {
  const name = service.metadata?.name ?? "";
  return { ...labelsFrom(service), [serviceLabel]: name, [managedLabel]: manager };
}

function isOwnedBy(slice: EndpointSlice, service: Service): boolean {
  const owners = slice.metadata?.ownerReferences ?? [];
  return owners.some(({ kind, uid }) => kind === "Service" && uid === service.metadata?.uid);
}
