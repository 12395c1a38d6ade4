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
  /** Undefined: deleted. */
  readonly put: (key: string, object: AnyObject | undefined) => void;
  /** After each batch. */
  readonly settle: () => void;
  /** Of a mirror that this one stands in for: what the new one does not have is deleted. Absent: none. */
  readonly known?: ReadonlySet<string>;
}

export class Feed {
  readonly #deps: FeedDeps;
  readonly #keys: Set<string>;
  /** Keys of a former state that the present one has not shown yet; undefined: all of it was shown. */
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

  /** Of what was fed and not deleted. */
  get keys(): ReadonlySet<string> {
    return this.#keys;
  }

  /** All of the mirror's first state was fed. */
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
          // The mirror starts anew, and not before this returns.
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
