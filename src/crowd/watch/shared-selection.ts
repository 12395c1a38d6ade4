/**
 * Turns events into watch items, with one array for all cursors of a cache that read the same events by the same
 * selection. Encodings are found by the array, so cursors that are behind together share one encoding.
 *
 * Bounds  one batch: the most recent one.
 */
import type { CacheEvent } from "./cache-event.ts";
import { latestItems } from "./latest.ts";
import type { Predicate } from "./predicate.ts";
import type { WatchItem } from "./watch-item.ts";

interface Reader {
  readonly predicate: Predicate;
  /** At most one item per object. */
  readonly latest: boolean;
}

interface Selected {
  readonly items: readonly WatchItem[];
  /** Number of items of these events that later ones replaced. */
  readonly coalesced: number;
}

interface Kept extends Selected {
  readonly events: readonly CacheEvent[];
  readonly text: string;
  readonly latest: boolean;
}

export class SharedSelection {
  /** Number of items that latest-state watchers did not receive because later ones replaced them. */
  coalesced = 0;
  #last: Kept | undefined;

  /** Drops the cached selection, so that its events can be collected. */
  forget(): void {
    this.#last = undefined;
  }

  /** `events` as items for `reader`. The result is shared and must not be changed. */
  of(events: readonly CacheEvent[], { predicate, latest }: Reader): Selected {
    const { text } = predicate;
    const last = this.#last;
    if (last?.events === events && last.latest === latest && last.text === text) return last;
    const kept = { events, text, latest, ...selected(events, predicate, latest) };
    this.#last = kept;
    return kept;
  }
}

function selected(events: readonly CacheEvent[], predicate: Predicate, latest: boolean): Selected {
  const all = select(events, predicate);
  const items = latest ? latestItems(all) : all;
  return { items, coalesced: all.length - items.length };
}

function select(events: readonly CacheEvent[], predicate: Predicate): WatchItem[] {
  const items: WatchItem[] = [];
  for (const event of events) {
    if (event.key < predicate.from || event.key >= predicate.to) continue;
    const item = predicate.selective ? event.itemFor(predicate) : event.plainItem();
    if (item !== undefined) items.push(item);
  }
  return items;
}
