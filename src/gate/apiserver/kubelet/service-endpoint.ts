/**
 * Picks any ready endpoint of a Service from its EndpointSlices.
 *
 * Holds  as in upstream, an endpoint is used only when it names a pod of the Service's namespace with the same address.
 *        The address must be one that may be proxied to (addresses.ts). A user who may write EndpointSlices can
 *        therefore not direct requests to any address they like.
 */
import type { AnyObject } from "#api/object.ts";
import { failure, notFound } from "#api/status.ts";
import type { ApiDeps } from "../deps.ts";
import { isGlobalUnicast } from "./addresses.ts";
import { isHollow } from "./pod-target.ts";

interface Slice {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  readonly endpoints?: readonly Endpoint[];
}

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
  readonly nodeName?: string;
  readonly targetRef?: { readonly namespace?: string; readonly name?: string };
}

interface Candidate {
  readonly endpoint: Endpoint;
  readonly address: string;
  readonly port: number;
}

const services = { group: "", resource: "services" };
const slices = { group: "discovery.k8s.io", resource: "endpointslices" };
const serviceNameLabel = "kubernetes.io/service-name";

/** `port`: number or name of a Service's port, "" for the unnamed one. @throws ApiError 404, 503. */
export function endpointOf(
  deps: ApiDeps,
  namespace: string,
  { id, name, port }: { readonly id: string; readonly name: string; readonly port: string },
): { readonly address: string; readonly port: number } {
  const service = deps.lookup.get(services, namespace, name);
  if (service === undefined) throw notFound(services, name);
  const portName = portNameOf(service, port, name);
  const own = deps.lookup
    .list(slices, namespace)
    .filter((slice) => slice.metadata?.labels?.[serviceNameLabel] === name);
  if (own.every((slice) => ((slice as Slice).endpoints ?? []).length === 0)) throw none(name);
  const usable = own
    .flatMap((slice) => candidatesOf(slice as Slice, portName)) // stored slices
    .filter((candidate) => isPodAddress(deps, namespace, candidate));
  const real = usable.filter(({ endpoint }) => !isHollow(deps, endpoint.nodeName ?? ""));
  const chosen = real[real.length === 0 ? 0 : deps.random.below(real.length)];
  if (chosen !== undefined) return chosen;
  throw usable.length > 0 ? hollow(name) : none(id);
}

/** Name of a port in the Service; a port given as a number is looked up there. */
function portNameOf(service: AnyObject, port: string, name: string): string {
  if (!/^[+-]?\d+$/.test(port)) return port;
  const { ports = [] } = (service["spec"] ?? {}) as {
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  };
  const found = ports.find((one) => one.port === Number(port));
  if (found !== undefined) return found.name ?? "";
  throw unavailable(`no service port ${Number(port)} found for service ${JSON.stringify(name)}`);
}

function candidatesOf({ ports = [], endpoints = [] }: Slice, portName: string): Candidate[] {
  const port = ports.find((one) => (one.name ?? "") === portName)?.port;
  if (port === undefined) return [];
  return endpoints
    .filter((endpoint) => endpoint.conditions?.ready !== false)
    .flatMap((endpoint) =>
      (endpoint.addresses ?? []).map((address) => ({ endpoint, address, port })),
    );
}

function isPodAddress(
  deps: ApiDeps,
  namespace: string,
  { endpoint: { targetRef }, address }: Candidate,
): boolean {
  if (targetRef?.name === undefined || targetRef.namespace !== namespace) return false;
  if (!isGlobalUnicast(address)) return false;
  const pod = deps.lookup.get({ group: "", resource: "pods" }, namespace, targetRef.name);
  const { podIPs = [] } = (pod?.["status"] ?? {}) as {
    readonly podIPs?: readonly { readonly ip?: string }[];
  };
  return podIPs.some(({ ip }) => ip === address);
}

function none(name: string): Error {
  return unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
}

function hollow(name: string): Error {
  const text = `the pods of service ${JSON.stringify(name)} run on hollow nodes: there is no container to proxy`;
  return unavailable(text);
}

function unavailable(text: string): Error {
  return failure(503, "ServiceUnavailable", text);
}
