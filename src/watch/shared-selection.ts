/**
 * Events as items of a watch, one array for all cursors of a cache that read the same events of the same
 * keys: its encoding is found by the array, so a crowd that is behind together shares one.
 *
 * Bounds  one batch, the last.
 */
import type { CacheEvent } from "./cache-event.ts";
import type { Predicate } from "./predicate.ts";
import type { WatchItem } from "./watch-item.ts";

interface Selected {
  readonly events: readonly CacheEvent[];
  readonly from: string;
  readonly to: string;
  readonly items: readonly WatchItem[];
}

export class SharedSelection {
  #last: Selected | undefined;

  /** `events` as `predicate` sees them; not to be changed by anybody. */
  items(events: readonly CacheEvent[], predicate: Predicate): readonly WatchItem[] {
    if (predicate.selective) return select(events, predicate);
    const { from, to } = predicate;
    const last = this.#last;
    if (last?.events === events && last.from === from && last.to === to) return last.items;
    const items = select(events, predicate);
    this.#last = { events, from, to, items };
    return items;
  }
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
