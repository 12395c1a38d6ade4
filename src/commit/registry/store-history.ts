/** Reads a resource's older events from the store, for cursors behind the ring. */
import type { Commit, Revision, Store, StoreEvent } from "#store/store.ts";
import { CacheEvent } from "#watch/cache-event.ts";
import type { History, HistoryReader, HistorySink } from "#watch/history.ts";
import type { ObjectSource } from "#forms/shared-object.ts";
import { SharedObject } from "#forms/shared-object.ts";
import type { ResourcePrefix } from "./keys.ts";
import { resourceRange } from "./keys.ts";

export class StoreHistory implements History {
  readonly #store: Store;
  readonly #prefix: ResourcePrefix;
  readonly #source: ObjectSource;

  constructor(deps: { store: Store; prefix: ResourcePrefix; source: ObjectSource }) {
    this.#store = deps.store;
    this.#prefix = deps.prefix;
    this.#source = deps.source;
  }

  read(after: number, sink: HistorySink): HistoryReader {
    let closed = false;
    // A store calls sinks only after `watch` has returned.
    const watch = this.#store.watch(resourceRange(this.#prefix), after as Revision, {
      deliver: (commits) => closed || sink.deliver(this.#events(commits)),
      compacted: () => {
        if (!closed) sink.compacted();
      },
    });
    const close = (): void => {
      closed = true;
      watch.close();
    };
    return {
      get position() {
        return watch.position;
      },
      resume: () => watch.resume(),
      close,
    };
  }

  #events(commits: readonly Commit[]): CacheEvent[] {
    return commits.flatMap((commit) =>
      commit.events.map((event) => this.#event(commit.revision, event)),
    );
  }

  #event(revision: number, event: StoreEvent): CacheEvent {
    const key = event.key.slice(this.#prefix.length);
    const object = (kv: { value: Uint8Array; modRevision: number }): SharedObject =>
      new SharedObject(this.#source, key, kv.value, kv.modRevision);
    const next = event.kind === "put" ? object(event.kv) : undefined;
    const previous = event.previous === undefined ? undefined : object(event.previous);
    return new CacheEvent(revision, key, next, previous);
  }
}
