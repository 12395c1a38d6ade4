/** Checks that revisions are dense: from the first write on, none is missing. */
import type { History } from "./history.ts";
import { firstRevision } from "./oracle.ts";
import { sightings, type Timeline } from "./timeline.ts";

export function dense(history: History, timeline: Timeline): string[] {
  const problems: string[] = [];
  for (let revision = firstRevision + 1; revision <= timeline.head; revision++) {
    if (!timeline.events.has(revision)) problems.push(`revision ${revision} holds no change`);
  }
  const beyond = sightings(history).find(({ revision }) => revision > timeline.head);
  if (beyond !== undefined) {
    problems.push(
      `revision ${beyond.revision} was told, but the last with a change is ${timeline.head}`,
    );
  }
  return problems;
}
