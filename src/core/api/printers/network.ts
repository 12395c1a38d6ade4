/** Services, endpoints, ingresses, network policies, addresses and service CIDRs. */
import type {
  DiscoveryEndpointPort,
  EndpointSlice,
  Endpoints,
  IPAddress,
  Ingress,
  IngressClass,
  NetworkPolicy,
  Service,
  ServiceCIDR,
  ServicePort,
} from "../gen/types.ts";
import { formatLabelSelector } from "../selectors/label-selector.ts";
import { qualifiedResource } from "../object.ts";
import {
  age,
  ageColumn,
  formatLabels,
  nameColumn,
  nameOf,
  printer,
  text,
  wideText,
  withMore,
} from "./printer.ts";
import type { Printer } from "./printer.ts";

/** Addresses, ports and hosts shown before "+ n more...". */
const shownMax = 3;

export const services: Printer = printer<Service>(
  [
    nameColumn,
    text("Type", "How the service is exposed."),
    text("Cluster-IP", "The service's address in the cluster."),
    text("External-IP", "Addresses the service has outside of the cluster."),
    text("Port(s)", "Ports the service is reached at, with their node ports."),
    ageColumn,
    wideText("Selector", "The labels of the pods behind the service."),
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec?.type ?? "",
    object.spec?.clusterIPs?.[0] ?? (object.spec?.clusterIP || "<none>"),
    externalAddress(object),
    (object.spec?.ports ?? []).map(servicePort).join(",") || "<none>",
    age(object, nowMs),
    formatLabels(object.spec?.selector),
  ],
);

function externalAddress({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? [];
  switch (spec?.type) {
    case "ClusterIP":
    case "NodePort":
      return external.join(",") || "<none>";
    case "LoadBalancer":
      return (
        [...ingressAddresses(status?.loadBalancer?.ingress), ...external].join(",") || "<pending>"
      );
    case "ExternalName":
      return spec.externalName ?? "";
    case undefined:
    default:
      return "<unknown>";
  }
}

interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** Unique and sorted. */
function ingressAddresses(ingress: readonly LoadBalancerIngress[] | undefined): string[] {
  const addresses = (ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  return [...new Set(addresses.filter((address) => address !== ""))].sort();
}

function servicePort({ port, nodePort, protocol }: ServicePort): string {
  const inner = nodePort !== undefined && nodePort > 0 ? `${port}:${nodePort}` : String(port);
  return `${inner}/${protocol ?? "TCP"}`;
}

export const endpoints: Printer = printer<Endpoints>(
  [nameColumn, text("Endpoints", "The addresses and ports behind the service."), ageColumn],
  (object, nowMs) => [nameOf(object), endpointAddresses(object), age(object, nowMs)],
);

function endpointAddresses(object: Endpoints): string {
  const subsets = object.subsets ?? [];
  if (subsets.length === 0) return "<none>";
  const list = subsets.flatMap(({ addresses = [], ports = [] }) => {
    if (ports.length === 0) return addresses.map((address) => address.ip);
    return ports.flatMap(({ port }) => addresses.map((address) => hostPort(address.ip, port)));
  });
  return list.length === 0 ? "" : withMore(list, shownMax);
}

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export const endpointSlices: Printer = printer<EndpointSlice>(
  [
    nameColumn,
    text("AddressType", "Which kind of address the slice holds."),
    text("Ports", "The ports of every endpoint in the slice."),
    text("Endpoints", "The addresses in the slice."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.addressType,
    withMore((object.ports ?? []).map(slicePort), shownMax),
    withMore(
      (object.endpoints ?? []).flatMap((endpoint) => endpoint.addresses),
      shownMax,
    ),
    age(object, nowMs),
  ],
);

function slicePort({ port, name }: DiscoveryEndpointPort): string {
  return port === undefined ? (name ?? "*") : String(port);
}

export const ingresses: Printer = printer<Ingress>(
  [
    nameColumn,
    text("Class", "The ingress class that serves it."),
    text("Hosts", "The hosts of its rules."),
    text("Address", "Where the load balancer is reached."),
    text("Ports", "The ports that are open."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec?.ingressClassName ?? "<none>",
    ingressHosts((object.spec?.rules ?? []).map((rule) => rule.host ?? "")),
    ingressAddresses(object.status?.loadBalancer?.ingress).join(","),
    (object.spec?.tls ?? []).length === 0 ? "80" : "80, 443",
    age(object, nowMs),
  ],
);

/** As upstream, "more" counts rules, whether or not they have hosts. */
function ingressHosts(hosts: readonly string[]): string {
  const list: string[] = [];
  let more = false;
  for (const host of hosts) {
    if (list.length === shownMax) more = true;
    else if (host !== "") list.push(host);
  }
  if (list.length === 0) return "*";
  return more ? `${list.join(",")} + ${hosts.length - shownMax} more...` : list.join(",");
}

export const ingressClasses: Printer = printer<IngressClass>(
  [
    nameColumn,
    text("Controller", "The controller that serves the class."),
    text("Parameters", "The object with further parameters of the class."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec?.controller ?? "",
    ingressClassParameters(object),
    age(object, nowMs),
  ],
);

function ingressClassParameters(object: IngressClass): string {
  const parameters = object.spec?.parameters;
  if (parameters === undefined) return "<none>";
  const { kind, apiGroup, name } = parameters;
  return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`;
}

export const networkPolicies: Printer = printer<NetworkPolicy>(
  [nameColumn, text("Pod-Selector", "The labels of the pods the policy is for."), ageColumn],
  (object, nowMs) => [
    nameOf(object),
    formatLabelSelector(object.spec?.podSelector ?? {}),
    age(object, nowMs),
  ],
);

export const serviceCidrs: Printer = printer<ServiceCIDR>(
  [nameColumn, text("CIDRs", "The ranges service addresses come from."), ageColumn],
  (object, nowMs) => [nameOf(object), (object.spec?.cidrs ?? []).join(","), age(object, nowMs)],
);

export const ipAddresses: Printer = printer<IPAddress>(
  [nameColumn, text("ParentRef", "The object the address belongs to.")],
  // One cell more than there are columns, as upstream.
  (object, nowMs) => [nameOf(object), addressParent(object), age(object, nowMs)],
);

function addressParent(object: IPAddress): string {
  const parent = object.spec?.parentRef;
  if (parent === undefined) return "<none>";
  const { group = "", resource, namespace = "", name } = parent;
  const qualified = qualifiedResource({ group, resource }).toLowerCase();
  return namespace === "" ? `${qualified}/${name}` : `${qualified}/${namespace}/${name}`;
}
