/**
 * Nothing is visible before it is durable: every observation - an answer, a watch event, a progress
 * message - holds for all later observations, across any crash.
 */
import type { Event, History } from "./history.ts";
import { eventsOf, type Timeline } from "./timeline.ts";

export function durable(history: History, timeline: Timeline): string[] {
  return [...changedEvents(history), ...lostRevisions(history, timeline)];
}

/** Reports watches that saw different events for the same key at the same revision. */
function changedEvents(history: History): string[] {
  const told = new Map<string, string>();
  return history.watches.flatMap((watch) =>
    [...Map.groupBy(eventsOf(watch), placeOf)].flatMap(([place, events]) => {
      const now = JSON.stringify(events.map(({ kv }) => kv ?? null));
      const before = told.get(place);
      // A filter or a cut connection may omit some of the changes that one revision made to a key.
      if (before !== undefined && before !== now && !watch.noPut && !watch.noDelete) {
        return [`${place} was ${before} and became ${now} for watch ${watch.id}`];
      }
      if (!watch.noPut && !watch.noDelete) told.set(place, now);
      return [];
    }),
  );
}

function placeOf({ key, revision }: Event): string {
  return `${key} at ${revision}`;
}

/** Reports answers with a revision below one that was observed before their request was sent. */
function lostRevisions(history: History, timeline: Timeline): string[] {
  const problems: string[] = [];
  for (const { id, outcome, invoked } of history.operations) {
    const floor = timeline.floor(invoked);
    if (outcome.kind === "answered" && outcome.revision < floor) {
      problems.push(`operation ${id} was told ${outcome.revision} after somebody saw ${floor}`);
    }
  }
  for (const { id, asked, created } of history.watches) {
    const floor = timeline.floor(asked);
    if (created !== undefined && created.revision < floor) {
      problems.push(`watch ${id} was made at ${created.revision} after somebody saw ${floor}`);
    }
  }
  return problems;
}
