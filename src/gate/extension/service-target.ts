/**
 * Finds the address for requests to a Service that a webhook, a conversion webhook or a remote API server names.
 *
 * Holds  the address is that of a ready endpoint in an EndpointSlice of the Service, or the Service's externalName; the
 *        cluster address is not used, because this process may run where it is not routed. Manually created slices for
 *        a Service without selector are used like all others. An address that upstream's API refuses in a slice
 *        (loopback, link-local, multicast, unspecified) is never used; neither is a slice of names (addressType FQDN).
 * Why safe against those who may write EndpointSlices: the caller speaks TLS, and asks for a certificate
 *        of `<service>.<namespace>.svc` before it sends a byte.
 * Limits the endpoints of `cachedMax` Services are kept, until a Service or slice changes.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { isGlobalUnicast } from "#apiserver/kubelet/addresses.ts";
import type { Random } from "#platform/random.ts";

interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Why a Service has no usable target, in upstream's words. */
export class ServiceTargetError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ServiceTargetError";
  }
}

interface ServiceTarget {
  /** An IP address, or the name of an ExternalName Service. */
  readonly address: string;
  readonly port: number;
}

export interface ServiceTargets {
  /** Returns a random endpoint. @throws ServiceTargetError */
  resolve(service: ServiceReference): ServiceTarget;
}

interface Port {
  readonly name?: string;
  readonly port?: number;
}

interface ServiceSpec {
  readonly type?: string;
  readonly externalName?: string;
  readonly ports?: readonly Port[];
  readonly ipFamilies?: readonly string[];
}

interface Slice {
  readonly addressType?: string;
  readonly ports?: readonly Port[];
  readonly endpoints?: readonly Endpoint[];
}

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
  readonly nodeName?: string;
}

interface ServiceTargetDeps {
  readonly lookup: Lister;
  readonly random: Random;
  /** Number that changes whenever a Service or an EndpointSlice may have changed. */
  readonly version: () => number;
}

const services = { group: "", resource: "services" };
const slices = { group: "discovery.k8s.io", resource: "endpointslices" };
const nodes = { group: "", resource: "nodes" };
const serviceNameLabel = "kubernetes.io/service-name";
const hollowAnnotation = "pilothouse.dev/hollow";
const cachedMax = 1_024;

export function serviceTargets(deps: ServiceTargetDeps): ServiceTargets {
  const known = new Map<string, readonly ServiceTarget[]>();
  let version = -1;
  return {
    resolve(service) {
      const now = deps.version();
      if (now !== version || known.size >= cachedMax) known.clear();
      version = now;
      const key = `${service.namespace}/${service.name}:${service.port}`;
      const found = known.get(key) ?? find(deps, service);
      known.set(key, found);
      const chosen = found[found.length === 1 ? 0 : deps.random.below(found.length)];
      if (chosen === undefined) throw noEndpoints(service.name);
      return chosen;
    },
  };
}

/** Returns at least one target. @throws ServiceTargetError */
function find(deps: ServiceTargetDeps, reference: ServiceReference): readonly ServiceTarget[] {
  const { namespace, name, port } = reference;
  const service = deps.lookup.get(services, namespace, name);
  if (service === undefined)
    throw new ServiceTargetError(`service ${JSON.stringify(name)} not found`);
  const spec = (service["spec"] ?? {}) as ServiceSpec; // a stored Service
  if (spec.type === "ExternalName") return [{ address: spec.externalName ?? "", port }];
  const named = spec.ports?.find((one) => one.port === port);
  if (named === undefined) {
    const text = `no service port ${port} found for service ${JSON.stringify(name)}`;
    throw new ServiceTargetError(text);
  }
  const own = deps.lookup
    .list(slices, namespace)
    .filter((slice) => slice.metadata?.labels?.[serviceNameLabel] === name) as readonly (AnyObject &
    Slice)[];
  const all = own.filter(({ addressType }) => addressType !== "FQDN");
  const preferred = all.filter(({ addressType }) => addressType === spec.ipFamilies?.[0]);
  const first = targetsOf(deps, preferred, named.name ?? "", name);
  const found = first.length > 0 ? first : targetsOf(deps, all, named.name ?? "", name);
  if (found.length === 0) throw noEndpoints(name);
  return found;
}

function targetsOf(
  { lookup }: ServiceTargetDeps,
  own: readonly Slice[],
  portName: string,
  service: string,
): readonly ServiceTarget[] {
  const usable = own.flatMap(({ ports = [], endpoints = [] }) => {
    const port = ports.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    return endpoints.flatMap(({ addresses = [], conditions, nodeName = "" }) => {
      const [address = ""] = addresses;
      const isUsable = conditions?.ready !== false && isGlobalUnicast(address);
      return isUsable ? [{ address, port, nodeName }] : [];
    });
  });
  const real = usable.filter(({ nodeName }) => !isHollow(lookup, nodeName));
  if (usable.length > 0 && real.length === 0) {
    const text = `the pods of service ${JSON.stringify(service)} run on hollow nodes: there is no container to call`;
    throw new ServiceTargetError(text);
  }
  return real.map(({ address, port }) => ({ address, port }));
}

function isHollow(lookup: Lister, node: string): boolean {
  if (node === "") return false;
  return lookup.get(nodes, "", node)?.metadata?.annotations?.[hollowAnnotation] === "true";
}

function noEndpoints(service: string): ServiceTargetError {
  return new ServiceTargetError(`no endpoints available for service ${JSON.stringify(service)}`);
}
