/** The objects of `npm run bench -- views`: Ingresses and RouteGroups, and Services with their endpoints in slices of eight. */

interface Size {
  readonly ingresses: number;
  readonly groups: number;
  readonly services: number;
  readonly endpoints: number;
}

export const size: Size = { ingresses: 15_000, groups: 5_000, services: 5_000, endpoints: 40_000 };

const namespaces = 50;
const perSlice = size.endpoints / size.services;

/** By path: how many there are, and each. */
export const collections: ReadonlyMap<
  string,
  { readonly count: number; readonly make: (at: number, revision: number) => object }
> = new Map([
  ["/api/v1/services", { count: size.services, make: service }],
  ["/apis/discovery.k8s.io/v1/endpointslices", { count: size.services, make: slice }],
  ["/apis/networking.k8s.io/v1/ingresses", { count: size.ingresses, make: ingress }],
  ["/apis/zalando.org/v1/routegroups", { count: size.groups, make: group }],
]);

function metadata(kind: string, at: number, revision: number): object {
  return {
    name: `${kind}-${String(at).padStart(5, "0")}`,
    namespace: `ns-${at % namespaces}`,
    uid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
    resourceVersion: String(revision),
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { application: `app-${at % 200}` },
  };
}

function serviceName(at: number): string {
  return `service-${String(at).padStart(5, "0")}`;
}

function service(at: number, revision: number): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata("service", at, revision),
    spec: {
      type: "ClusterIP",
      clusterIP: `10.3.${(at >> 8) & 255}.${at & 255}`,
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }],
      selector: { application: `app-${at % 200}` },
    },
  };
}

/** A revision moves its first endpoint. */
export function slice(at: number, revision: number): object {
  const endpoints = Array.from({ length: perSlice }, (_, i) => ({
    addresses: [`10.${i === 0 ? revision % 200 : i}.${(at >> 8) & 255}.${at & 255}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${(at + i) % 500}`,
    zone: `eu-central-1${"abc"[i % 3]}`,
    targetRef: { kind: "Pod", namespace: `ns-${at % namespaces}`, name: `pod-${at}-${i}` },
  }));
  const meta = metadata("slice", at, revision) as { labels: object };
  const labels = { ...meta.labels, "kubernetes.io/service-name": serviceName(at) };
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...meta, labels },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints,
  };
}

/** In the namespace of the Service: `at` modulo the namespaces is that of the Service's number. */
function ingress(at: number, revision: number): object {
  const name = serviceName(at % size.services);
  const backend = { service: { name, port: { name: "http" } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...metadata("ingress", at, revision),
      annotations: { "zalando.org/skipper-filter": 'setRequestHeader("X-Shop", "1")' },
    },
    spec: {
      rules: [
        {
          host: `ingress-${at}.shop.example.org`,
          http: { paths: [{ path: "/", pathType: "Prefix", backend }] },
        },
      ],
    },
  };
}

function group(at: number, revision: number): object {
  return {
    apiVersion: "zalando.org/v1",
    kind: "RouteGroup",
    metadata: metadata("group", at, revision),
    spec: {
      hosts: [`group-${at}.shop.example.org`],
      backends: [{ name: "web", type: "service", serviceName: serviceName(at), servicePort: 80 }],
      defaultBackends: [{ backendName: "web" }],
    },
  };
}
