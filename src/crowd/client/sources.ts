/**
 * Where the keys of a controller come from: changes of watched objects (`watch`), calls of its own (`KeySource`), or
 * the beginning (`once`).
 *
 *   change ── of a kind in `on`, of an object as `only` says, as `changed` says ──► `keysOf` it, as it was and as it is
 *          ──► the work queue, at once, or gathered by `sizeOf` the key
 *
 * Holds  a key is added once per change, also where the object had it before and has it after.
 */
import type { KubeObject } from "#api/object.ts";
import { addGathered } from "./gather.ts";
import type { Informer } from "./informer.ts";
import type { KeySink } from "./workqueue.ts";

export interface Source {
  /** The controller is ready when it has its first list. */
  readonly informer?: { readonly hasSynced: boolean };
  /** Gives keys to `queue` from now on, those of what is there already first. Returns what ends it. */
  connect(queue: KeySink): () => void;
}

type ChangeKind = "add" | "update" | "delete";

/** Keys of an object; undefined: none. */
type KeysOf<T> = (object: T) => string | Iterable<string> | undefined;

/** Which changes count; absent: all. Methods, so that the frame can hold those of any kind. */
export interface WatchOptions<T> {
  readonly on?: readonly ChangeKind[];
  /** Whether a change of this object counts. A deletion brings the last state that was seen. */
  only?(object: T): boolean;
  /** Whether an update counts; creations and deletions always do. Absent: every update. */
  changed?(old: T, object: T): boolean;
  /** How many objects a reconcile of the key reads: many wakes of a large key are gathered into one (gather.ts). */
  sizeOf?(key: string): number;
}

const everyKind: readonly ChangeKind[] = ["add", "update", "delete"];

/** Changes of the informer's objects wake the keys that `keysOf` says. */
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

/** Most objects have the one key that they had: no set is made for them. */
function union(before: Keys, after: Keys): Keys {
  if (before === undefined || before === after) return after;
  const all = new Set<string>();
  addEach(before, (key) => all.add(key));
  addEach(after, (key) => all.add(key));
  return all;
}

/** One key, after a time: for a loop that has only one, and says itself when it comes again. */
export function once(key: string, delayMs: number): Source {
  return {
    connect(queue) {
      queue.addAfter(key, delayMs);
      return () => {};
    },
  };
}

/** Keys that the controller's own code adds: kept until it is connected, so that none is lost on the way. */
export class KeySource implements Source {
  #queue: KeySink | undefined;
  /** Delay by key. Bounds: as a queue's, one entry per key. */
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
