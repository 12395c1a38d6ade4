/**
 * For tests: the routes of a whole cluster at one moment, by going through everything once, without tables or indexes.
 * An oracle for what is kept up to date, and the way to compare with Skipper's own corpus.
 */
import { isRecord } from "#base/is-record.ts";
import { metaOf, textAt } from "../fields.ts";
import { hostRest } from "../host-rest.ts";
import { type Cluster, type HostSummary, ingressRoutes } from "../ingress.ts";
import type { SkipperOptions } from "../options.ts";
import { globalRoutes } from "../global-routes.ts";
import type { Route } from "../route.ts";
import { routeGroupRoutes } from "../route-group.ts";
import { serviceOf, sliceOf, subsetsOf } from "../service-targets.ts";

/** Returns the routes of all relevant objects. Of several routes with the same id, the first one is kept. */
export function naiveRoutes(
  objects: readonly unknown[],
  options: SkipperOptions,
): readonly Route[] {
  const ofKind = (kind: string): readonly unknown[] => {
    const all = objects.filter((one) => isRecord(one) && one["kind"] === kind);
    return all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  };
  const cluster = clusterOf(ofKind, options);
  const routes: Route[] = [];
  const hosts = new Map<string, HostSummary[]>();
  for (const ingress of ofKind("Ingress")) {
    const made = ingressRoutes(ingress, cluster, options);
    routes.push(...(made?.routes ?? []));
    for (const [host, summary] of made?.hosts ?? []) {
      hosts.set(host, [...(hosts.get(host) ?? []), summary]);
    }
  }
  if (options.catchAll) {
    for (const [host, summaries] of [...hosts].sort(([a], [b]) => (a < b ? -1 : 1)))
      routes.push(...hostRest(host, summaries));
  }
  for (const group of ofKind("RouteGroup")) {
    routes.push(...(routeGroupRoutes(group, cluster, options) ?? []));
  }
  routes.push(...globalRoutes(options));
  const byId = new Map<string, Route>();
  for (const route of routes) if (!byId.has(route.id)) byId.set(route.id, route);
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function orderOf(object: unknown): string {
  const { namespace, name } = metaOf(object);
  return `${namespace}/${name}`;
}

function clusterOf(ofKind: (kind: string) => readonly unknown[], options: SkipperOptions): Cluster {
  const isIn = (object: unknown, namespace: string): boolean =>
    metaOf(object).namespace === namespace;
  return {
    service(namespace, name) {
      const found = ofKind("Service").findLast(
        (one) => isIn(one, namespace) && metaOf(one).name === name,
      );
      return found === undefined ? undefined : serviceOf(namespace, name, found);
    },
    endpoints(namespace, name) {
      if (options.legacyEndpoints) {
        const found = ofKind("Endpoints").findLast(
          (one) => isIn(one, namespace) && metaOf(one).name === name,
        );
        return { slices: [], subsets: found === undefined ? [] : subsetsOf(found) };
      }
      const slices = ofKind("EndpointSlice").flatMap((one) => {
        const meta = metaOf(one);
        const isOf = meta.labels.get("kubernetes.io/service-name") === name;
        return isIn(one, namespace) && isOf ? (sliceOf(meta.name, one) ?? []) : [];
      });
      return { slices, subsets: [] };
    },
  };
}

/** Whether an object has all of the labels; a wanted label without a value matches any value. */
export function hasLabels(object: unknown, wanted: Readonly<Record<string, string>>): boolean {
  const { labels } = metaOf(object);
  return Object.entries(wanted).every(
    ([key, value]) => labels.has(key) && (value === "" || labels.get(key) === value),
  );
}

export function kindOf(object: unknown): string {
  return textAt(object, "kind");
}
