/**
 * For watchers that want the latest state only: several changes of one object become the one that leads
 * from what was seen before them to what is there after them.
 *
 *   before    then added or modified   then deleted
 *   ADDED     ADDED                    nothing
 *   MODIFIED  MODIFIED                 DELETED
 *   DELETED   MODIFIED                 DELETED
 *
 * Holds  each object at most once, at the place and with the revision of its last change: whoever goes on
 *        from any of them is told everything that is newer. State after = state after the plain events.
 */
import type { WatchItem } from "./watch-item.ts";

/** @returns `items` themselves when there is nothing to merge. */
export function latestItems(items: readonly WatchItem[]): readonly WatchItem[] {
  const latest = new Map<string, WatchItem>();
  for (const item of items) {
    const { object } = item;
    if (object === undefined) continue;
    const key = `${object.namespace}/${object.name}`;
    const before = latest.get(key);
    // Taken out first: the last change decides the place.
    latest.delete(key);
    const type = before === undefined ? item.type : mergedType(before.type, item.type);
    if (type !== undefined) latest.set(key, type === item.type ? item : { ...item, type });
  }
  return latest.size === items.length ? items : [...latest.values()];
}

function mergedType(
  before: WatchItem["type"],
  last: WatchItem["type"],
): WatchItem["type"] | undefined {
  if (last === "DELETED") return before === "ADDED" ? undefined : "DELETED";
  return before === "ADDED" ? "ADDED" : "MODIFIED";
}
