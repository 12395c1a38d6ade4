/**
 * A rule as routes of Envoy, or of clients without a proxy.
 *
 * Holds  what a rule asks for and cannot be done is answered with 500, and not left out (Gateway API,
 *        "must not be skipped"). Of clients without a proxy nothing but forwarding is known by all, so the
 *        same becomes a cluster without endpoints: for one that is not there they wait 15 s.
 */
import { given } from "#base/given.ts";
import {
  type HeaderChanges,
  type Mirroring,
  type PathChange,
  refusedCluster,
  type Route,
  type RouteAction,
  type RouteMatch,
  type WeightedCluster,
} from "../route-messages.ts";
import { nowhereName } from "../resource-names.ts";
import type { Backends } from "./backends.ts";
import { type RankedMatch, routeMatches } from "./route-matches.ts";
import type { BackendRef, RouteFilter, RouteObject, RouteRule } from "./route-objects.ts";

/** One match of a rule, with its rule and route. */
export interface RouteEntry {
  readonly route: RouteObject;
  readonly rule: RouteRule;
  readonly match: RankedMatch;
  /** Index of the match in its route, counted over all rules. */
  readonly at: number;
}

export function entriesOf(route: RouteObject): readonly RouteEntry[] {
  const entries: RouteEntry[] = [];
  for (const rule of route.rules) {
    for (const match of rule.matches) entries.push({ route, rule, match, at: entries.length });
  }
  return entries;
}

/** Below zero: `a` takes precedence over `b`. */
export function compareEntries(a: RouteEntry, b: RouteEntry): number {
  for (let i = 0; i < Math.max(a.match.rank.length, b.match.rank.length); i++) {
    const difference = (b.match.rank[i] ?? 0) - (a.match.rank[i] ?? 0);
    if (difference !== 0) return difference;
  }
  const [one, other] = [ageOf(a.route), ageOf(b.route)];
  return one < other ? -1 : one > other ? 1 : a.at - b.at;
}

/** Sort key: older first, then by namespace and name. */
export function ageOf({ created, namespace, name }: RouteObject): string {
  return `${created} ${namespace}/${name}`;
}

const serverError = { kind: "answer", status: 500 } as const;

export function routesForEnvoy(entry: RouteEntry, backends: Backends): readonly Route[] {
  const { rule } = entry;
  const { requestHeaders, responseHeaders } = changesOf(rule.filters);
  const headers = {
    ...given({ requestHeaders, responseHeaders }),
  };
  return routeMatches(entry.match).map((match) => {
    return { match, action: actionOf(entry, match, backends), ...headers };
  });
}

function actionOf({ route, rule }: RouteEntry, match: RouteMatch, backends: Backends): RouteAction {
  const { filters, timeoutMs } = rule;
  if (filters.some(({ kind }) => kind === "unsupported")) return serverError;
  const changesPrefix = filters.some(
    (filter) => "path" in filter && filter.path?.kind === "prefix",
  );
  // A regular expression has no prefix to change.
  if (changesPrefix && match.kind === "regex") return serverError;
  const redirect = filters.find((filter) => filter.kind === "redirect");
  if (redirect !== undefined) {
    const { path, ...rest } = redirect;
    return { ...rest, ...pathOf(path, match) };
  }
  const clusters = clustersOf(route, rule.backends, backends);
  if (clusters.every(({ cluster }) => cluster === refusedCluster)) return serverError;
  const rewrite = filters.find((filter) => filter.kind === "rewrite");
  return {
    kind: "forward",
    clusters,
    ...(rewrite === undefined ? {} : { host: rewrite.host, ...pathOf(rewrite.path, match) }),
    ...given({ timeoutMs }),
    mirrors: mirrorsOf(route, filters, backends),
  };
}

/** Changed path. Whole elements are a path and a prefix with a final slash; each replacement ends the same way. */
function pathOf(path: PathChange | undefined, match: RouteMatch): { readonly path?: PathChange } {
  if (path === undefined) return {};
  if (path.kind === "full") return { path };
  const bare = path.text.replace(/\/+$/, "");
  const isPrefix = match.kind === "prefix";
  return { path: { kind: "prefix", text: isPrefix || bare === "" ? `${bare}/` : bare } };
}

/** Weighted clusters of a rule. The shares of unusable backends are refused. */
function clustersOf(
  route: RouteObject,
  refs: readonly BackendRef[],
  backends: Backends,
): readonly WeightedCluster[] {
  return refs
    .filter(({ weight }) => weight > 0)
    .map((ref) => {
      const isPlain = ref.filters.every(
        ({ kind }) => kind === "requestHeaders" || kind === "responseHeaders",
      );
      const found = isPlain ? backends.resolve(route, ref) : undefined;
      const cluster = found?.cluster ?? refusedCluster;
      return { cluster, weight: ref.weight, ...changesOf(ref.filters) };
    });
}

function mirrorsOf(
  route: RouteObject,
  filters: readonly RouteFilter[],
  backends: Backends,
): readonly Mirroring[] {
  return filters.flatMap((filter) => {
    if (filter.kind !== "mirror" || filter.millionths === 0) return [];
    const found = backends.resolve(route, filter.backend);
    return found === undefined ? [] : [{ cluster: found.cluster, millionths: filter.millionths }];
  });
}

interface Changes {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
}

/** Header changes of the filters. The definition allows one of each kind; otherwise the last one wins. */
function changesOf(filters: readonly RouteFilter[]): Changes {
  let changes: Changes = {};
  for (const filter of filters) {
    if (filter.kind === "requestHeaders") changes = { ...changes, requestHeaders: filter.changes };
    if (filter.kind === "responseHeaders") {
      changes = { ...changes, responseHeaders: filter.changes };
    }
  }
  return changes;
}

/**
 * Namespaces that `routes` name are added to `namespaces`. A call of gRPC is a POST without a query: what asks
 * for anything else fits no call.
 */
export function routesForClients(
  { route, rule, match }: RouteEntry,
  backends: Backends,
  namespaces: Set<string>,
): readonly Route[] {
  if (match.queries.length > 0 || !["", "POST"].includes(match.method)) return [];
  const refs = rule.filters.length > 0 ? [] : rule.backends.filter(({ weight }) => weight > 0);
  const clusters = refs.map((ref) => {
    const found = ref.filters.length > 0 ? undefined : backends.resolve(route, ref);
    if (found !== undefined) namespaces.add(found.namespace);
    return { cluster: found?.cluster ?? nowhereName(route.namespace), weight: ref.weight };
  });
  if (clusters.length === 0) clusters.push({ cluster: nowhereName(route.namespace), weight: 1 });
  const { timeoutMs = 0 } = rule;
  const limits = timeoutMs === 0 ? {} : { timeoutMs, streamMs: timeoutMs };
  const action = { kind: "forward", clusters, ...limits } as const;
  return routeMatches({ ...match, method: "" }).map((one) => ({ match: one, action }));
}
