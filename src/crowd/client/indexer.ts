/**
 * Objects of one resource by key, with named indexes that are updated together with them.
 *
 * Holds  for every index i and value v: byIndex(i, v) = { o in store : v in i(o) }.
 * Cost   set and delete O(index values of the object); reading an index entry O(its size).
 *        A million objects are a million map entries: bounded by what the server holds.
 */
import type { KubeObject } from "#api/object.ts";
import { headOf, keptHead } from "#api/json/object-head.ts";
import { assert } from "#base/assert.ts";

/** `namespace/name`, or `name` for cluster-scoped objects; used for queues and stores. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export function keyOf(object: KubeObject): string {
  const kept = keptHead(object);
  if (kept !== undefined) return kept.key;
  return objectKey(object.metadata?.namespace, object.metadata?.name ?? "");
}

/** The index values of an object; without values it is not in the index. Must be pure. */
export type IndexFunction<T> = (object: T) => readonly string[];

interface Index<T> {
  readonly values: IndexFunction<T>;
  readonly entries: Map<string, Map<string, T>>;
}

export class Indexer<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Sets `key` and returns the previous object. */
  set(key: string, object: T): T | undefined {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) indexReplace(index, key, old, object);
    return old;
  }

  delete(key: string): T | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) indexReplace(index, key, old, undefined);
    return old;
  }

  /** Adds an index over existing and future objects. A name belongs to one function and is never reused. */
  addIndex(name: string, values: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return;
    const index: Index<T> = { values, entries: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) indexReplace(index, key, undefined, object);
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    assert(index !== undefined, "no such index", { name });
    const entry = index.entries.get(value);
    return entry === undefined ? [] : [...entry.values()];
  }

  /** The number of objects that `byIndex` would return, without creating the list. */
  countByIndex(name: string, value: string): number {
    const index = this.#indexes.get(name);
    assert(index !== undefined, "no such index", { name });
    return index.entries.get(value)?.size ?? 0;
  }
}

function indexReplace<T>(index: Index<T>, key: string, old: T | undefined, next: T | undefined) {
  const after = next === undefined ? [] : index.values(next);
  if (old !== undefined) {
    for (const value of index.values(old)) {
      if (!after.includes(value)) indexRemove(index.entries, value, key);
    }
  }
  if (next === undefined) return;
  for (const value of after) {
    const entry = index.entries.get(value);
    if (entry === undefined) index.entries.set(value, new Map([[key, next]]));
    else entry.set(key, next);
  }
}

function indexRemove<T>(entries: Map<string, Map<string, T>>, value: string, key: string): void {
  const entry = entries.get(value);
  entry?.delete(key);
  if (entry?.size === 0) entries.delete(value);
}

/** Index functions used by many controllers. */
export const commonIndexes = {
  namespace: (object: KubeObject) => [headOf(object).namespace ?? ""],
  /** By the uid of each owner. */
  ownerUid: (object: KubeObject) => (object.metadata?.ownerReferences ?? []).map((o) => o.uid),
  /** By the uid of the controlling owner only. */
  controllerUid: (object: KubeObject) =>
    (object.metadata?.ownerReferences ?? []).filter((o) => o.controller === true).map((o) => o.uid),
  /** Pods by the node to which they are bound; unbound Pods are not indexed. */
  nodeName: (object: KubeObject & { readonly spec?: { readonly nodeName?: string } }) =>
    object.spec?.nodeName === undefined || object.spec.nodeName === ""
      ? []
      : [object.spec.nodeName],
} as const;
