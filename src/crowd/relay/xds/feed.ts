/**
 * Feeds the mapping from a mirror: every object as it is set or deleted, and a mirror's new state as the
 * difference from what was fed before.
 */
import type { Clock } from "#platform/clock.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { WatchItem } from "#watch/watch-item.ts";
import type { AnyObject } from "#api/object.ts";
import type { Mirror } from "../mirror/mirror.ts";

const everything = compilePredicate({ namespace: "", namespaced: true });

interface FeedDeps {
  readonly clock: Clock;
  readonly mirror: Mirror;
  /** Puts an object; undefined: it was deleted. */
  readonly put: (key: string, object: AnyObject | undefined) => void;
  /** Called after each batch. */
  readonly settle: () => void;
  /** Keys of the mirror that this one replaces: objects that the new one lacks are deleted. Absent: it replaces none. */
  readonly known?: ReadonlySet<string>;
}

export class Feed {
  readonly #deps: FeedDeps;
  readonly #keys: Set<string>;
  /** Keys of a former state that the current state has not contained yet. Undefined: the current state is complete. */
  #unseen: Set<string> | undefined;
  #isFed = false;
  #stopped = false;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
    this.#keys = new Set(deps.known);
    this.#again();
  }

  get mirror(): Mirror {
    return this.#deps.mirror;
  }

  /** Keys of the objects that were put and not deleted. */
  get keys(): ReadonlySet<string> {
    return this.#keys;
  }

  /** Whether the whole initial state of the mirror has been put. */
  get isFed(): boolean {
    return this.#isFed;
  }

  stop(): void {
    this.#stopped = true;
  }

  #follow(): void {
    const { clock, mirror } = this.#deps;
    if (this.#stopped || mirror.closed) return;
    this.#unseen = new Set(this.#keys);
    mirror.cache.watch(
      { predicate: everything, bookmarks: false, start: "state", marker: true },
      {
        deliver: (items) => {
          for (const item of items) this.#take(item);
          if (!this.#stopped) this.#deps.settle();
          return !this.#stopped;
        },
        end: () => {
          // The mirror starts anew only after this callback has returned, so the new watch begins later.
          if (!this.#stopped) clock.after("relay.xds", 0, () => this.#again());
        },
      },
    );
  }

  #again(): void {
    const { mirror } = this.#deps;
    if (mirror.ready) this.#follow();
    else mirror.whenReached(0, () => this.#follow());
  }

  #take({ type, object }: WatchItem): void {
    if (type === "BOOKMARK") return this.#endState();
    if (object === undefined) return;
    const key = `${object.namespace}/${object.name}`;
    this.#unseen?.delete(key);
    if (type === "DELETED") this.#keys.delete(key);
    else this.#keys.add(key);
    this.#deps.put(key, type === "DELETED" ? undefined : object.object);
  }

  #endState(): void {
    for (const key of this.#unseen ?? []) {
      this.#keys.delete(key);
      this.#deps.put(key, undefined);
    }
    this.#unseen = undefined;
    this.#isFed = true;
  }
}
