/** Unique: no event arrives twice on one watch, nor again on the watch that resumes it. */
import type { Event, History, Watch } from "./history.ts";
import { eventsOf } from "./timeline.ts";

export function watchUnique(history: History): string[] {
  return history.watches.flatMap((watch) => {
    const seen = new Set<string>();
    return eventsOf(watch).flatMap((event) => {
      const name = nameOf(event);
      const twice = seen.has(name);
      seen.add(name);
      return twice ? [`watch ${watch.id}: ${name} came twice`] : unasked(watch, event);
    });
  });
}

/** Reports events before the start revision, which the watcher had received before. */
function unasked(watch: Watch, { revision, key }: Event): string[] {
  const { startRevision: start } = watch;
  return revision < start ? [`watch ${watch.id}: ${key} at ${revision}, start ${start}`] : [];
}

function nameOf({ revision, key, kv }: Event): string {
  return `${kv === undefined ? "delete" : "put"} of ${key} at ${revision}`;
}
