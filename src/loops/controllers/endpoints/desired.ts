/** Computes the endpoints of a Service: matching pods with their ports. Pure. */
import type { DiscoveryEndpointPort, Endpoint, Node, Pod, Service } from "#api/gen/types.ts";
import { isFinished, isGoing, isReady } from "../pods/pod.ts";

export type Family = "IPv4" | "IPv6";

/** Endpoints with the same ports: the content of one or more slices. */
export interface PortGroup {
  readonly ports: readonly DiscoveryEndpointPort[];
  /** By target uid, which identifies an endpoint across changes. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export interface DesiredInput {
  readonly service: Service;
  readonly family: Family;
  readonly pods: readonly Pod[];
  readonly nodeOf: (name: string) => Node | undefined;
}

export interface Desired {
  /** In a stable order; empty for a Service without matching pods. */
  readonly groups: readonly PortGroup[];
  /** A pod was omitted because its node is unknown; reconcile again. */
  readonly isIncomplete: boolean;
}

/** The address families for which the Service has slices. */
export function familiesOf(service: Service): readonly Family[] {
  const { ipFamilies = [], clusterIP = "" } = service.spec ?? {};
  const families = ipFamilies.filter((one): one is Family => one === "IPv4" || one === "IPv6");
  if (families.length > 0) return families;
  if (clusterIP !== "" && clusterIP !== "None") return [familyOf(clusterIP)];
  return ["IPv4", "IPv6"];
}

export function familyOf(ip: string): Family {
  return ip.includes(":") ? "IPv6" : "IPv4";
}

export function planGroups(input: DesiredInput): Desired {
  const groups = new Map<string, PortGroup & { readonly endpoints: Map<string, Endpoint> }>();
  let incomplete = false;
  for (const pod of input.pods) {
    if (!isEndpoint(pod)) continue;
    if (!isOnKnownNode(input, pod)) {
      incomplete = true;
      continue;
    }
    const ports = portsOf(input.service, pod);
    const key = portKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() };
    groups.set(key, group);
    const endpoint = endpointOf(input, pod);
    if (endpoint.addresses.length > 0) group.endpoints.set(pod.metadata?.uid ?? "", endpoint);
  }
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const filled = sorted.map(([, group]) => group).filter((group) => group.endpoints.size > 0);
  return { groups: filled, isIncomplete: incomplete };
}

/** The fields of a pod on which its endpoints, and the Services selecting it, depend. */
export function endpointView({ metadata, spec, status }: Pod): unknown {
  return [
    metadata?.labels,
    metadata?.deletionTimestamp,
    status?.podIP,
    status?.podIPs,
    status?.phase,
    spec?.nodeName,
    status?.conditions?.find(({ type }) => type === "Ready")?.status,
  ];
}

/** Whether it has an address and is not finished; terminating pods still count. */
function isEndpoint(pod: Pod): boolean {
  return (pod.status?.podIP ?? "") !== "" && !isFinished(pod);
}

function isOnKnownNode({ service, nodeOf }: DesiredInput, pod: Pod): boolean {
  if (service.spec?.publishNotReadyAddresses === true) return true;
  return nodeOf(pod.spec?.nodeName ?? "") !== undefined;
}

/** Equal for equal sets of ports in any order. */
export function portKey(ports: readonly DiscoveryEndpointPort[]): string {
  const key = ({
    name = "",
    port = 0,
    protocol = "TCP",
    appProtocol = "",
  }: DiscoveryEndpointPort) => JSON.stringify([name, port, protocol, appProtocol]);
  return ports.map(key).toSorted().join();
}

/** A named target port is looked up in the pod; the port is omitted if the pod has none. */
export function portsOf(service: Service, pod: Pod): readonly DiscoveryEndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const protocol = port.protocol ?? "TCP";
    const target = port.targetPort ?? port.port;
    const number = typeof target === "number" ? target : findNamedPort(pod, target, protocol);
    if (number === undefined) return [];
    const { appProtocol } = port;
    const known = { name: port.name ?? "", port: number, protocol };
    return [appProtocol === undefined ? known : { ...known, appProtocol }];
  });
}

function findNamedPort(pod: Pod, name: string, protocol: string): number | undefined {
  const containers = [
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always"),
  ];
  const ports = containers.flatMap((container) => container.ports ?? []);
  return ports.find((port) => port.name === name && (port.protocol ?? "TCP") === protocol)
    ?.containerPort;
}

function endpointOf(input: DesiredInput, pod: Pod): Endpoint {
  const { service, family, nodeOf } = input;
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const terminating = isGoing(pod);
  const serving = isReady(pod);
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const nodeName = pod.spec?.nodeName ?? "";
  const zone = nodeOf(nodeName)?.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "";
  const hostname = pod.spec?.hostname ?? "";
  const named = hostname !== "" && pod.spec?.subdomain === service.metadata?.name;
  return {
    addresses: addressesOf(pod, family),
    conditions: { ready, serving, terminating },
    ...(named ? { hostname } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName === "" ? {} : { nodeName }),
    ...(zone === "" ? {} : { zone }),
    ...(ready ? hintsOf(service, { zone, nodeName }) : {}),
  };
}

function addressesOf(pod: Pod, family: Family): readonly string[] {
  const { podIP = "", podIPs } = pod.status ?? {};
  const all = podIPs === undefined ? [podIP] : podIPs.map(({ ip }) => ip);
  return all.filter((ip) => ip !== "" && familyOf(ip) === family);
}

const nearby = new Set(["PreferClose", "PreferSameZone", "PreferSameNode"]);

/** spec.trafficDistribution: the zones or nodes that should prefer the endpoint. */
function hintsOf(
  service: Service,
  place: { readonly zone: string; readonly nodeName: string },
): Pick<Endpoint, "hints"> {
  const wanted = service.spec?.trafficDistribution ?? "";
  if (!nearby.has(wanted)) return {};
  const sameNode = wanted === "PreferSameNode" && place.nodeName !== "";
  const hints = {
    ...(place.zone === "" ? {} : { forZones: [{ name: place.zone }] }),
    ...(sameNode ? { forNodes: [{ name: place.nodeName }] } : {}),
  };
  return Object.keys(hints).length === 0 ? {} : { hints };
}
