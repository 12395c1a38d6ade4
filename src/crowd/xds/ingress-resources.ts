/**
 * All Ingresses as one listener of Envoy with its routes, and as a listener for each host that clients
 * without a proxy dial (`xds:///shop.example:80`). They are of all namespaces, and so only for who may see all.
 *
 * Paths  `Exact` is a path; `Prefix` matches whole elements (/a matches /a and /a/b, not /ab), and so is a
 *        path and a prefix; `ImplementationSpecific` counts as `Prefix`. Longest first, exact before prefix.
 * Not    TLS: keys are Secrets, which are not mirrored; resource backends.
 */
import type { HTTPIngressPath, Ingress, IngressBackend, Service } from "#api/gen/types.ts";
import { compareText } from "./endpoint-groups.ts";
import { apiListener, socketListener } from "./envoy-messages.ts";
import {
  forwardTo,
  type Route,
  routeConfiguration,
  type VirtualHost,
  virtualHost,
} from "./route-messages.ts";
import { ingressName, namespaceOfName, servicePortName } from "./resource-names.ts";
import { contentOf, type Digest } from "./resource.ts";
import { servicePorts, type TypedResource } from "./service-resources.ts";
import { allNamespaces } from "./scope-rights.ts";
import { listenerType, routesType } from "./type-urls.ts";

/** Port of the listener, not a privileged one. */
const listenerPort = 8080;
const anyHost = "*";

type FindService = (namespace: string, name: string) => Service | undefined;

/** Resources of a host and the routes they were made of. Most hosts stay the same when an Ingress changes. */
interface HostMade {
  readonly of: string;
  readonly virtualHost: Uint8Array;
  readonly resources: readonly TypedResource[];
}

/** Makes the resources of all Ingresses; after a change, only those of changed hosts. */
export class IngressMapping {
  readonly #digest: Digest;
  #made: ReadonlyMap<string, HostMade> = new Map();

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  /** Returns the resources; none without an Ingress. */
  resources(ingresses: readonly Ingress[], find: FindService): readonly TypedResource[] {
    const hosts = virtualHosts(ingresses, find);
    this.#made = new Map(hosts.map((host) => [host.name, this.#host(host)]));
    if (ingresses.length === 0) return [];
    const made = [...this.#made.values()];
    const listener = socketListener(ingressName, ingressName, listenerPort);
    const routes = routeConfiguration(
      ingressName,
      made.map(({ virtualHost: bytes }) => bytes),
    );
    return [
      this.#resource(listenerType, ingressName, true, listener),
      this.#resource(routesType, ingressName, true, routes),
      ...made.flatMap(({ resources }) => resources),
    ];
  }

  #host(host: VirtualHost): HostMade {
    const of = JSON.stringify(host.routes);
    const before = this.#made.get(host.name);
    if (before?.of === of) return before;
    return { of, virtualHost: virtualHost(host), resources: this.#apiResources(host) };
  }

  /** Resources for clients without a proxy. An Ingress cannot take the name of a Service. */
  #apiResources(host: VirtualHost): readonly TypedResource[] {
    const name = `${host.name}:80`;
    if (host.name.startsWith(anyHost) || namespaceOfName(name) !== "") return [];
    const routes = routeConfiguration(name, [virtualHost({ ...host, domains: [anyHost] })]);
    return [
      this.#resource(listenerType, name, false, apiListener(name, name)),
      this.#resource(routesType, name, false, routes),
    ];
  }

  #resource(typeUrl: string, name: string, isListed: boolean, value: Uint8Array): TypedResource {
    const content = contentOf(this.#digest, name, typeUrl, value);
    return { typeUrl, name, scope: allNamespaces, isListed, content };
  }
}

/** One virtual host per host. Of equal rules the older Ingress wins, then the first by name. */
function virtualHosts(ingresses: readonly Ingress[], find: FindService): readonly VirtualHost[] {
  const routes = new Map<string, Route[]>();
  const add = (host: string, added: readonly Route[]): void => {
    const known = routes.get(host);
    if (known === undefined) routes.set(host, [...added]);
    else known.push(...added);
  };
  for (const { metadata, spec } of ingresses.toSorted(byAge)) {
    const namespace = metadata?.namespace ?? "";
    const clusterOf = (backend: IngressBackend | undefined): string | undefined =>
      clusterOfBackend(backend, namespace, find);
    for (const { host = "", http } of spec?.rules ?? []) {
      for (const path of http?.paths ?? []) {
        const cluster = clusterOf(path.backend);
        if (cluster !== undefined) add(host === "" ? anyHost : host, routesOfPath(path, cluster));
      }
    }
    const cluster = clusterOf(spec?.defaultBackend);
    if (cluster !== undefined) add(anyHost, [routeTo("prefix", "/", cluster)]);
  }
  return [...routes]
    .sort(([a], [b]) => compareText(a, b))
    .map(([host, all]) => ({ name: host, domains: domainsOf(host), routes: ordered(all) }));
}

function byAge(a: Ingress, b: Ingress): number {
  const key = ({ metadata }: Ingress): string =>
    `${metadata?.creationTimestamp ?? ""} ${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
  return compareText(key(a), key(b));
}

/** Domains of a host, also with any port. */
function domainsOf(host: string): readonly string[] {
  return host.startsWith(anyHost) ? [host] : [host, `${host}:*`];
}

function routesOfPath(
  { path = "/", pathType }: HTTPIngressPath,
  cluster: string,
): readonly Route[] {
  if (pathType === "Exact") return [routeTo("path", path, cluster)];
  const bare = path.replace(/\/+$/, "");
  const below = routeTo("prefix", `${bare}/`, cluster);
  return bare === "" ? [below] : [routeTo("path", bare, cluster), below];
}

function routeTo(kind: "path" | "prefix", text: string, cluster: string): Route {
  return { match: { kind, text }, action: forwardTo(cluster) };
}

/** Sorts routes, longer first. The sort is stable: of equal matches the earlier one stays first. */
function ordered(routes: readonly Route[]): readonly Route[] {
  const isExact = ({ match }: Route): number => (match.kind === "path" ? 0 : 1);
  return routes.toSorted(
    (a, b) => b.match.text.length - a.match.text.length || isExact(a) - isExact(b),
  );
}

function clusterOfBackend(
  backend: IngressBackend | undefined,
  namespace: string,
  find: FindService,
): string | undefined {
  const { name = "", port } = backend?.service ?? {};
  const service = find(namespace, name);
  if (service === undefined) return undefined;
  const found = servicePorts(service).find((one) =>
    port?.name === undefined || port.name === ""
      ? one.port === port?.number
      : one.name === port.name,
  );
  return found === undefined ? undefined : servicePortName(name, namespace, found.port);
}
