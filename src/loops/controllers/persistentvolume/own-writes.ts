/**
 * The newest known version of each object: the cached one, or one that was written here and is not in the cache yet. A
 * binding is four consecutive writes; each must start from the result of the previous one.
 *
 * Holds  get(key) has the highest resourceVersion of the cached and the written version.
 * Bounds one entry per write that the cache has not shown yet: the event removes it.
 * After  k/k pkg/controller/volume/persistentvolume, storeObjectUpdate.
 */
import type { KubeObject } from "#api/object.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";

export class OwnWrites<T extends KubeObject> {
  readonly #informer: Informer<T>;
  readonly #written = new Map<string, T>();

  constructor(informer: Informer<T>) {
    this.#informer = informer;
    informer.addHandler({
      add: (object) => this.#shown(object),
      update: (_old, object) => this.#shown(object),
      delete: (object) => void this.#written.delete(keyOf(object)),
    });
  }

  get(key: string): T | undefined {
    return this.#written.get(key) ?? this.#informer.getByKey(key);
  }

  /** `object`: the server's answer to a write. */
  note(object: T): T {
    const key = keyOf(object);
    const cached = this.#informer.getByKey(key);
    if (cached !== undefined && versionOf(cached) < versionOf(object)) {
      this.#written.set(key, object);
    }
    return object;
  }

  #shown(object: T): void {
    const key = keyOf(object);
    const written = this.#written.get(key);
    if (written !== undefined && versionOf(written) <= versionOf(object)) this.#written.delete(key);
  }
}

/** resourceVersions of one resource are comparable integers (KEP-5504) up to 2^53. */
function versionOf(object: KubeObject): number {
  return Number(object.metadata?.resourceVersion ?? 0);
}
