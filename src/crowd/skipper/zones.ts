/**
 * A route as a zone sees it: with the endpoints of that zone alone when there are at least three, else with all. Three
 * outlive the loss of one while another is replaced.
 */
import { zoneAware } from "./ingress.ts";
import type { Route } from "./route.ts";

const endpointsMin = 3;

export function zonesOf({ backend, filters }: Route): ReadonlySet<string> {
  if (backend.kind !== "lb" || filters.some(isOptOut)) return noZones;
  const zones = new Set(backend.endpoints.map(({ zone }) => zone));
  zones.delete("");
  return zones;
}

const noZones: ReadonlySet<string> = new Set();

export function routeForZone(route: Route, zone: string): Route {
  const { backend } = route;
  if (backend.kind !== "lb" || route.filters.some(isOptOut)) return route;
  const endpoints = backend.endpoints.filter((one) => one.zone === zone);
  return endpoints.length < endpointsMin ? route : { ...route, backend: { ...backend, endpoints } };
}

function isOptOut({ name, args }: Route["filters"][number]): boolean {
  return name === "annotate" && args.length === 2 && args[0] === zoneAware && args[1] === "false";
}
