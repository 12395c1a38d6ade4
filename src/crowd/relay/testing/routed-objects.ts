/** For tests: objects of a small cluster with routes, few enough that random ones often refer to each other. */
import type { AnyObject } from "#api/object.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";

const kind = (group: string, version: string, resource: string, name: string): MirroredKind => ({
  group,
  version,
  resource,
  kind: name,
  namespaced: true,
  apiVersion: group === "" ? version : `${group}/${version}`,
});

const serviceKind = kind("", "v1", "services", "Service");
const sliceKind = kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice");
const ingressKind = kind("networking.k8s.io", "v1", "ingresses", "Ingress");
const routeGroupKind = kind("zalando.org", "v1", "routegroups", "RouteGroup");

/** In the order of the inputs of `skipper-routes`. */
export const routedKinds = [serviceKind, sliceKind, ingressKind, routeGroupKind] as const;

/** A choice among few objects (`kind`, `which`) and few contents (`variant`). */
export interface Choice {
  readonly kind: number;
  readonly which: number;
  readonly variant: number;
}

const hosts = ["a.example.org", "b.example.org", "a-b"];

export function chosenKey({ which }: Choice): string {
  return `${namespaceOf(which)}/o${which}`;
}

function namespaceOf(which: number): string {
  return which % 4 === 3 ? "other" : "shop";
}

export function chosenObject(choice: Choice): AnyObject {
  const { which, variant } = choice;
  const metadata = { namespace: namespaceOf(which), name: `o${which}` };
  switch (choice.kind) {
    case 0:
      return service(metadata, variant);
    case 1:
      return slice(metadata, which, variant);
    case 2:
      return ingress(metadata, which, variant);
    default:
      return routeGroup(metadata, which, variant);
  }
}

type Metadata = AnyObject["metadata"];

function service(metadata: Metadata, variant: number): AnyObject {
  const port = { name: variant % 2 === 0 ? "http" : "", port: 80, targetPort: 8080 };
  const type = variant === 5 ? "ExternalName" : "ClusterIP";
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { type, ports: [port] },
  } as AnyObject;
}

function slice(metadata: Metadata, which: number, variant: number): AnyObject {
  const labels = { "kubernetes.io/service-name": `o${(which + variant) % 3}` };
  const endpoints = Array.from({ length: variant + which }, (_, at) => ({
    addresses: [`10.0.${at % 2}.${at}`],
    conditions: { ready: (at + variant) % 4 !== 0, terminating: at === 5 },
    zone: at % 4 === 0 ? "b" : "a",
  }));
  const ports = [{ name: "http", port: 8080 + (variant % 2), protocol: "TCP" }];
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels },
    ports,
    endpoints,
  } as AnyObject;
}

function ingress(metadata: Metadata, which: number, variant: number): AnyObject {
  const annotations: Record<string, string> =
    variant === 4
      ? { "zalando.org/skipper-filter": "not eskip" }
      : { "zalando.org/skipper-ingress-redirect": String(variant === 2) };
  const backend = { service: { name: `o${variant % 3}`, port: { number: 80 } } };
  const paths = [
    {
      path: variant % 2 === 0 ? "/x" : "/",
      pathType: variant === 3 ? "Prefix" : undefined,
      backend,
    },
  ];
  const host = hosts[(which + variant) % hosts.length];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    // The names differ, but some of them become the same word of a route's id.
    metadata: { ...metadata, annotations, name: `o${which}` },
    spec: { rules: [{ host, http: { paths } }] },
  } as AnyObject;
}

function routeGroup(metadata: Metadata, which: number, variant: number): AnyObject {
  const backends = [0, 1].map((at) => ({
    name: `b${at}`,
    type: "service",
    serviceName: `o${(variant + at) % 3}`,
    servicePort: 80,
  }));
  const defaultBackends = backends.map(({ name }, at) => ({ backendName: name, weight: at + 1 }));
  const routes = variant % 2 === 0 ? undefined : [{ pathSubtree: "/y", predicates: ["True()"] }];
  const spec = { hosts: [hosts[which % hosts.length]], backends, defaultBackends, routes };
  return { apiVersion: "zalando.org/v1", kind: "RouteGroup", metadata, spec } as AnyObject;
}
