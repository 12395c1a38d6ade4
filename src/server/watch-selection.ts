/**
 * The items of a batch that a stream sends, where its selection looks at objects as they are shown: the watch
 * below it selects by what is stored.
 */
import type { CachedObject } from "#watch/cached-object.ts";
import type { StreamItem } from "./watch-frames.ts";

export type Includes = (cached: CachedObject) => boolean;

/** What a selection looks at: also each changed object's state before. */
export function objectsOf(items: readonly StreamItem[]): readonly CachedObject[] {
  return items.flatMap(({ object, change }) => [object ?? [], change?.previous ?? []].flat());
}

export function selectItems(
  items: readonly StreamItem[],
  includes: Includes,
): readonly StreamItem[] {
  return items.flatMap((item) => selected(item, includes) ?? []);
}

function selected(item: StreamItem, includes: Includes): StreamItem | undefined {
  const { object, change } = item;
  if (object === undefined) return item;
  const sees = includes(object);
  if (change === undefined) return sees ? item : undefined;
  const saw = change.previous !== undefined && includes(change.previous);
  if (sees) return saw ? item : change.asAdded();
  return saw ? change.asDeleted() : undefined;
}
