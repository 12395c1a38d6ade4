/**
 * A watch of one kind of objects that is reopened when it ends. Each watch delivers all objects first, then their
 * changes.
 */
import type { AnyObject } from "#api/object.ts";
import type { Catalog } from "#apiserver/kind.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceWatch } from "#registry/resource-store.ts";

/** Time until a new watch opens. A watch ends when its history is compacted; the next one starts from the current state. */
const reopenMs = 1_000;

interface FeedDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each object at the start, then for each change. It never throws. */
  readonly changed: (object: AnyObject, isGone: boolean) => void;
  /** Called before a watch opens. Deletions since the previous watch ended are not delivered. */
  readonly opened?: () => void;
}

interface FeedKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export class ObjectFeed {
  readonly #deps: FeedDeps;
  readonly #kind: FeedKind;
  #watch: ResourceWatch | undefined;
  #timer: Timer | undefined;
  #opening: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: FeedDeps, kind: FeedKind) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /** Opens the watch. Resolves when all objects were delivered, or when the watch cannot start yet. */
  open(): Promise<void> {
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#watch?.close();
  }

  async #openNow(): Promise<void> {
    const { catalog, log, changed, opened } = this.#deps;
    const { group, version, resource } = this.#kind;
    const store = catalog.find(group, version, resource)?.store;
    if (store === undefined || this.#isClosed) return;
    opened?.();
    try {
      const sink = {
        deliver: (items: Parameters<Parameters<typeof store.watch>[2]["deliver"]>[0]) => {
          for (const { type, object } of items) {
            if (object !== undefined) changed(object.object, type === "DELETED");
          }
          return true;
        },
        end: () => this.#reopen(),
      };
      const watch = await store.watch("", { allowBookmarks: false }, sink);
      if (this.#isClosed) watch.close();
      else this.#watch = watch;
    } catch (error) {
      log.warn("a watch could not be opened", { resource, error: String(error) });
      this.#reopen();
    }
  }

  #reopen(): void {
    this.#watch = undefined;
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after("aggregation.watch", reopenMs, () => {
      this.#opening = this.#openNow();
    });
  }
}
