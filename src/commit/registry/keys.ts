/**
 * Maps objects to keys of the store.
 *
 *   /registry/<group>/<resource>/<namespace>/<name>     namespaced
 *   /registry/<group>/<resource>/<name>                 cluster-scoped
 *
 * `core` stands for the empty group (real groups of later kinds have dots). The byte order of keys is
 * the order of lists: by `namespace/name` as one text, as upstream. Names beyond ASCII are
 * UTF-8 bytes. The part after the resource is the key *within* the resource, which caches use.
 */
import type { GroupResource } from "#api/object.ts";
import type { Key } from "#store/store.ts";
import { keyOfText } from "#forms/shared-object.ts";

const root = "/registry/";

/** All keys of the registry in a store: [start, end). */
export const registryRange = { start: root as Key, end: "/registry0" as Key };

/** Such as `/registry/apps/deployments/`; identifies a stored resource. */
export type ResourcePrefix = string;

export function resourcePrefix(resource: GroupResource): ResourcePrefix {
  return `${root}${resource.group === "" ? "core" : resource.group}/${resource.resource}/`;
}

/** The prefix of a key; undefined when the key belongs to no object. */
export function prefixOfKey(key: Key): ResourcePrefix | undefined {
  const group = key.indexOf("/", root.length);
  const resource = group < 0 ? -1 : key.indexOf("/", group + 1);
  return resource < 0 || resource + 1 === key.length ? undefined : key.slice(0, resource + 1);
}

export function resourceOfPrefix(prefix: ResourcePrefix): GroupResource {
  const [group = "", resource = ""] = prefix.slice(root.length).split("/");
  return { group: group === "core" ? "" : group, resource };
}

/** The key within the resource. */
export function storageKey(namespace: string, name: string): string {
  return keyOfText(namespace === "" ? name : `${namespace}/${name}`);
}

/** All keys of a resource. The byte 0xff is never part of a name, because it does not occur in UTF-8. */
export function resourceRange(prefix: ResourcePrefix): { start: Key; end: Key } {
  return { start: prefix as Key, end: `${prefix}\xff` as Key };
}

/** @param key within the resource. */
export function storeKey(prefix: ResourcePrefix, key: string): Key {
  return (prefix + key) as Key;
}
