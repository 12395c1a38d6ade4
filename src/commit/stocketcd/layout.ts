/**
 * kube-apiserver's keys and ours.
 *
 *   ours      /registry/<group or core>/<resource>/<key within the resource>
 *   upstream  <prefix>/<folder>/<key within the resource>
 *
 * Which folder: `#registry/upstream-keys.ts`. What follows is the same: `namespace/name`, or `name`.
 */
import type { GroupResource } from "#api/object.ts";
import { must } from "#base/assert.ts";
import { prefixOfKey, resourceOfPrefix, resourcePrefix } from "#registry/keys.ts";
import { specialFolders } from "#registry/upstream-keys.ts";
import type { Key } from "#store/store.ts";

export class KeyLayout {
  /** Prefix of all keys in the cluster, `/registry/`. */
  readonly root: string;
  readonly #folders = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();
  readonly #holds: (resource: GroupResource) => boolean;
  readonly #held = new Map<string, boolean>();

  /**
   * `builtin`: as they are stored. `prefix`: upstream's --etcd-prefix, `/registry`. `holds`: resources that live in
   * this cluster; what it has of others was left behind, and is not shown.
   */
  constructor(
    builtin: Iterable<GroupResource>,
    prefix: string,
    holds: (resource: GroupResource) => boolean = () => true,
  ) {
    this.root = `${prefix.replace(/\/+$/, "")}/`;
    this.#holds = holds;
    for (const { group, resource } of builtin) this.#add({ group, resource }, resource);
    for (const [group, resource, folder] of specialFolders) this.#add({ group, resource }, folder);
  }

  /** Translates a key of this store into upstream's key. */
  toStock(key: Key): Key {
    const prefix = must(prefixOfKey(key), "the registry writes objects alone");
    return `${this.root}${this.#folder(prefix)}/${key.slice(prefix.length)}` as Key;
  }

  /** Translates upstream's key into a key of this store. Undefined: its kind is not served from this cluster. */
  fromStock(key: string): Key | undefined {
    const ours = this.#fromStock(key);
    const prefix = ours === undefined ? undefined : prefixOfKey(ours);
    return prefix !== undefined && this.#isHeld(prefix) ? ours : undefined;
  }

  #fromStock(key: string): Key | undefined {
    const path = key.slice(this.root.length);
    const first = path.indexOf("/");
    if (first < 0) return undefined;
    const one = path.slice(0, first);
    const second = path.indexOf("/", first + 1);
    const two = second < 0 ? undefined : path.slice(0, second);
    const special = two === undefined ? undefined : this.#prefixes.get(two);
    if (special !== undefined && second + 1 < path.length) {
      return (special + path.slice(second + 1)) as Key;
    }
    const plain = this.#prefixes.get(one);
    if (plain !== undefined && first + 1 < path.length)
      return (plain + path.slice(first + 1)) as Key;
    return one.includes(".") && two !== undefined
      ? customKey(one, two, path.slice(second + 1))
      : undefined;
  }

  #add(resource: GroupResource, folder: string): void {
    const prefix = resourcePrefix(resource);
    const old = this.#folders.get(prefix);
    if (old !== undefined) this.#prefixes.delete(old);
    this.#folders.set(prefix, folder);
    this.#prefixes.set(folder, prefix);
  }

  /** Cached, because it is called for each key, while there are few prefixes. */
  #isHeld(prefix: string): boolean {
    const known = this.#held.get(prefix);
    if (known !== undefined) return known;
    const isHeld = this.#holds(resourceOfPrefix(prefix));
    this.#held.set(prefix, isHeld);
    return isHeld;
  }

  #folder(prefix: string): string {
    const known = this.#folders.get(prefix);
    if (known !== undefined) return known;
    const { group, resource } = resourceOfPrefix(prefix);
    return `${group}/${resource}`;
  }
}

function customKey(group: string, folder: string, rest: string): Key | undefined {
  if (rest === "") return undefined;
  const resource = folder.slice(group.length + 1);
  return (resourcePrefix({ group, resource }) + rest) as Key;
}
