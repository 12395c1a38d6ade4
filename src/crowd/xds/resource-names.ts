/**
 * Names of resources. A service's port has one name for its listener, routes, cluster and endpoints:
 * `web.shop.svc.cluster.local:80`, which is also what a proxyless client dials (`xds:///...`). A ServiceImport's port has
 * the name that DNS has for it: `web.shop.svc.clusterset.local:80`.
 */

const serviceSuffix = ".svc.cluster.local";
/** Suffix of services imported from other clusters (KEP-1645). */
const importSuffix = ".svc.clusterset.local";
/** Name of Envoy's listener for Ingresses, and of its routes. */
export const ingressName = "ingress-http";

/** Name of Envoy's listener for all Gateways with that port, and of its routes. */
export function gatewayListenerName(port: number): string {
  return `gateway-${port}`;
}

export function servicePortName(service: string, namespace: string, port: number): string {
  return `${service}.${namespace}${serviceSuffix}:${port}`;
}

export function importPortName(name: string, namespace: string, port: number): string {
  return `${name}.${namespace}${importSuffix}:${port}`;
}

/** Name of a cluster without endpoints, for readers of that namespace. No Service has this port. */
export function nowhereName(namespace: string): string {
  return servicePortName("nowhere", namespace, 0);
}

/** Namespace in the name of a service's port; "" for any other name. */
export function namespaceOfName(name: string): string {
  const [, namespace = ""] = labelsOfName(name);
  return namespace;
}

/** Key `namespace/name` of the Service or ServiceImport in a port's name. */
export function serviceKeyOfName(name: string): string {
  const [service = "", namespace = ""] = labelsOfName(name);
  return `${namespace}/${service}`;
}

/** Name and namespace of the Service or ServiceImport in a port's name; empty for any other name. */
function labelsOfName(name: string): readonly string[] {
  const colon = name.lastIndexOf(":");
  const host = colon < 0 ? name : name.slice(0, colon);
  const suffix = [serviceSuffix, importSuffix].find((one) => host.endsWith(one));
  if (suffix === undefined) return [];
  const labels = host.slice(0, -suffix.length).split(".");
  return labels.length === 2 ? labels : [];
}
