/**
 * Merges events for watchers that want the latest state only: several changes of one object become one change,
 * from the state before the first of them to the state after the last.
 *
 *   first     last: added or modified   last: deleted
 *   ADDED     ADDED                     DELETED
 *   MODIFIED  MODIFIED                  DELETED
 *   DELETED   MODIFIED                  DELETED
 *
 * Holds  each object appears at most once, at the place and with the revision of its last change, so a
 *        client that resumes from any item gets everything newer. The resulting state equals the state
 *        after the plain events.
 * Why    an object that is created and deleted in one window gives DELETED instead of nothing. A client that
 *        resumes after a torn batch, or at another replica, may hold the object from an earlier change
 *        whose item it never got.
 */
import type { WatchItem } from "./watch-item.ts";

/** @returns `items` themselves when there is nothing to merge. */
export function latestItems(items: readonly WatchItem[]): readonly WatchItem[] {
  const latest = new Map<string, WatchItem>();
  const firsts = new Map<string, WatchItem["type"]>();
  for (const item of items) {
    const { object } = item;
    if (object === undefined) continue;
    const key = `${object.namespace}/${object.name}`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, item.type);
    // Deleted first, because the last change determines the position in the map.
    latest.delete(key);
    const type = first === undefined ? item.type : mergedType(first, item.type);
    latest.set(key, type === item.type ? item : { ...item, type });
  }
  return latest.size === items.length ? items : [...latest.values()];
}

function mergedType(first: WatchItem["type"], last: WatchItem["type"]): WatchItem["type"] {
  if (last === "DELETED") return "DELETED";
  return first === "ADDED" ? "ADDED" : "MODIFIED";
}
