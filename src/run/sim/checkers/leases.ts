/**
 * Leases: none ends before its time, counted from the last acknowledged renewal; an ended lease stays
 * ended; its keys are deleted in one revision; no crash takes back an end or a grant that was observed.
 */
import type { Event, History, Moment } from "./history.ts";
import { leaseFacts, type LeaseFacts } from "./lease-facts.ts";
import { keysOf } from "./oracle.ts";
import type { Timeline } from "./timeline.ts";

export function leases(history: History, timeline: Timeline): string[] {
  const facts = leaseFacts(history);
  const ends = leaseEnds(history, timeline);
  for (const [revision, id] of ends) noteEnd(facts.get(id), revision, history);
  const attached = attachedLater(timeline, ends);
  const parts = inParts(history, timeline);
  return [...[...facts].flatMap(([id, lease]) => problemsOf(id, lease)), ...attached, ...parts];
}

/** Returns the revisions that only the end of a lease explains. */
function leaseEnds(history: History, timeline: Timeline): Map<number, string> {
  const ends = new Map<number, string>();
  for (const [revision, cause] of timeline.explained(history).causes) {
    if (cause.kind === "lease") ends.set(revision, cause.lease);
  }
  return ends;
}

function noteEnd(lease: LeaseFacts | undefined, revision: number, history: History): void {
  for (const watch of history.watches) {
    for (const message of watch.messages) {
      if (message.kind !== "events") continue;
      if (!message.events.some((event) => event.revision === revision)) continue;
      // The server had the revision at the latest when it sent the message.
      const told: Moment = { order: message.at.order, ms: message.sentMs };
      lease?.gone.push({ asked: message.at, told, how: `its keys went in ${revision}` });
    }
  }
}

function problemsOf(id: string, { alive, gone, revokedFrom }: LeaseFacts): string[] {
  const problems: string[] = [];
  const known = Math.min(...alive.map(({ told }) => told.order));
  for (const { asked, told, how } of gone) {
    // The lease may not have been granted yet before its grant was observed.
    if (asked.order < known) continue;
    const early = alive.find(({ untilMs }) => untilMs > told.ms);
    if (early !== undefined && told.order < revokedFrom) {
      problems.push(`lease ${id}: ${how} at ${told.ms} ms, alive until ${early.untilMs} ms`);
    }
    const back = alive.find(({ from }) => from.order > told.order);
    if (back !== undefined) {
      problems.push(`lease ${id}: ${how} at ${told.ms} ms, and was alive at ${back.told.ms} ms`);
    }
  }
  return problems;
}

function attachedLater(timeline: Timeline, ends: ReadonlyMap<number, string>): string[] {
  const problems: string[] = [];
  for (const [end, id] of ends) {
    for (const [revision, events] of timeline.events) {
      const late = events.find(({ kv }) => revision > end && kv?.lease === id);
      if (late === undefined) continue;
      problems.push(
        `${late.key} was attached to lease ${id} at ${revision}, which ended at ${end}`,
      );
    }
  }
  return problems;
}

/** Reports deletes that no operation explains and that affect only some keys of a lease. */
function inParts(history: History, timeline: Timeline): string[] {
  return timeline.explained(history).unexplained.flatMap((revision) => {
    const events = timeline.events.get(revision) ?? [];
    const before = timeline.state(revision - 1);
    const lease = before?.get(events[0]?.key ?? "")?.lease ?? "0";
    if (before === undefined || lease === "0" || !events.every(isDelete)) return [];
    const keys = keysOf(before, lease).join();
    return [`lease ${lease} had ${keys}, revision ${revision} deletes ${keysText(events)}`];
  });
}

function isDelete({ kv }: Event): boolean {
  return kv === undefined;
}

function keysText(events: readonly Event[]): string {
  return events.map(({ key }) => key).join();
}
