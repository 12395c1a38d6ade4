/**
 * Converts a manually created Endpoints object of a Service without a selector into slices, pure: one slice per set of
 * ports and address family, with at most `mirroredMax` addresses each.
 */
import type {
  DiscoveryEndpointPort,
  Endpoint,
  Endpoints,
  EndpointSlice,
  Service,
} from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { given } from "#base/given.ts";
import { controllerReference } from "#client/owner.ts";
import { familyOf, portKey, type Family } from "./desired.ts";
import { isElection, managedLabel, serviceLabel, skipMirrorLabel } from "./labels.ts";
import type { SliceContent } from "./slices.ts";

/** Upstream's --mirroring-max-endpoints-per-subset. */
export const mirroredMax = 1000;

const gvk = { group: "", version: "v1", kind: "Endpoints" };
const manager = "endpointslicemirroring-controller.k8s.io";
const notMirrored = new Set([
  "endpoints.kubernetes.io/last-change-trigger-time",
  "kubectl.kubernetes.io/last-applied-configuration",
]);

/** Written by the mirroring controller. */
export function isMirror(slice: EndpointSlice): boolean {
  return slice.metadata?.labels?.[managedLabel] === manager;
}

/** The object must appear as slices. */
export function isMirrored(object: Endpoints, service: Service | undefined): boolean {
  const skip = object.metadata?.labels?.[skipMirrorLabel] === "true" || isElection(object);
  const going = object.metadata?.deletionTimestamp !== undefined;
  return !skip && !going && service !== undefined && service.spec?.selector === undefined;
}

export interface MirroredSlice extends SliceContent {
  readonly family: Family;
}

interface Mirrored {
  readonly slices: readonly MirroredSlice[];
  /** Addresses beyond the bound. */
  readonly skipped: number;
}

type Group = MirroredSlice & { readonly endpoints: Endpoint[] };

export function mirrorOf(endpoints: Endpoints): Mirrored {
  const groups = new Map<string, Group>();
  let skipped = 0;
  for (const subset of endpoints.subsets ?? []) {
    const ports = (subset.ports ?? []).map(portOf);
    for (const endpoint of endpointsOf(subset)) {
      const group = findGroup(groups, familyOf(endpoint.addresses[0] ?? ""), ports);
      if (group.endpoints.length >= mirroredMax) skipped++;
      else group.endpoints.push(endpoint);
    }
  }
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { slices: sorted.map(([, group]) => group), skipped };
}

/** The group of this family and these ports; an empty one is added when there is none. */
function findGroup(
  groups: Map<string, Group>,
  family: Family,
  ports: readonly DiscoveryEndpointPort[],
): Group {
  const key = `${family} ${portKey(ports)}`;
  const group = groups.get(key) ?? { family, ports, endpoints: [] };
  groups.set(key, group);
  return group;
}

function endpointsOf({ addresses = [], notReadyAddresses = [] }: Subset): readonly Endpoint[] {
  return [
    ...addresses.map((address) => endpointOf(address, true)),
    ...notReadyAddresses.map((address) => endpointOf(address, false)),
  ];
}

type Subset = NonNullable<Endpoints["subsets"]>[number];

function portOf(port: NonNullable<Subset["ports"]>[number]): DiscoveryEndpointPort {
  const { name = "", port: number, protocol = "TCP", appProtocol } = port;
  const known = { name, port: number, protocol };
  return appProtocol === undefined ? known : { ...known, appProtocol };
}

function endpointOf(address: NonNullable<Subset["addresses"]>[number], ready: boolean): Endpoint {
  const { ip, hostname = "", nodeName, targetRef } = address;
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === "" ? {} : { hostname }),
    ...given({ nodeName, targetRef }),
  };
}

interface MirrorPlan {
  readonly create: readonly MirroredSlice[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly content: MirroredSlice }[];
  readonly remove: readonly EndpointSlice[];
}

/** What every mirrored slice has of its Endpoints object. */
interface MirrorMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function marksOf(object: Endpoints): MirrorMarks {
  const { name = "", labels, annotations = {} } = object.metadata ?? {};
  const kept = Object.entries(annotations).filter(([key]) => !notMirrored.has(key));
  return {
    labels: { ...labels, [serviceLabel]: name, [managedLabel]: manager },
    annotations: Object.fromEntries(kept),
  };
}

/** A new slice of the object. */
export function createSlice(
  object: Endpoints,
  { family, ports, endpoints }: MirroredSlice,
  marks: MirrorMarks,
): EndpointSlice {
  const { name = "", namespace = "" } = object.metadata ?? {};
  const ownerReferences = [controllerReference(gvk, object)];
  const metadata = { generateName: `${name}-`, namespace, ...marks, ownerReferences };
  const made = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata };
  return { ...made, addressType: family, ports, endpoints };
}

/** `slice` with other content; its family stays. */
export function updateSlice(
  slice: EndpointSlice,
  { ports, endpoints }: MirroredSlice,
  marks: MirrorMarks,
): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, ...marks }, ports, endpoints };
}

/** Each slice that is wanted is the first there is of its ports and family, or one that would go. */
export function planMirror(
  wanted: readonly MirroredSlice[],
  existing: readonly EndpointSlice[],
  marks: MirrorMarks,
): MirrorPlan {
  const free = new Set(existing);
  const pairs = wanted.map((content) => {
    const slice = existing.find((one) => free.has(one) && isSame(one, content));
    if (slice !== undefined) free.delete(slice);
    return { content, slice };
  });
  const placed = pairs.map(({ content, slice }) => {
    if (slice !== undefined) return { content, slice };
    const spare = [...free].find((one) => one.addressType === content.family);
    if (spare !== undefined) free.delete(spare);
    return { content, slice: spare };
  });
  return {
    create: placed.filter(({ slice }) => slice === undefined).map(({ content }) => content),
    update: placed.flatMap(({ content, slice }) =>
      slice === undefined || isUpToDate(slice, content, marks) ? [] : [{ slice, content }],
    ),
    remove: [...free],
  };
}

function isSame(slice: EndpointSlice, content: MirroredSlice): boolean {
  return (
    slice.addressType === content.family && portKey(slice.ports ?? []) === portKey(content.ports)
  );
}

function isUpToDate(slice: EndpointSlice, content: MirroredSlice, marks: MirrorMarks): boolean {
  return (
    isSame(slice, content) &&
    jsonEqual(slice.endpoints ?? [], content.endpoints) &&
    jsonEqual(slice.metadata?.labels ?? {}, marks.labels) &&
    jsonEqual(slice.metadata?.annotations ?? {}, marks.annotations)
  );
}
