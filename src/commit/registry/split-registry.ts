/**
 * Combines several registries into one: some resources live in stores of their own, with revisions of their own.
 *
 * Holds  each resource is looked up in one registry only, so its resourceVersions come from one store. Resources of
 *        two stores have no common order, which Kubernetes never promises.
 */
import type { GroupResource } from "#api/object.ts";
import type { OpenRegistry } from "./registry.ts";

interface RegistryPart {
  /** Whether this part stores the resource, given by storage group and name. */
  readonly holds: (resource: GroupResource) => boolean;
  readonly registry: OpenRegistry;
}

/** `main` stores what no part stores. */
export function splitRegistry(main: OpenRegistry, parts: readonly RegistryPart[]): OpenRegistry {
  if (parts.length === 0) return main;
  const all = [main, ...parts.map(({ registry }) => registry)];
  const of = (resource: GroupResource): OpenRegistry =>
    parts.find(({ holds }) => holds(resource))?.registry ?? main;
  return {
    get revision() {
      return main.revision;
    },
    store: (info, rules) => of(info.storage ?? info).store(info, rules),
    cache: (resource) => of(resource).cache(resource),
    count: (resource, namespace) => of(resource).count(resource, namespace),
    cores: () => all.flatMap((registry) => [...registry.cores()]),
    follow: (resource, changed) => of(resource).follow(resource, changed),
    onRelease: (resource, released) => of(resource).onRelease(resource, released),
    async ready() {
      await Promise.all(all.map((registry) => registry.ready()));
    },
    async close() {
      await Promise.all(all.map((registry) => registry.close()));
    },
  };
}
