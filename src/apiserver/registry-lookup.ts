/** Lookup over the registry's caches: what policy code reads inside a request. */
import type { Lookup } from "#api/lookup.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/resource-info.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";

/** `infos`: the resources that can be looked up; others have no objects. */
export function registryLookup(registry: Registry, infos: readonly ResourceInfo[]): Lookup {
  const known = new Map<string, ResourceInfo>();
  for (const info of infos) {
    const key = `${info.group}/${info.resource}`;
    if (info.storage !== undefined && !known.has(key)) known.set(key, info);
  }
  const storeOf = ({ group, resource }: GroupResource): ResourceStore | undefined => {
    const info = known.get(`${group}/${resource}`);
    return info === undefined ? undefined : registry.store(info);
  };
  return {
    get: (resource, namespace, name): AnyObject | undefined =>
      storeOf(resource)?.peek(namespace, name)?.object,
    list: (resource, namespace): readonly AnyObject[] =>
      (storeOf(resource)?.peekList(namespace) ?? []).map((cached) => cached.object),
  };
}
