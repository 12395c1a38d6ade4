/** The v1 Endpoints object of a Service, pure: old clients still read it. At most 1,000 addresses. */
import type {
  DiscoveryEndpointPort,
  Endpoint,
  EndpointAddress,
  Endpoints,
  EndpointSubset,
  Service,
} from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { given } from "#base/given.ts";
import type { PortGroup } from "./desired.ts";
import { labelsFrom } from "./labels.ts";

/** Upstream's bound; beyond it the annotation says `truncated`. */
export const addressesMax = 1000;
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

const managedLabel = "endpoints.kubernetes.io/managed-by";
const manager = "endpoint-controller";

/** Made for a Service by this controller, and not by hand. */
export function isManagedEndpoints({ metadata }: Endpoints): boolean {
  return metadata?.labels?.[managedLabel] === manager;
}

/** The object to create (without `current`) or to update; undefined: it is as it must be. */
export function planEndpoints(
  service: Service,
  groups: readonly PortGroup[],
  current: Endpoints | undefined,
): Endpoints | undefined {
  const { namespace = "", name = "" } = service.metadata ?? {};
  const { subsets, truncated } = legacyEndpoints(groups);
  const labels = { ...labelsFrom(service), [managedLabel]: manager };
  const { [overCapacityAnnotation]: _over, ...kept } = current?.metadata?.annotations ?? {};
  const annotations = truncated ? { ...kept, [overCapacityAnnotation]: "truncated" } : kept;
  if (current === undefined) {
    const metadata = { name, namespace, labels, annotations };
    return { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
  }
  const next = { ...current, metadata: { ...current.metadata, labels, annotations }, subsets };
  return isSameContent(current, next) ? undefined : next;
}

interface LegacyEndpoints {
  readonly subsets: readonly EndpointSubset[];
  readonly truncated: boolean;
}

/** Addresses that are ready come first when not all fit. */
export function legacyEndpoints(groups: readonly PortGroup[]): LegacyEndpoints {
  const all = groups.map(splitAddresses);
  const total = all.reduce((sum, { ready, notReady }) => sum + ready.length + notReady.length, 0);
  let room = addressesMax;
  const take = (list: readonly EndpointAddress[]): readonly EndpointAddress[] => {
    const taken = list.slice(0, room);
    room -= taken.length;
    return taken;
  };
  const withReady = all.map((one) => ({ ...one, ready: take(one.ready) }));
  const cut = withReady.map((one) => ({ ...one, notReady: take(one.notReady) }));
  return { subsets: cut.flatMap(subsetOf), truncated: total > addressesMax };
}

interface SplitAddresses {
  readonly ports: readonly DiscoveryEndpointPort[];
  readonly ready: readonly EndpointAddress[];
  readonly notReady: readonly EndpointAddress[];
}

/** A pod that terminates is in neither list: v1 Endpoints cannot say "terminating". */
function splitAddresses({ ports, endpoints }: PortGroup): SplitAddresses {
  const shown = [...endpoints.values()].filter(
    ({ conditions }) => conditions?.terminating !== true || conditions.ready === true,
  );
  const sorted = (all: readonly Endpoint[]): readonly EndpointAddress[] =>
    all.map(addressOf).toSorted(byIp);
  return {
    ports,
    ready: sorted(shown.filter(isReady)),
    notReady: sorted(shown.filter((one) => !isReady(one))),
  };
}

function isSameContent(a: Endpoints, b: Endpoints): boolean {
  const view = ({ subsets = [], metadata }: Endpoints): unknown => [
    subsets,
    metadata?.labels ?? {},
    metadata?.annotations ?? {},
  ];
  return jsonEqual(view(a), view(b));
}

function subsetOf({ ports, ready, notReady }: SplitAddresses): readonly EndpointSubset[] {
  if (ready.length + notReady.length === 0) return [];
  return [
    {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(ports.length === 0 ? {} : { ports: ports.map(portOf) }),
    },
  ];
}

function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready === true;
}

function addressOf({ addresses, hostname, nodeName, targetRef }: Endpoint): EndpointAddress {
  return {
    ip: addresses[0] ?? "",
    ...given({ hostname, nodeName, targetRef }),
  };
}

function portOf({
  name = "",
  port: number = 0,
  protocol = "TCP",
  appProtocol,
}: DiscoveryEndpointPort) {
  return {
    ...(name === "" ? {} : { name }),
    port: number,
    protocol,
    ...given({ appProtocol }),
  };
}

function byIp(a: EndpointAddress, b: EndpointAddress): number {
  return a.ip === b.ip ? 0 : a.ip < b.ip ? -1 : 1;
}
