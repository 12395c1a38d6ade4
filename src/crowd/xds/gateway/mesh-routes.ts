/**
 * Routes whose parent is a Service (GAMMA): what a client without a proxy that dials the Service does.
 *
 * Holds  a Service that has routes answers what none of them fits as if nobody were there; without any it
 *        is sent everything. Only routes of the Service's namespace count.
 */
import { servicePortName } from "../resource-names.ts";
import { type Route, routeConfiguration, virtualHost } from "../route-messages.ts";
import { servicePorts } from "../service-resources.ts";
import type { Backends, FindService } from "./backends.ts";
import type { RouteObject } from "./route-objects.ts";
import { compareEntries, entriesOf, routesForClients } from "./rule-routes.ts";

export interface MeshRoutes {
  readonly serviceKey: string;
  /** JSON of the routes that `bytes` was made of. */
  readonly of: string;
  /** The route configuration; the same array as long as the routes are the same. */
  readonly bytes: Uint8Array;
  /** Namespaces of the other Services named in it; its readers must be able to read those too. */
  readonly namespaces: readonly string[];
}

/** Maximum number of matches for one port of a Service. */
const entriesMax = 2_000;

interface MeshDeps {
  readonly backends: Backends;
  readonly find: FindService;
  /** Result of the last run. */
  readonly before: ReadonlyMap<string, MeshRoutes>;
}

/** Returns the routes by name of a Service's port. */
export function meshRoutes(
  routes: readonly RouteObject[],
  { backends, find, before }: MeshDeps,
): ReadonlyMap<string, MeshRoutes> {
  const made = new Map<string, MeshRoutes>();
  for (const [serviceKey, all] of byService(routes)) {
    const [namespace = "", name = ""] = serviceKey.split("/");
    const service = find(namespace, name);
    if (service === undefined) continue;
    for (const { port } of servicePorts(service)) {
      const ofPort = all.filter(({ ports }) => ports.has(undefined) || ports.has(port));
      if (ofPort.length === 0) continue;
      const portName = servicePortName(name, namespace, port);
      const ofRoutes = ofPort.map(({ route }) => route);
      const { found, namespaces } = routesOfPort(ofRoutes, namespace, backends);
      const of = JSON.stringify(found);
      const same = before.get(portName);
      const bytes = same?.of === of ? same.bytes : configuration(portName, found);
      made.set(portName, { serviceKey, of, bytes, namespaces });
    }
  }
  return made;
}

interface MeshParent {
  readonly route: RouteObject;
  /** Ports of the Service; undefined in it stands for all. */
  readonly ports: ReadonlySet<number | undefined>;
}

function byService(routes: readonly RouteObject[]): ReadonlyMap<string, readonly MeshParent[]> {
  const found = new Map<string, MeshParent[]>();
  for (const route of routes) {
    const parents = route.parents.filter(
      ({ kind, namespace }) => kind === "Service" && namespace === route.namespace,
    );
    for (const [name, refs] of Map.groupBy(parents, (parent) => parent.name)) {
      const key = `${route.namespace}/${name}`;
      const ports = new Set(refs.map(({ port }) => port));
      const all = found.get(key);
      if (all === undefined) found.set(key, [{ route, ports }]);
      else all.push({ route, ports });
    }
  }
  return found;
}

function routesOfPort(
  routes: readonly RouteObject[],
  namespace: string,
  backends: Backends,
): { readonly found: readonly Route[]; readonly namespaces: readonly string[] } {
  const namespaces = new Set<string>();
  const entries = routes.flatMap(entriesOf).sort(compareEntries).slice(0, entriesMax);
  const found = entries.flatMap((entry) => routesForClients(entry, backends, namespaces));
  namespaces.delete(namespace);
  return { found, namespaces: [...namespaces].sort() };
}

function configuration(name: string, routes: readonly Route[]): Uint8Array {
  return routeConfiguration(name, [virtualHost({ name, domains: ["*"], routes })]);
}
