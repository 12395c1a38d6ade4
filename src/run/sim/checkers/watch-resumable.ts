/**
 * Resumable: a watch from revision s begins with the first event at or after s, on any server and for any
 * client - or it gets `compacted`, and only if s is compacted.
 */
import type { History, Watch } from "./history.ts";
import { eventsOf, firstOf, type Timeline } from "./timeline.ts";

export function watchResumable(history: History, timeline: Timeline): string[] {
  return history.watches.flatMap((watch) => problemsOf(watch, timeline));
}

function problemsOf(watch: Watch, timeline: Timeline): string[] {
  const got = eventsOf(watch)[0];
  const start = firstOf(watch);
  if (got === undefined || start === undefined) return [];
  for (let at = start; at < got.revision; at++) {
    const missed = timeline.wanted(watch, at)[0];
    if (missed !== undefined) {
      return [`watch ${watch.id} from ${start} begins at ${got.revision}, without ${at}`];
    }
  }
  return [];
}
