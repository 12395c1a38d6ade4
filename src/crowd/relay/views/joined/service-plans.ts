/**
 * Shipped views of Services with their ready endpoints.
 *
 *   upstreams          a block per Service and port, for nginx (`upstream NAME { server ...; }`) or HAProxy (`backend NAME`)
 *   endpoints-by-zone  JSON per Service and port: addresses by zone; a zone sees its own when there are three
 *
 * Holds  names are made of the letters that both languages take; a block without endpoints is left out, because nginx
 *        refuses one.
 */
import type { Endpoint } from "#skipper/route.ts";
import { type Service, targetsOfPort } from "#skipper/service-targets.ts";
import { clusterOf, endpointsInput, serviceInput } from "./cluster-inputs.ts";
import { type JoinedRow, type JoinPlan, type Lookup, objectKey } from "./join-plan.ts";

export const upstreamStyles = ["nginx", "haproxy"] as const;
type UpstreamStyle = (typeof upstreamStyles)[number];
type ServicePort = Service["ports"][number];

/** Minimum number of endpoints in a zone: three allow for the loss of one while another is replaced, as with Skipper's zones. */
const zoneMin = 3;

export function upstreamsPlan(style: UpstreamStyle): JoinPlan {
  const write = style === "nginx" ? nginxBlock : haproxyBlock;
  return servicePlan((service, port, endpoints) => {
    const name = blockName(service, port);
    const text = write(name, endpoints);
    const zones = new Map<string, string>();
    for (const [zone, own] of zonesWithEnough(endpoints)) zones.set(zone, write(name, own));
    const identity = JSON.stringify({ name });
    const change = JSON.stringify({ name, text });
    return { id: name, place: name, text, change, identity, ...given(zones) };
  });
}

export function zonesPlan(): JoinPlan {
  return servicePlan((service, port, endpoints) => {
    const { namespace, name } = service;
    const own = { namespace, name, port: port.name || String(port.port) };
    const text = zonesText(own, endpoints);
    const zones = new Map<string, string>();
    for (const [zone, some] of zonesWithEnough(endpoints)) zones.set(zone, zonesText(own, some));
    const id = `${objectKey(namespace, name)}/${own.port}`;
    return { id, place: id, text, change: text, identity: JSON.stringify(own), ...given(zones) };
  });
}

type WriteRow = (service: Service, port: ServicePort, endpoints: readonly Endpoint[]) => JoinedRow;

function servicePlan(write: WriteRow): JoinPlan {
  return {
    inputs: [serviceInput, endpointsInput(false)],
    makers: [0],
    make: (_, value, lookup) => ({
      rows: serviceRows(value as Service, lookup, write),
      shares: [],
    }),
    group: () => [],
    fixed: [],
  };
}

function serviceRows(service: Service, lookup: Lookup, write: WriteRow): readonly JoinedRow[] {
  const all = clusterOf(lookup).endpoints(service.namespace, service.name);
  return service.ports.flatMap((port) => {
    const targets = targetsOfPort(all, port, { name: "http", isSet: true });
    const endpoints = targets.map(withoutScheme).filter(isAddress);
    return endpoints.length === 0 ? [] : [write(service, port, endpoints)];
  });
}

function withoutScheme({ address, zone }: Endpoint): Endpoint {
  return { address: address.slice("http://".length), zone };
}

function blockName({ namespace, name }: Service, port: ServicePort): string {
  return [namespace, name, port.name || String(port.port)]
    .join("_")
    .replace(/[^-A-Za-z0-9_.]/g, "_");
}

/** Whether the address is a host and a port. An address may be any text, which could inject a directive. */
function isAddress({ address }: Endpoint): boolean {
  return /^(?:[-A-Za-z0-9.]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$/.test(address);
}

function nginxBlock(name: string, endpoints: readonly Endpoint[]): string {
  const servers = endpoints.map(({ address }) => `  server ${address};\n`);
  return `upstream ${name} {\n${servers.join("")}}\n`;
}

function haproxyBlock(name: string, endpoints: readonly Endpoint[]): string {
  const servers = endpoints.map(
    ({ address }) => `  server ${address.replace(/[^0-9A-Za-z]/g, "_")} ${address} check\n`,
  );
  return `backend ${name}\n${servers.join("")}`;
}

function zonesText(own: object, endpoints: readonly Endpoint[]): string {
  const byZone = Map.groupBy(endpoints, ({ zone }) => zone);
  const zones = [...byZone].sort(([a], [b]) => (a < b ? -1 : 1));
  const addresses = zones.map(([zone, some]) => [zone, some.map(({ address }) => address)]);
  return JSON.stringify({ ...own, zones: Object.fromEntries(addresses) });
}

function zonesWithEnough(
  endpoints: readonly Endpoint[],
): readonly (readonly [zone: string, endpoints: readonly Endpoint[]])[] {
  const byZone = [...Map.groupBy(endpoints, ({ zone }) => zone)];
  return byZone.filter(
    ([zone, own]) => zone !== "" && own.length >= zoneMin && own.length < endpoints.length,
  );
}

function given(zones: ReadonlyMap<string, string>): Pick<JoinedRow, "zones"> {
  return zones.size === 0 ? {} : { zones };
}
