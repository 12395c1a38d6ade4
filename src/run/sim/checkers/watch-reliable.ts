/**
 * Reliable: up to the last event it got, a watch got every event it asked for, nothing else, and
 * each as it was - with what was before, if it asked for that.
 */
import type { Event, History, Watch } from "./history.ts";
import { eventsOf, firstOf, sameEvent, type Timeline } from "./timeline.ts";

export function watchReliable(history: History, timeline: Timeline): string[] {
  return history.watches.flatMap((watch) => problemsOf(watch, timeline));
}

function problemsOf(watch: Watch, timeline: Timeline): string[] {
  const got = eventsOf(watch);
  const first = got[0]?.revision;
  const last = got.at(-1)?.revision;
  if (first === undefined || last === undefined) return [];
  // "resumable" checks which event must be the first. Here, no event in between may be missing.
  const wanted: Event[] = [];
  for (let at = Math.max(first, firstOf(watch) ?? 0); at <= last; at++) {
    wanted.push(...timeline.wanted(watch, at));
  }
  // A cut connection may have lost the remaining fragments of the last revision.
  const cut = wanted.slice(0, lastIsFragment(watch) ? got.length : wanted.length);
  const at = cut.findIndex((event, i) => !sameEvent(event, got[i]));
  if (at !== -1) {
    const [want, have] = [JSON.stringify(cut[at]), JSON.stringify(got[at])];
    return [`watch ${watch.id}: event ${at} should be ${want} but is ${have}`];
  }
  if (got.length > cut.length) {
    return [`watch ${watch.id}: nobody made ${JSON.stringify(got[cut.length])}`];
  }
  return got.flatMap((event) => previousProblem(watch, event, timeline));
}

function lastIsFragment(watch: Watch): boolean {
  const last = watch.messages.findLast(({ kind }) => kind === "events");
  return last?.kind === "events" && last.fragment;
}

/** A previous value may be missing, because it may be compacted; a value that is present must be right. */
function previousProblem(watch: Watch, event: Event, timeline: Timeline): string[] {
  if (event.previous === undefined) return [];
  if (!watch.previous) return [`watch ${watch.id}: previous of ${event.key} was not asked for`];
  const earlier = timeline.state(event.revision - 1)?.get(event.key);
  const inTransaction = (timeline.events.get(event.revision) ?? [])
    .filter(({ key }) => key === event.key)
    .map(({ kv }) => kv);
  const possible = [earlier, ...inTransaction].map((kv) => JSON.stringify(kv));
  if (possible.includes(JSON.stringify(event.previous))) return [];
  const told = JSON.stringify(event.previous);
  return [`watch ${watch.id}: before ${event.key} at ${event.revision} was not ${told}`];
}
