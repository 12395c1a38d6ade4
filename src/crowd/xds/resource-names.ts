/**
 * Names of resources. A service's port has one name for its listener, routes, cluster and endpoints:
 * `web.shop.svc.cluster.local:80`, which is also what a proxyless client dials (`xds:///...`). A ServiceImport's port has
 * the name that DNS has for it: `web.shop.svc.clusterset.local:80`.
 */

const serviceSuffix = ".svc.cluster.local";
/** Of services imported from other clusters (KEP-1645). */
const importSuffix = ".svc.clusterset.local";
/** Of Envoy's listener for Ingresses, and its routes. */
export const ingressName = "ingress-http";

/** Of Envoy's listener for all Gateways that listen at that port, and its routes. */
export function gatewayListenerName(port: number): string {
  return `gateway-${port}`;
}

export function servicePortName(service: string, namespace: string, port: number): string {
  return `${service}.${namespace}${serviceSuffix}:${port}`;
}

export function importPortName(name: string, namespace: string, port: number): string {
  return `${name}.${namespace}${importSuffix}:${port}`;
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

/** `namespace/name` of the Service, or the ServiceImport, of a port's name. */
export function serviceKeyOfName(name: string): string {
  const [service = "", namespace = ""] = labelsOfName(name);
  return `${namespace}/${service}`;
}

/** The Service, or ServiceImport, and its namespace; empty: it is another name. */
function labelsOfName(name: string): readonly string[] {
  const colon = name.lastIndexOf(":");
  const host = colon < 0 ? name : name.slice(0, colon);
  const suffix = [serviceSuffix, importSuffix].find((one) => host.endsWith(one));
  if (suffix === undefined) return [];
  const labels = host.slice(0, -suffix.length).split(".");
  return labels.length === 2 ? labels : [];
}
