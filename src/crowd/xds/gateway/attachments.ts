/**
 * Which routes a listener has, and what each of its hosts is answered by.
 *
 * After  Gateway API v1: ParentReference, AllowedRoutes, Listener.hostname, HTTPRouteSpec.hostnames; listeners
 *        are isolated: a request is of the most specific one that fits its host, and of no other.
 * Holds  Gateways share a port, as one proxy serves all of them: of two listeners of a port with the same
 *        hostname the one of the older Gateway counts, and routes of the other are not served by it.
 */
import { type LabelSelector, labelsMatch } from "#api/selectors/label-selector.ts";
import type { Gateway, Listener } from "./gateway-objects.ts";
import { compareSpecificity, coveringPatterns, covers, intersection } from "./hostnames.ts";
import type { ParentRef, RouteObject } from "./route-objects.ts";
import { compareEntries, entriesOf, type RouteEntry } from "./rule-routes.ts";

export type Labels = Readonly<Record<string, string>>;

interface Attached {
  readonly hostname: string;
  readonly route: RouteObject;
}

interface AttachedListener {
  readonly gateway: Gateway;
  readonly listener: Listener;
  readonly routes: Attached[];
}

export interface HostEntries {
  readonly hostname: string;
  /** Entries in order of precedence. */
  readonly entries: readonly RouteEntry[];
}

/** Attaches routes to listeners. @returns the listeners of each port. */
export function attach(
  gateways: readonly Gateway[],
  routes: readonly RouteObject[],
  labelsOf: (namespace: string) => Labels | undefined,
): ReadonlyMap<number, readonly AttachedListener[]> {
  const byGateway = Map.groupBy(listenersOf(gateways), ({ gateway }) => keyOf(gateway));
  for (const route of routes) {
    for (const parent of route.parents) {
      if (parent.kind !== "Gateway") continue;
      for (const one of byGateway.get(keyOf(parent)) ?? []) {
        if (!isNamed(one.listener, parent) || !isAllowed(one, route, labelsOf)) continue;
        for (const hostname of hostnamesOf(one.listener, route))
          one.routes.push({ hostname, route });
      }
    }
  }
  return Map.groupBy([...byGateway.values()].flat(), ({ listener }) => listener.port);
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Listeners without conflicts: of those that conflict, the first of the oldest Gateway. */
function listenersOf(gateways: readonly Gateway[]): AttachedListener[] {
  const taken = new Set<string>();
  const age = ({ created, namespace, name }: Gateway): string => `${created} ${namespace}/${name}`;
  return gateways
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1))
    .flatMap((gateway) =>
      gateway.listeners.flatMap((listener) => {
        const place = `${listener.port} ${listener.hostname}`;
        if (taken.has(place)) return [];
        taken.add(place);
        return [{ gateway, listener, routes: [] }];
      }),
    );
}

function isNamed({ name, port }: Listener, parent: ParentRef): boolean {
  const isSection = parent.sectionName === undefined || parent.sectionName === name;
  return isSection && (parent.port === undefined || parent.port === port);
}

function isAllowed(
  { gateway, listener }: AttachedListener,
  route: RouteObject,
  labelsOf: (namespace: string) => Labels | undefined,
): boolean {
  const { kinds, from, selector } = listener;
  if (kinds.length > 0 && !kinds.includes(route.kind)) return false;
  switch (from) {
    case "All":
      return true;
    case "Same":
      return gateway.namespace === route.namespace;
    case "Selector":
      return isSelected(selector, labelsOf(route.namespace));
    case "None":
      return false;
    default:
      return from satisfies never;
  }
}

function isSelected(selector: LabelSelector, labels: Labels | undefined): boolean {
  return labels !== undefined && labelsMatch(selector, labels);
}

function hostnamesOf({ hostname }: Listener, route: RouteObject): ReadonlySet<string> {
  if (route.hostnames.length === 0) return new Set([hostname]);
  return new Set(route.hostnames.flatMap((one) => intersection(hostname, one) ?? []));
}

/**
 * Every host that a port tells apart. `entriesMax` of all hosts together: beyond it a host has only the
 * routes that name it, then the hosts that come last have none.
 */
export function hostsOf(
  listeners: readonly AttachedListener[],
  entriesMax: number,
): { readonly hosts: readonly HostEntries[]; readonly isCut: boolean } {
  const owners = listeners.toSorted((a, b) =>
    compareSpecificity(a.listener.hostname, b.listener.hostname),
  );
  const names = new Map<string, AttachedListener>();
  for (const one of owners) {
    for (const hostname of [one.listener.hostname, ...one.routes.map((route) => route.hostname)]) {
      const owner = owners.find(({ listener }) => covers(listener.hostname, hostname));
      if (owner === one) names.set(hostname, one);
    }
  }
  const sorted = [...names].sort(([a], [b]) => (a < b ? -1 : 1));
  const whole = hostsUpTo(sorted, entriesMax);
  if (whole !== undefined) return { hosts: whole, isCut: false };
  return { hosts: hostsCut(sorted, entriesMax), isCut: true };
}

/** @returns undefined when there are more than `entriesMax` entries. */
function hostsUpTo(
  names: readonly (readonly [string, AttachedListener])[],
  entriesMax: number,
): readonly HostEntries[] | undefined {
  let left = entriesMax;
  const hosts: HostEntries[] = [];
  const byOwner = routesByHostname(names);
  for (const [hostname, owner] of names) {
    const routes = coveringPatterns(hostname).flatMap(
      (pattern) => byOwner.get(owner)?.get(pattern) ?? [],
    );
    left -= routes.reduce((sum, { route }) => sum + entryCount(route), 0);
    if (left < 0) return undefined;
    hosts.push({ hostname, entries: orderedEntries(routes) });
  }
  return hosts;
}

function hostsCut(
  names: readonly (readonly [string, AttachedListener])[],
  entriesMax: number,
): readonly HostEntries[] {
  let left = entriesMax;
  const byOwner = routesByHostname(names);
  return names.map(([hostname, owner]) => {
    const routes = byOwner.get(owner)?.get(hostname) ?? [];
    const entries = orderedEntries(routes);
    left -= entries.length;
    return { hostname, entries: left < 0 ? [] : entries };
  });
}

function routesByHostname(
  names: readonly (readonly [string, AttachedListener])[],
): ReadonlyMap<AttachedListener, ReadonlyMap<string, readonly Attached[]>> {
  const owners = new Set(names.map(([, owner]) => owner));
  return new Map(
    [...owners].map((owner) => [owner, Map.groupBy(owner.routes, ({ hostname }) => hostname)]),
  );
}

function entryCount({ rules }: RouteObject): number {
  return rules.reduce((sum, { matches }) => sum + matches.length, 0);
}

/** Orders entries by how specific the route's hostname is, then by their matches. */
function orderedEntries(routes: readonly Attached[]): readonly RouteEntry[] {
  const byHostname = Map.groupBy(routes, ({ hostname }) => hostname);
  return [...byHostname]
    .sort(([a], [b]) => compareSpecificity(a, b))
    .flatMap(([, all]) =>
      [...new Set(all.map(({ route }) => route))].flatMap(entriesOf).sort(compareEntries),
    );
}
