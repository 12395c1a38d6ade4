/** Makes the resources of a Service and its EndpointSlices; a pure function. */
import type { EndpointSlice, Service, ServicePort } from "#api/gen/types.ts";
import { endpointsOfPort, isHinted, localitiesOf } from "./endpoint-groups.ts";
import { apiListener, clusterMessage, loadAssignment } from "./envoy-messages.ts";
import { forwardTo, routeConfiguration, virtualHost } from "./route-messages.ts";
import { type Content, contentOf, type Digest, type Resource } from "./resource.ts";
import { servicePortName } from "./resource-names.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

export interface TypedResource extends Resource {
  readonly typeUrl: string;
}

/** Maximum number of zones with contents of their own; clients in further zones get contents without hints. */
const zonesMax = 64;
/** Protocols of KEP-3726, and those that gRPC servers used before. */
const http2Protocols: ReadonlySet<string> = new Set(["kubernetes.io/h2c", "grpc", "http2", "h2c"]);

export function servicePorts({ spec }: Service): readonly ServicePort[] {
  if (spec === undefined || spec.type === "ExternalName") return [];
  return (spec.ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP");
}

interface MeshRouting {
  readonly bytes: Uint8Array;
  readonly namespaces: readonly string[];
}

/** Effects of routes on a Service's ports, by name of the port. */
interface PortRouting {
  readonly mesh: ReadonlyMap<string, MeshRouting>;
  readonly http2: ReadonlySet<string>;
}

/** Resources without endpoints: a listener, routes and a cluster for each port. */
export function serviceResources(
  digest: Digest,
  service: Service,
  { mesh, http2 }: PortRouting,
): readonly TypedResource[] {
  const { name = "", namespace: scope = "" } = service.metadata ?? {};
  return servicePorts(service).flatMap((port) => {
    const portName = servicePortName(name, scope, port.port);
    const isHttp2 = speaksHttp2(port.appProtocol) || http2.has(portName);
    return portResources(digest, { portName, scope, isHttp2, routing: mesh.get(portName) });
  });
}

interface ServedPort {
  readonly portName: string;
  readonly scope: string;
  readonly isHttp2: boolean;
  /** Routes of the port. Absent: all requests go to the port itself. */
  readonly routing?: MeshRouting | undefined;
}

export function speaksHttp2(appProtocol = ""): boolean {
  return http2Protocols.has(appProtocol);
}

/** Makes a listener, routes and a cluster with the port's name. */
export function portResources(
  digest: Digest,
  { portName, scope, isHttp2, routing }: ServedPort,
): readonly TypedResource[] {
  const make = (typeUrl: string, isListed: boolean, value: Uint8Array): TypedResource => {
    const content = contentOf(digest, portName, typeUrl, value);
    return { typeUrl, name: portName, scope, isListed, content };
  };
  const { bytes = routesToOne(portName), namespaces = [] } = routing ?? {};
  const routes = make(routesType, false, bytes);
  return [
    make(clusterType, true, clusterMessage(portName, isHttp2)),
    make(listenerType, false, apiListener(portName, portName)),
    namespaces.length === 0 ? routes : { ...routes, alsoOf: namespaces },
  ];
}

function routesToOne(name: string): Uint8Array {
  const all = { match: { kind: "prefix", text: "/" }, action: forwardTo(name) } as const;
  return routeConfiguration(name, [virtualHost({ name, domains: ["*"], routes: [all] })]);
}

/** Endpoint resources, one for each port. */
export function endpointResources(
  digest: Digest,
  service: Service,
  slices: readonly EndpointSlice[],
): readonly TypedResource[] {
  const { name = "", namespace: scope = "" } = service.metadata ?? {};
  return servicePorts(service).map((port) => {
    const portName = servicePortName(name, scope, port.port);
    const endpoints = endpointsOfPort(slices, port.name ?? "");
    const make = (zone: string): Content => {
      const value = loadAssignment(portName, localitiesOf(endpoints, zone));
      return contentOf(digest, portName, endpointsType, value);
    };
    const resource = {
      typeUrl: endpointsType,
      name: portName,
      scope,
      isListed: true,
      content: make(""),
    };
    return isHinted(endpoints)
      ? { ...resource, contentIn: byZone(resource.content, make) }
      : resource;
  });
}

function byZone(elsewhere: Content, make: (zone: string) => Content): (zone: string) => Content {
  const made = new Map<string, Content>();
  return (zone) => {
    const known = made.get(zone);
    if (known !== undefined) return known;
    if (made.size >= zonesMax) return elsewhere;
    const content = make(zone);
    made.set(zone, content);
    return content;
  };
}
