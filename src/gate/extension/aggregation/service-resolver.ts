/**
 * Resolves the Service of an APIService to an address: its cluster IP, or one of its ready endpoints.
 *
 * Holds  the address comes from the Service or from its EndpointSlices, never from a request. As in upstream, addresses
 *        are validated when they are written: EndpointSlices accept no loopback and no link-local address; an
 *        ExternalName may name any host.
 * After  k8s.io/apiserver pkg/util/proxy/proxy.go, texts included.
 */
import type { AnyObject } from "#api/object.ts";
import type { Lister } from "#api/lister.ts";
import { notFound } from "#api/status.ts";
import type { Random } from "#platform/random.ts";
import type { ServiceReference } from "./api-service.ts";

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** @throws Error whose message names the missing part. */
export type ResolveService = (reference: ServiceReference) => Endpoint;

interface ServiceSpec {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly externalName?: string;
  readonly ipFamilies?: readonly string[];
  readonly ports?: readonly ServicePort[];
}

interface ServicePort {
  readonly name?: string;
  readonly port?: number;
}

export interface Slice {
  readonly addressType?: string;
  readonly ports?: readonly ServicePort[] | null;
  readonly endpoints?: readonly SliceEndpoint[] | null;
}

interface SliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
}

export const services = { group: "", resource: "services" } as const;
export const endpointSlices = { group: "discovery.k8s.io", resource: "endpointslices" } as const;
export const serviceNameLabel = "kubernetes.io/service-name";
const routable = ["ClusterIP", "LoadBalancer", "NodePort"];

/** Resolves to the cluster IP, as kube-apiserver without `--enable-aggregator-routing`. Another component routes cluster IPs. */
export function clusterIpResolver(lookup: Lister): ResolveService {
  return (reference) => {
    const {
      type = "ClusterIP",
      clusterIP = "",
      externalName = "",
      ports = [],
    } = specOf(lookup, reference);
    if (type === "ExternalName") return { host: externalName, port: reference.port };
    if (!routable.includes(type)) throw unsupported(type);
    if (type === "ClusterIP" && clusterIP === "None")
      throw new Error('cannot route to service with ClusterIP "None"');
    findPort(ports, reference);
    return { host: clusterIP, port: reference.port };
  };
}

/** Resolves to an endpoint, as kube-apiserver with `--enable-aggregator-routing`. This server connects to endpoints directly. */
export function endpointResolver(lookup: Lister, random: Random): ResolveService {
  return (reference) => {
    const { type = "ClusterIP", ports = [], ipFamilies = [] } = specOf(lookup, reference);
    if (!routable.includes(type)) throw unsupported(type);
    const port = findPort(ports, reference);
    const chosen = slicesInOrder(lookup, reference, ipFamilies, random)
      .flatMap((slice) => endpointsOf(slice, port.name ?? "", random))
      .at(0);
    if (chosen !== undefined) return chosen;
    throw new Error(`no endpoints available for service ${JSON.stringify(reference.name)}`);
  };
}

export function slicesOf(lookup: Lister, { namespace, name }: ServiceReference): readonly Slice[] {
  return lookup
    .list(endpointSlices, namespace)
    .filter((slice) => slice.metadata?.labels?.[serviceNameLabel] === name)
    .map((slice) => slice as Slice); // stored slices
}

export function isReady({ conditions }: SliceEndpoint): boolean {
  return conditions?.ready !== false;
}

function specOf(lookup: Lister, { namespace, name }: ServiceReference): ServiceSpec {
  const service: AnyObject | undefined = lookup.get(services, namespace, name);
  if (service === undefined) throw notFound(services, name);
  return (service["spec"] ?? {}) as ServiceSpec; // stored
}

function findPort(ports: readonly ServicePort[], { name, port }: ServiceReference): ServicePort {
  const found = ports.find((one) => one.port === port);
  if (found !== undefined) return found;
  throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
}

function unsupported(type: string): Error {
  return new Error(`unsupported service type ${JSON.stringify(type)}`);
}

/** Returns the slices of the Service's first IP family first, otherwise in rotated order. */
function slicesInOrder(
  lookup: Lister,
  reference: ServiceReference,
  [preferred]: readonly string[],
  random: Random,
): readonly Slice[] {
  const slices = slicesOf(lookup, reference);
  const rank = ({ addressType }: Slice): number => (addressType === preferred ? 0 : 1);
  return rotated(slices, random).sort((a, b) => rank(a) - rank(b));
}

function endpointsOf(slice: Slice, portName: string, random: Random): readonly Endpoint[] {
  const { ports, endpoints } = slice;
  const port = (ports ?? []).find((one) => (one.name ?? "") === portName)?.port;
  if (port === undefined) return [];
  return rotated((endpoints ?? []).filter(isReady), random).flatMap(({ addresses = [] }) =>
    addresses.slice(0, 1).map((host) => ({ host, port })),
  );
}

function rotated<T>(items: readonly T[], random: Random): T[] {
  const at = items.length === 0 ? 0 : random.below(items.length);
  return [...items.slice(at), ...items.slice(0, at)];
}
