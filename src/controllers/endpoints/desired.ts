/** Which endpoints a Service has right now, pure: pods that match, with the ports they serve on. */
import type { DiscoveryEndpointPort, Endpoint, Node, Pod, Service } from "#api/gen/types.ts";
import { isReady } from "../shared/pod.ts";

/** Endpoints that share one set of ports: the content of one or more slices. */
export interface PortGroup {
  readonly ports: readonly DiscoveryEndpointPort[];
  /** By target uid: the identity of an endpoint over its changes. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export interface DesiredInput {
  readonly service: Service;
  readonly pods: readonly Pod[];
  readonly nodes: ReadonlyMap<string, Node>;
}

/** Groups in a stable order; a Service without matching pods has none. */
export function desiredGroups(input: DesiredInput): readonly PortGroup[] {
  const groups = new Map<
    string,
    { ports: readonly DiscoveryEndpointPort[]; endpoints: Map<string, Endpoint> }
  >();
  for (const pod of input.pods) {
    if (!isEndpoint(pod)) continue;
    const ports = portsOf(input.service, pod);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() };
    group.endpoints.set(pod.metadata?.uid ?? "", endpointOf(input, pod));
    groups.set(key, group);
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** Has an address and is not finished; a terminating pod still serves until it is gone. */
function isEndpoint(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (pod.status?.podIP ?? "") !== "" && phase !== "Succeeded" && phase !== "Failed";
}

/** A named target port is looked up in the pod; a pod that has none is left out of that port. */
export function portsOf(service: Service, pod: Pod): readonly DiscoveryEndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const protocol = port.protocol ?? "TCP";
    const target = port.targetPort ?? port.port;
    const number = typeof target === "number" ? target : namedPort(pod, target, protocol);
    if (number === undefined) return [];
    const { appProtocol } = port;
    return [
      {
        name: port.name ?? "",
        port: number,
        protocol,
        ...(appProtocol === undefined ? {} : { appProtocol }),
      },
    ];
  });
}

function namedPort(pod: Pod, name: string, protocol: string): number | undefined {
  const containers = [
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always"),
  ];
  const ports = containers.flatMap((container) => container.ports ?? []);
  return ports.find((port) => port.name === name && (port.protocol ?? "TCP") === protocol)
    ?.containerPort;
}

function endpointOf({ service, nodes }: DesiredInput, pod: Pod): Endpoint {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const terminating = pod.metadata?.deletionTimestamp !== undefined;
  const serving = isReady(pod);
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const nodeName = pod.spec?.nodeName ?? "";
  const zone = nodes.get(nodeName)?.metadata?.labels?.["topology.kubernetes.io/zone"];
  const named = pod.spec?.hostname !== undefined && pod.spec.subdomain === service.metadata?.name;
  return {
    addresses: [pod.status?.podIP ?? ""],
    conditions: { ready, serving, terminating },
    ...(named ? { hostname: pod.spec?.hostname ?? "" } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName === "" ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
  };
}
