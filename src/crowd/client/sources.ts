/**
 * The sources of a controller's keys: changes of watched objects (`watch`), calls of its own (`KeySource`), or
 * the beginning (`once`).
 *
 *   change ── of a kind in `on`, accepted by `only` and `changed` ──► `keysOf` the object before and after
 *          ──► the work queue, at once, or delayed by `sizeOf` the key
 *
 * Holds  a key is added once per change, even if the object had it before and has it after.
 */
import type { KubeObject } from "#api/object.ts";
import { addGathered } from "./gather.ts";
import type { Informer } from "./informer.ts";
import type { KeySink } from "./workqueue.ts";

export interface Source {
  /** The controller becomes ready when this informer has its first list. */
  readonly informer?: { readonly hasSynced: boolean };
  /** Adds keys to `queue` from now on, beginning with existing objects. @returns a function that stops this. */
  connect(queue: KeySink): () => void;
}

type ChangeKind = "add" | "update" | "delete";

/** The keys of an object; undefined: none. */
type KeysOf<T> = (object: T) => string | Iterable<string> | undefined;

/** Filters of changes; absent: all changes count. Methods, so that the frame can hold filters of any kind. */
export interface WatchOptions<T> {
  readonly on?: readonly ChangeKind[];
  /** Whether changes of this object count. For a deletion, the object is the last state seen. */
  only?(object: T): boolean;
  /** Whether an update counts; creations and deletions always do. Absent: every update counts. */
  changed?(old: T, object: T): boolean;
  /** Number of objects that a reconcile of the key reads; frequent wakes of a large key are combined (gather.ts). */
  sizeOf?(key: string): number;
}

const everyKind: readonly ChangeKind[] = ["add", "update", "delete"];

/** Changes of the informer's objects add the keys that `keysOf` returns. */
export function watch<T extends KubeObject>(
  informer: Informer<T>,
  keysOf: KeysOf<T>,
  options: WatchOptions<T> = {},
): Source {
  const { on = everyKind } = options;
  return {
    informer,
    connect(queue) {
      const add = (key: string): void => addGathered(queue, key, options.sizeOf?.(key) ?? 0);
      const isWatched = (kind: ChangeKind, object: T): boolean =>
        on.includes(kind) && options.only?.(object) !== false;
      return informer.addHandler({
        add(object) {
          if (isWatched("add", object)) addEach(keysOf(object), add);
        },
        update(old, object) {
          if (!isWatched("update", object) || options.changed?.(old, object) === false) return;
          addEach(union(keysOf(old), keysOf(object)), add);
        },
        delete(object) {
          if (isWatched("delete", object)) addEach(keysOf(object), add);
        },
      });
    },
  };
}

type Keys = ReturnType<KeysOf<never>>;

function addEach(keys: Keys, add: (key: string) => void): void {
  if (keys === undefined) return;
  if (typeof keys === "string") add(keys);
  else for (const key of keys) add(key);
}

/** No set is created in the common case of one unchanged key. */
function union(before: Keys, after: Keys): Keys {
  if (before === undefined || before === after) return after;
  const all = new Set<string>();
  addEach(before, (key) => all.add(key));
  addEach(after, (key) => all.add(key));
  return all;
}

/** Adds one key after a delay, for a loop with a single key that requests its own repetitions. */
export function once(key: string, delayMs: number): Source {
  return {
    connect(queue) {
      queue.addAfter(key, delayMs);
      return () => {};
    },
  };
}

/** Keys added by the controller's own code; kept until it is connected, so that none is lost. */
export class KeySource implements Source {
  #queue: KeySink | undefined;
  /** Delays by key, at most one per key, as in a queue. */
  readonly #early = new Map<string, number>();

  connect(queue: KeySink): () => void {
    this.#queue = queue;
    for (const [key, delayMs] of this.#early) queue.addAfter(key, delayMs);
    this.#early.clear();
    return () => {
      this.#queue = undefined;
    };
  }

  add(key: string): void {
    if (this.#queue === undefined) this.#early.set(key, 0);
    else this.#queue.add(key);
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#queue !== undefined) return this.#queue.addAfter(key, delayMs);
    this.#early.set(key, Math.min(delayMs, this.#early.get(key) ?? delayMs));
  }
}
