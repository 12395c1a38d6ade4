/**
 * Liveness: once the faults have stopped, every call is answered, every open watch has all events, and
 * every lease that is not renewed has ended.
 */
import type { History, Watch } from "./history.ts";
import { eventsOf, firstOf, type Timeline } from "./timeline.ts";

export function converged(history: History, timeline: Timeline): string[] {
  const { quiet, operations, watches } = history;
  const unanswered = operations.filter(
    ({ invoked, outcome }) => invoked.order > quiet.order && outcome.kind === "unknown",
  );
  const problems = unanswered.map(({ id }) => `operation ${id} got no answer after the faults`);
  if (!operations.some(({ invoked }) => invoked.order > quiet.order)) {
    problems.push("nobody asked anything after the faults");
  }
  for (const watcher of new Set(watches.map((watch) => watch.watcher))) {
    const last = watches.findLast((watch) => watch.watcher === watcher);
    if (last !== undefined) problems.push(...behind(last, timeline));
  }
  const attached = [...(timeline.state(timeline.head)?.values() ?? [])].filter(
    ({ lease }) => lease !== "0",
  );
  return [...problems, ...attached.map(({ key, lease }) => `${key} outlives its lease ${lease}`)];
}

/** Reports missing events. A watcher's last watch stays open until the end of the run, unless the server canceled it. */
function behind(watch: Watch, timeline: Timeline): string[] {
  const last = watch.messages.at(-1)?.kind;
  if (last === "compacted" || last === "canceled") return [];
  const start = firstOf(watch);
  if (start === undefined) return [`watch ${watch.id} was never made`];
  let owed = 0;
  for (let at = start; at <= timeline.head; at++) owed += timeline.wanted(watch, at).length;
  const got = eventsOf(watch).length;
  return got < owed ? [`watch ${watch.id} of ${watch.watcher} has ${got} of ${owed} events`] : [];
}
