/**
 * Progress is true: a watch with a progress message for r has got every event up to r, and gets none of
 * them later. So a client may resume after r.
 */
import type { History, Watch } from "./history.ts";
import { firstOf, type Timeline } from "./timeline.ts";

export function watchProgress(history: History, timeline: Timeline): string[] {
  return history.watches.flatMap((watch) => problemsOf(watch, timeline));
}

function problemsOf(watch: Watch, timeline: Timeline): string[] {
  const problems: string[] = [];
  const start = firstOf(watch) ?? Number.POSITIVE_INFINITY;
  let progress = 0;
  let counted = 0;
  for (const message of watch.messages) {
    if (message.kind === "events") {
      counted += message.events.length;
      const late = message.events.find(({ revision }) => revision <= progress);
      if (late === undefined) continue;
      problems.push(
        `watch ${watch.id}: ${late.key} at ${late.revision} after progress ${progress}`,
      );
    } else if (message.kind === "progress") {
      progress = Math.max(progress, message.revision);
      const owed = countWanted(watch, timeline, start, progress);
      if (owed <= counted) continue;
      problems.push(`watch ${watch.id}: progress ${progress} with ${counted} of ${owed} events`);
    }
  }
  return problems;
}

function countWanted(watch: Watch, timeline: Timeline, from: number, upTo: number): number {
  let count = 0;
  for (let at = from; at <= upTo; at++) count += timeline.wanted(watch, at).length;
  return count;
}
