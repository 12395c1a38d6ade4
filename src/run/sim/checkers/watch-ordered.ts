/** Ordered: a watch gets its events by increasing revision. */
import type { History } from "./history.ts";
import { eventsOf } from "./timeline.ts";

export function watchOrdered(history: History): string[] {
  return history.watches.flatMap((watch) => {
    let last = 0;
    return eventsOf(watch).flatMap(({ revision, key }) => {
      const before = last;
      last = revision;
      return revision < before ? [`watch ${watch.id}: ${key} at ${revision} after ${before}`] : [];
    });
  });
}
