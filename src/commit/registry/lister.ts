/** Lookup in the registry's caches, for policy code that runs inside a request. */
import type { AnyObject } from "#api/object.ts";
import type { Lister } from "#api/lister.ts";
import { namespaceRange } from "#watch/predicate.ts";
import { keyOfText } from "#forms/shared-object.ts";
import { storageKey } from "./keys.ts";
import type { OpenRegistry } from "./registry.ts";

/** Takes storage group and resource; objects are in their storage version. */
export function createLister(registry: Pick<OpenRegistry, "cache">): Lister {
  return {
    get: (resource, namespace, name) =>
      registry.cache(resource).state.get(storageKey(namespace, name))?.object,
    list(resource, namespace) {
      const objects: AnyObject[] = [];
      const { from, to } = namespaceRange(keyOfText(namespace));
      registry.cache(resource).state.scan(from, to, (cached) => {
        objects.push(cached.object);
        return true;
      });
      return objects;
    },
  };
}
