/**
 * The endpoints of a service's port as localities: from its EndpointSlices, in an order that depends on
 * content alone.
 *
 * Health  ready: healthy; serving while it ends: draining; else unhealthy (KEP-1672).
 * Hints   when every endpoint has hints, a client in a zone that some name is sent to those first, and to
 *         the others when too few are healthy; in other zones to all alike (KEP-2433).
 */
import type { DiscoveryEndpointPort, Endpoint, EndpointSlice } from "#api/gen/types.ts";
import { Health, type Locality, type LoadEndpoint } from "./envoy-messages.ts";

export interface PlacedEndpoint extends LoadEndpoint {
  readonly zone: string;
  readonly hintedZones: readonly string[];
}

/** The endpoints of the port with this name ("" for the unnamed port), each address once. */
export function endpointsOfPort(
  slices: readonly EndpointSlice[],
  portName: string,
): readonly PlacedEndpoint[] {
  const byAddress = new Map<string, PlacedEndpoint>();
  for (const { addressType, ports, endpoints } of slices) {
    if (addressType !== "IPv4" && addressType !== "IPv6") continue;
    const port = (ports ?? []).find((one) => isThatPort(one, portName))?.port;
    if (port === undefined) continue;
    for (const endpoint of endpoints ?? []) {
      const [address] = endpoint.addresses;
      if (address === undefined) continue;
      const placed = placedEndpoint(endpoint, address, port);
      // An address may be in two slices while it moves; the healthier endpoint is used.
      const other = byAddress.get(address);
      if (other === undefined || placed.health < other.health) byAddress.set(address, placed);
    }
  }
  return [...byAddress.values()].sort((a, b) => compareText(a.address, b.address));
}

function isThatPort({ name, protocol }: DiscoveryEndpointPort, portName: string): boolean {
  return (name ?? "") === portName && (protocol ?? "TCP") === "TCP";
}

function placedEndpoint(endpoint: Endpoint, address: string, port: number): PlacedEndpoint {
  const { ready = true, serving, terminating = false } = endpoint.conditions ?? {};
  const isDraining = terminating && serving === true;
  const health = ready ? Health.healthy : isDraining ? Health.draining : Health.unhealthy;
  const hintedZones = (endpoint.hints?.forZones ?? []).map(({ name }) => name);
  return { address, port, health, zone: endpoint.zone ?? "", hintedZones };
}

/** Whether the endpoints have zone hints, so that clients in different zones get different contents. */
export function isHinted(endpoints: readonly PlacedEndpoint[]): boolean {
  return endpoints.length > 0 && endpoints.every(({ hintedZones }) => hintedZones.length > 0);
}

/** Groups endpoints by zone and priority. `clientZone`: "" when hints are to be ignored. */
export function localitiesOf(
  endpoints: readonly PlacedEndpoint[],
  clientZone: string,
): readonly Locality[] {
  const isNear = ({ hintedZones }: PlacedEndpoint): boolean => hintedZones.includes(clientZone);
  const near = isHinted(endpoints) ? endpoints.filter(isNear) : [];
  if (near.length === 0) return byZone(endpoints, 0);
  const far = endpoints.filter((endpoint) => !isNear(endpoint));
  return [...byZone(near, 0), ...byZone(far, 1)];
}

export function byZone(
  endpoints: readonly PlacedEndpoint[],
  priority: number,
): readonly Locality[] {
  const zones = Map.groupBy(endpoints, ({ zone }) => zone);
  return [...zones]
    .sort(([a], [b]) => compareText(a, b))
    .map(([zone, members]) => ({ zone, priority, endpoints: members }));
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
