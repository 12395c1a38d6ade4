/**
 * Services and what stands behind them: ports, and addresses of ready endpoints with their zones.
 *
 *   EndpointSlices   addresses of all slices of a Service, once each; terminating anywhere is gone; the first
 *                    address of an endpoint counts, and the ports of the last slice that has ports
 *   Endpoints        the first subset with a port that fits (deprecated; `legacyEndpoints`)
 *
 * Holds  targets are sorted by address, so the order in which slices came changes nothing, but that the ports are
 *        those of the slice with the last name: Skipper takes the last one listed.
 */
import { type Fields, numberAt, recordAt, recordsAt, textAt, textsAt } from "./fields.ts";
import type { Endpoint } from "./route.ts";

/** Target port: a number, or the name of a container's port. */
export type PortRef = string | number;

interface ServicePort {
  readonly name: string;
  readonly port: number;
  /** Undefined: the Service does not specify one. */
  readonly targetPort: PortRef | undefined;
}

export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly externalName: string;
  readonly ports: readonly ServicePort[];
}

interface EndpointPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol: string;
}

interface SliceEndpoint {
  readonly address: string;
  readonly zone: string;
  readonly state: "ready" | "terminating" | "away";
}

export interface Slice {
  readonly name: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

interface Subset {
  readonly addresses: readonly string[];
  readonly ports: readonly EndpointPort[];
}

/** Endpoints of a Service: its slices, or the subsets of its Endpoints object. */
export interface Endpoints {
  readonly slices: readonly Slice[];
  readonly subsets: readonly Subset[];
}

export function serviceOf(namespace: string, name: string, object: unknown): Service {
  const spec = recordAt(object, "spec");
  const ports = recordsAt(spec, "ports").map((port) => ({
    name: textAt(port, "name"),
    port: numberAt(port, "port"),
    targetPort: portRef(port["targetPort"]),
  }));
  const externalName = textAt(spec, "externalName");
  return { namespace, name, type: textAt(spec, "type"), externalName, ports };
}

function portRef(value: unknown): PortRef | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** Reads a slice. Undefined: it has no ports, and is ignored. */
export function sliceOf(name: string, object: unknown): Slice | undefined {
  const { ports } = object as Fields;
  if (!Array.isArray(ports)) return undefined;
  const endpoints = recordsAt(object, "endpoints").flatMap((endpoint) => {
    const [address] = textsAt(endpoint, "addresses");
    if (address === undefined) return [];
    return [{ address, zone: textAt(endpoint, "zone"), state: stateOf(endpoint) }];
  });
  return { name, ports: recordsAt(object, "ports").map(endpointPort), endpoints };
}

function stateOf(endpoint: Fields): SliceEndpoint["state"] {
  const { ready, terminating } = recordAt(endpoint, "conditions");
  if (terminating === true) return "terminating";
  return ready === false ? "away" : "ready";
}

function endpointPort(port: Fields): EndpointPort {
  return {
    name: textAt(port, "name"),
    port: numberAt(port, "port"),
    protocol: textAt(port, "protocol"),
    appProtocol: textAt(port, "appProtocol"),
  };
}

export function subsetsOf(object: unknown): readonly Subset[] {
  return recordsAt(object, "subsets").map((subset) => ({
    addresses: recordsAt(subset, "addresses").map((address) => textAt(address, "ip")),
    ports: recordsAt(subset, "ports").map(endpointPort),
  }));
}

/** Scheme of the backends: that of the annotation, or http. */
export interface Scheme {
  readonly name: string;
  /** Whether the annotation sets the scheme; then the port's own protocol is ignored. */
  readonly isSet: boolean;
}

/** Returns the endpoints of a Service port, which an Ingress names. */
export function targetsOfPort(
  all: Endpoints,
  port: ServicePort,
  scheme: Scheme,
): readonly Endpoint[] {
  const fromSubsets = all.subsets.length > 0;
  if (fromSubsets)
    return subsetTargets(all.subsets, scheme, (ports) => subsetPort(ports, port.name));
  const found = slicePort(portsOf(all.slices), port.name, port.port);
  const isPlain = port.name === "" && typeof port.targetPort === "number";
  const number = isPlain ? (port.targetPort as number) : (found?.port ?? 0);
  return sliceTargets(all.slices, schemeOf(found, scheme), number);
}

/** Returns the endpoints of a Service's target port, which a RouteGroup uses. */
export function targetsOfTarget(
  all: Endpoints,
  target: PortRef,
  scheme: Scheme,
): readonly Endpoint[] {
  const name = typeof target === "string" ? target : "";
  const number = typeof target === "number" ? target : 0;
  if (all.subsets.length > 0) {
    return subsetTargets(all.subsets, scheme, (ports) =>
      ports.find((one) => (name === "" ? one.port === number : one.name === name)),
    );
  }
  const found = slicePort(portsOf(all.slices), name, number);
  return sliceTargets(all.slices, schemeOf(found, scheme), found?.port ?? 0);
}

function portsOf(slices: readonly Slice[]): readonly EndpointPort[] {
  let last: Slice | undefined;
  for (const slice of slices) if (last === undefined || slice.name > last.name) last = slice;
  return last?.ports ?? [];
}

function slicePort(
  ports: readonly EndpointPort[],
  name: string,
  number: number,
): EndpointPort | undefined {
  return ports.find(
    (one) => one.protocol === "TCP" && (one.name === name || (number !== 0 && one.port === number)),
  );
}

function schemeOf(port: EndpointPort | undefined, { name, isSet }: Scheme): string {
  return !isSet && port?.appProtocol === "kubernetes.io/h2c" ? "h2c" : name;
}

function sliceTargets(slices: readonly Slice[], scheme: string, port: number): readonly Endpoint[] {
  const ready = new Map<string, string>();
  const terminating = new Set<string>();
  for (const { endpoints } of slices) {
    for (const { address, zone, state } of endpoints) {
      if (state === "terminating") terminating.add(address);
      else if (state === "ready") ready.set(address, zone);
    }
  }
  for (const address of terminating) ready.delete(address);
  const targets = [...ready].map(([ip, zone]) => ({ address: url(scheme, ip, port), zone }));
  return targets.sort((a, b) => (a.address < b.address ? -1 : 1));
}

function subsetPort(ports: readonly EndpointPort[], name: string): EndpointPort | undefined {
  return ports.length === 1 ? ports[0] : ports.find((one) => one.name === name);
}

function subsetTargets(
  subsets: readonly Subset[],
  scheme: Scheme,
  choose: (ports: readonly EndpointPort[]) => EndpointPort | undefined,
): readonly Endpoint[] {
  for (const { addresses, ports } of subsets) {
    const port = choose(ports);
    if (port === undefined) continue;
    const urls = addresses.map((ip) => url(scheme.name, ip, port.port));
    return urls.sort().map((address) => ({ address, zone: "" }));
  }
  return [];
}

function url(scheme: string, ip: string, port: number): string {
  return `${scheme}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}
