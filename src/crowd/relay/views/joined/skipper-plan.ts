/**
 * `skipper-routes`: what Skipper's routesrv serves, as a plan of a joined view. A row is a route, found by its id.
 *
 *   ingresses, routegroups ──name──► services ──label──► endpointslices
 *                          └─host──► the host's group: 404 and redirects of its other paths
 */
import type { CachedObject } from "#forms/cached-object.ts";
import { globalRoutes } from "#skipper/global-routes.ts";
import { hostRest } from "#skipper/host-rest.ts";
import { type Cluster, type HostSummary, ingressRoutes } from "#skipper/ingress.ts";
import { printRoute } from "#skipper/eskip-print.ts";
import type { SkipperOptions } from "#skipper/options.ts";
import type { Route } from "#skipper/route.ts";
import { routeGroupRoutes } from "#skipper/route-group.ts";
import { routeForZone, zonesOf } from "#skipper/zones.ts";
import { clusterOf, endpointsInput, serviceInput } from "./cluster-inputs.ts";
import type { JoinedRow, JoinInput, JoinPlan, Lookup, Made } from "./join-plan.ts";

/** Whether endpoints include their zone, which Skipper reads from 0.22 on. */
export interface RouteForm {
  readonly endpointZones: boolean;
}

export const skipperResources = {
  ingresses: "networking.k8s.io/v1/ingresses",
  routeGroups: "zalando.org/v1/routegroups",
} as const;

/** Input numbers of Ingresses and RouteGroups; inputs 0 and 1 are Services and their endpoints. */
const [ingresses, routeGroups] = [2, 3];

export function skipperPlan(
  options: SkipperOptions,
  form: RouteForm,
  hasRouteGroups: boolean,
): JoinPlan {
  const rowsOf = (routes: readonly Route[]): readonly JoinedRow[] =>
    routes.map((route) => routeRow(route, form));
  return {
    inputs: [
      serviceInput,
      endpointsInput(options.legacyEndpoints),
      whole,
      ...(hasRouteGroups ? [whole] : []),
    ],
    makers: hasRouteGroups ? [ingresses, routeGroups] : [ingresses],
    make: (input, value, lookup) => makeRoutes(input, value, lookup, options, rowsOf),
    group: (host, shares) => {
      return options.catchAll ? rowsOf(hostRest(host, summariesOf(shares))) : [];
    },
    fixed: rowsOf(globalRoutes(options)),
  };
}

/** Parses the shares of a group; equal ones, which are frequent among Ingresses of one host, are parsed once. */
function summariesOf(shares: readonly string[]): readonly HostSummary[] {
  const read = new Map<string, HostSummary>();
  return shares.map((share) => {
    const summary = read.get(share) ?? (JSON.parse(share) as HostSummary);
    read.set(share, summary);
    return summary;
  });
}

function makeRoutes(
  input: number,
  value: unknown,
  lookup: Lookup,
  options: SkipperOptions,
  rowsOf: (routes: readonly Route[]) => readonly JoinedRow[],
): Made {
  const { object } = value as CachedObject;
  const cluster: Cluster = clusterOf(lookup);
  if (input === routeGroups) {
    return { rows: rowsOf(routeGroupRoutes(object, cluster, options) ?? []), shares: [] };
  }
  const { routes, hosts } = ingressRoutes(object, cluster, options) ?? { routes: [], hosts: [] };
  const shares = [...hosts].map(([group, summary]) => ({ group, value: JSON.stringify(summary) }));
  return { rows: rowsOf(routes), shares };
}

/** Input whose objects make rows and are never looked up. */
const whole: JoinInput = {
  indexes: 0,
  project: (object) => ({ value: object, keys: [], weight: 1 }),
};

function routeRow(route: Route, { endpointZones }: RouteForm): JoinedRow {
  const print = (one: Route): string => printRoute(one, { zones: endpointZones });
  const text = print(route);
  const zones = new Map<string, string>();
  for (const zone of zonesOf(route)) {
    const seen = routeForZone(route, zone);
    if (seen !== route) zones.set(zone, print(seen));
  }
  const { id } = route;
  const identity = JSON.stringify({ name: id });
  const change = JSON.stringify({ name: id, text });
  return { id, place: id, text, change, identity, ...(zones.size === 0 ? {} : { zones }) };
}
