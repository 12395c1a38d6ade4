/**
 * An informer: a local copy of one resource, kept by a reflector per namespace or by one for all, with
 * indexes and handlers.
 *
 * Holds  store = the server's state at `resourceVersion`, for the selection; with several namespaces each has
 *        a state of its own.
 * Out    each change once and in order: add, update, delete. After a relist, handlers get the difference
 *        to the previous copy, so they never see an event for an object that did not change.
 * Shared all handlers share one copy, over the direct transport also with the server's caches: handlers
 *        must not change objects (frozen in tests).
 */
import type { KubeObject } from "#api/object.ts";
import { headOf, keptHead } from "#api/json/object-head.ts";
import { assert } from "#base/assert.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceRef, WatchedEvent } from "./client.ts";
import type { IndexFunction } from "./indexer.ts";
import { commonIndexes, Indexer, keyOf, objectKey } from "./indexer.ts";
import type { NamespacesSelection, NamespacesSink } from "./namespace-reflectors.ts";
import { NamespaceReflectors } from "./namespace-reflectors.ts";
import type { ReflectorDeps, Selection } from "./reflector.ts";

type Change<T> =
  | { readonly kind: "add"; readonly object: T }
  | { readonly kind: "update"; readonly old: T; readonly object: T }
  /** `object`: the last state sent by the server, or the last state held if the deletion was missed. */
  | { readonly kind: "delete"; readonly object: T };

/** All optional. Called synchronously, after the store was updated with the whole batch. */
interface InformerHandler<T> {
  add?(object: T): void;
  update?(old: T, object: T): void;
  delete?(object: T): void;
  /** Called after the individual calls of a batch; `changes` is not empty. */
  batch?(changes: readonly Change<T>[]): void;
}

export interface Informer<T extends KubeObject> {
  readonly ref: ResourceRef;
  /** Resolves once the first list is in the store and was passed to the handlers. */
  readonly synced: Promise<void>;
  readonly hasSynced: boolean;
  /** The version of the server's state in the store; "" before the first list, and with several namespaces. */
  readonly resourceVersion: string;
  readonly size: number;
  /** `namespace` "" for cluster-scoped resources. */
  get(namespace: string, name: string): T | undefined;
  /** By `namespace/name` or `name`, the key of work queues. */
  getByKey(key: string): T | undefined;
  values(): IterableIterator<T>;
  list(namespace?: string): readonly T[];
  /** Idempotent per name; allowed at any time. */
  addIndex(name: string, values: IndexFunction<T>): void;
  byIndex(name: string, value: string): readonly T[];
  countByIndex(name: string, value: string): number;
  /** A late handler receives the present state as adds before this returns. @returns a function that removes it. */
  addHandler(handler: InformerHandler<T>): () => void;
  /** Lists and watches until `signal` aborts. Call once. */
  run(signal: AbortSignal): Promise<void>;
}

/** One local copy of several namespaces, which may be added and removed while it runs. */
export interface NamespacesInformer<T extends KubeObject> extends Informer<T> {
  readonly namespaces: readonly string[];
  /** `hasSynced` is false until its first list is held. No effect when it was added before. */
  addNamespace(namespace: string): void;
  /** Removes its objects from the copy; handlers receive each as a delete. */
  removeNamespace(namespace: string): void;
}

export function createInformer<T extends KubeObject>(
  deps: ReflectorDeps,
  { namespace = "", ...selection }: Selection,
): Informer<T> {
  return new LocalInformer<T>(deps, selection, [namespace]);
}

/** Starts without namespaces, and requests nothing outside of those that are added. */
export function createNamespacesInformer<T extends KubeObject>(
  deps: ReflectorDeps,
  selection: NamespacesSelection,
): NamespacesInformer<T> {
  return new LocalInformer<T>(deps, selection, []);
}

const namespaceIndex = "informer.namespace";

class LocalInformer<T extends KubeObject> implements NamespacesInformer<T>, NamespacesSink<T> {
  readonly ref: ResourceRef;
  readonly synced: Promise<void>;
  readonly #reflectors: NamespaceReflectors<T>;
  readonly #log: Log;
  readonly #store = new Indexer<T>();
  readonly #handlers = new Set<InformerHandler<T>>();
  #resolveSynced: () => void = () => {};
  #resourceVersion = "";

  constructor(deps: ReflectorDeps, selection: NamespacesSelection, namespaces: readonly string[]) {
    this.ref = selection.ref;
    this.#reflectors = new NamespaceReflectors<T>(deps, selection, this);
    for (const namespace of namespaces) this.#reflectors.add(namespace);
    this.#log = deps.log.child({ informer: selection.ref.resource });
    this.#store.addIndex(namespaceIndex, commonIndexes.namespace);
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  get hasSynced(): boolean {
    return this.#reflectors.haveListed;
  }

  get resourceVersion(): string {
    return this.namespaces.length === 1 ? this.#resourceVersion : "";
  }

  get namespaces(): readonly string[] {
    return this.#reflectors.names;
  }

  addNamespace(namespace: string): void {
    assert(namespace !== "", "a namespace has a name; all of them are another informer");
    this.#reflectors.add(namespace);
  }

  removeNamespace(namespace: string): void {
    this.#reflectors.remove(namespace);
  }

  get size(): number {
    return this.#store.size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#store.get(objectKey(namespace, name));
  }

  getByKey(key: string): T | undefined {
    return this.#store.get(key);
  }

  values(): IterableIterator<T> {
    return this.#store.values();
  }

  list(namespace?: string): readonly T[] {
    if (namespace === undefined || namespace === "") return [...this.#store.values()];
    return this.#store.byIndex(namespaceIndex, namespace);
  }

  addIndex(name: string, values: IndexFunction<T>): void {
    this.#store.addIndex(name, values);
  }

  byIndex(name: string, value: string): readonly T[] {
    return this.#store.byIndex(name, value);
  }

  countByIndex(name: string, value: string): number {
    return this.#store.countByIndex(name, value);
  }

  addHandler(handler: InformerHandler<T>): () => void {
    const changes: Change<T>[] = [];
    for (const object of this.#store.values()) changes.push({ kind: "add", object });
    if (changes.length > 0) this.#tell(handler, changes);
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflectors.run(signal);
  }

  replaceIn(namespace: string, items: readonly T[], resourceVersion: string): void {
    const changes: Change<T>[] = [];
    /** Objects that are held but not listed. */
    const gone = new Set(this.#keysIn(namespace));
    for (const item of items) {
      const key = keyOf(item);
      gone.delete(key);
      const held = this.#store.get(key);
      if (!sameVersion(held, item)) this.#put(key, item, changes);
      // The same object with the bytes of this list, so that those of an older list can be freed.
      else if (keptHead(item) !== undefined) this.#store.set(key, item);
    }
    for (const key of gone) this.#remove(key, undefined, changes);
    this.#resourceVersion = resourceVersion;
    this.#publish(changes);
  }

  allListed(): void {
    this.#resolveSynced();
  }

  #keysIn(namespace: string): Iterable<string> {
    if (namespace === "") return this.#store.keys();
    return this.#store.byIndex(namespaceIndex, namespace).map(keyOf);
  }

  apply(events: readonly WatchedEvent<T>[]): void {
    const changes: Change<T>[] = [];
    for (const event of events) {
      const version = headOf(event.object).resourceVersion ?? "";
      if (event.type === "ADDED" || event.type === "MODIFIED") {
        const key = keyOf(event.object);
        if (!sameVersion(this.#store.get(key), event.object)) {
          this.#put(key, event.object, changes);
        }
      } else if (event.type === "DELETED") {
        this.#remove(keyOf(event.object), event.object, changes);
      }
      this.#resourceVersion = version;
    }
    this.#publish(changes);
  }

  #put(key: string, object: T, changes: Change<T>[]): void {
    const old = this.#store.set(key, object);
    if (old === undefined) return void changes.push({ kind: "add", object });
    if (headOf(old).uid === headOf(object).uid) {
      return void changes.push({ kind: "update", old, object });
    }
    // Another object with the same name: the deletion of its predecessor was missed.
    changes.push({ kind: "delete", object: old }, { kind: "add", object });
  }

  #remove(key: string, last: T | undefined, changes: Change<T>[]): void {
    const held = this.#store.delete(key);
    if (held !== undefined) changes.push({ kind: "delete", object: last ?? held });
  }

  #publish(changes: readonly Change<T>[]): void {
    if (changes.length === 0) return;
    for (const handler of this.#handlers) this.#tell(handler, changes);
  }

  /** An error in one handler must not affect other handlers and the copy. */
  #tell(handler: InformerHandler<T>, changes: readonly Change<T>[]): void {
    try {
      for (const change of changes) tellOne(handler, change);
      handler.batch?.(changes);
    } catch (error) {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#log.error("informer handler threw", { stack });
    }
  }
}

function tellOne<T>(handler: InformerHandler<T>, change: Change<T>): void {
  switch (change.kind) {
    case "add":
      return handler.add?.(change.object);
    case "update":
      return handler.update?.(change.old, change.object);
    case "delete":
      return handler.delete?.(change.object);
    default:
      return change satisfies never;
  }
}

function sameVersion(held: KubeObject | undefined, next: KubeObject): boolean {
  if (held === undefined) return false;
  const [a, b] = [headOf(held), headOf(next)];
  return a.resourceVersion === b.resourceVersion && a.uid === b.uid;
}
