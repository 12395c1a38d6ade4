/**
 * Names of resources. A service's port has one name for its listener, routes, cluster and endpoints:
 * `web.shop.svc.cluster.local:80`, which is also what a proxyless client dials (`xds:///...`).
 */

const clusterDomain = "cluster.local";
const serviceSuffix = `.svc.${clusterDomain}`;
/** Of Envoy's listener for Ingresses, and its routes. */
export const ingressName = "ingress-http";

/** Of Envoy's listener for all Gateways that listen at that port, and its routes. */
export function gatewayListenerName(port: number): string {
  return `gateway-${port}`;
}

export function servicePortName(service: string, namespace: string, port: number): string {
  return `${service}.${namespace}${serviceSuffix}:${port}`;
}

/** A cluster without endpoints, for that namespace's readers. No Service has this port. */
export function nowhereName(namespace: string): string {
  return servicePortName("nowhere", namespace, 0);
}

/** The namespace of a service port's name; "": it is another name. */
export function namespaceOfName(name: string): string {
  const [, namespace = ""] = labelsOfName(name);
  return namespace;
}

/** `namespace/name` of the Service of a port's name. */
export function serviceKeyOfName(name: string): string {
  const [service = "", namespace = ""] = labelsOfName(name);
  return `${namespace}/${service}`;
}

/** The Service and its namespace; empty: it is another name. */
function labelsOfName(name: string): readonly string[] {
  const colon = name.lastIndexOf(":");
  const host = colon < 0 ? name : name.slice(0, colon);
  if (!host.endsWith(serviceSuffix)) return [];
  const labels = host.slice(0, -serviceSuffix.length).split(".");
  return labels.length === 2 ? labels : [];
}
