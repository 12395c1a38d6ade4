/**
 * Which etcd cluster a resource lives in: upstream's `--etcd-servers-overrides`.
 *
 *   /events#https://10.0.0.1:2379;https://10.0.0.2:2379    group/resource#servers
 *   apps/*#https://10.0.0.3:2379                           all of a group
 *
 * Holds  the resource itself goes before its group, the later entry before the earlier. Entries that name the same
 *        servers, in whatever order, mean one cluster. Custom resources, their definitions and APIServices stay
 *        where the rest is, as upstream.
 * After  k8s.io/apiserver/pkg/server/options/etcd.go (ParseEtcdServersOverrides), server/storage/storage_factory.go.
 */
import type { GroupResource } from "#api/object.ts";

const formatText =
  "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated";

export interface PlacedCluster {
  readonly servers: readonly string[];
  /** Whether the cluster holds a resource, given by storage group and name. */
  readonly holds: (resource: GroupResource) => boolean;
}

interface Override extends GroupResource {
  readonly servers: readonly string[];
}

/** Objects without a kind of their own, to the resource whose cluster they share. */
const companions: ReadonlyMap<string, string> = new Map([
  ["/rangeallocations", "/services"],
  ["/masterleases", "/apiServerIPInfo"],
]);

/** Throws Error with upstream's text. `builtin`: resources as they are stored. @returns clusters in the order of their first entries. */
export function placementOf(
  texts: readonly string[],
  builtin: Iterable<GroupResource>,
): readonly PlacedCluster[] {
  const overrides = texts.map(parseOverride);
  const movable = new Set(movableNames(builtin));
  const clusters = new Map<string, readonly string[]>();
  for (const { servers } of overrides) {
    const name = clusterName(servers);
    if (!clusters.has(name)) clusters.set(name, servers);
  }
  const clusterOf = (resource: GroupResource): string | undefined => {
    const named = nameOf(resource);
    const place = companions.get(named) ?? named;
    return movable.has(named) ? lastFor(overrides, place) : undefined;
  };
  return [...clusters].map(([name, servers]) => ({
    servers,
    holds: (resource) => clusterOf(resource) === name,
  }));
}

/** Parses an entry of the flag. Throws Error. */
function parseOverride(text: string): Override {
  const [place = "", servers = "", ...more] = text.split("#");
  const [group = "", resource, ...rest] = place.split("/");
  const urls = servers.split(";");
  const isWhole = more.length === 0 && resource !== undefined && rest.length === 0;
  if (!isWhole || urls.includes("")) throw new Error(formatText);
  return { group, resource, servers: urls };
}

function* movableNames(builtin: Iterable<GroupResource>): Iterable<string> {
  yield* companions.keys();
  for (const resource of builtin) {
    const { group } = resource;
    const isOfOthers = group === "apiextensions.k8s.io" || group === "apiregistration.k8s.io";
    if (!isOfOthers) yield nameOf(resource);
  }
}

function lastFor(overrides: readonly Override[], place: string): string | undefined {
  const [group = ""] = place.split("/");
  const own = overrides.findLast((override) => nameOf(override) === place);
  const found = own ?? overrides.findLast((override) => nameOf(override) === `${group}/*`);
  return found === undefined ? undefined : clusterName(found.servers);
}

function nameOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}

function clusterName(servers: readonly string[]): string {
  return servers.toSorted().join(";");
}
