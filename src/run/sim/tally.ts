/**
 * What a run reached, as counts: a simulation that never tears a write proves nothing about torn
 * writes, so each of these must come up over a few hundred seeds.
 */
import { crashPlaces } from "./crash-points.ts";
import type { History } from "./checkers/history.ts";
import { Timeline } from "./checkers/timeline.ts";
import type { Marks } from "./etcd-run.ts";

export type Tally = Readonly<Record<string, number>>;

export function tally(history: History, marks: Marks): Tally {
  const { member, watchers, faults } = marks;
  const { ends, damage } = member;
  return {
    ...operationCounts(history),
    ...causeCounts(history),
    "power cuts": ends["power cut"],
    kills: ends.kill,
    "ends by a failed disk": ends.failure,
    "ends in order": ends.close,
    ...Object.fromEntries(crashPlaces.map((at) => [`crashes: ${at}`, member.crashes[at]])),
    restarts: member.restarts,
    "unsynced writes lost": damage.lost,
    "unsynced writes kept": damage.kept,
    "unsynced writes torn": damage.torn,
    checkpoints: member.checkpoints,
    watches: history.watches.length,
    "watches resumed": watchers.resumed,
    "watches told compacted": watchers.compacted,
    "watches canceled": watchers.canceled,
    "progress messages": watchers.progress,
    "progress of several watches": watchers.streamProgress,
    "fragments of a revision": watchers.fragments,
    ...Object.fromEntries(Object.entries(faults).map(([name, n]) => [`fault: ${name}`, n])),
  };
}

function operationCounts({ operations, snapshots }: History): Tally {
  const count = (f: (one: History["operations"][number]) => boolean): number =>
    operations.filter(f).length;
  return {
    operations: operations.length,
    "transactions answered": count(
      ({ request, outcome }) => request.kind === "txn" && outcome.kind === "answered",
    ),
    "reads of the past answered": count(
      ({ request, outcome }) =>
        request.kind === "range" && request.revision > 0 && outcome.kind === "answered",
    ),
    compactions: count(
      ({ request, outcome }) => request.kind === "compact" && outcome.kind === "answered",
    ),
    "told compacted": count(
      ({ outcome }) => outcome.kind === "refused" && outcome.why === "compacted",
    ),
    "leases renewed": count(
      ({ request, outcome }) => request.kind === "renew" && outcome.kind === "answered",
    ),
    "told no space": count(
      ({ outcome }) => outcome.kind === "refused" && outcome.why === "no space",
    ),
    "alarms seen": count(
      ({ outcome }) =>
        outcome.kind === "answered" && outcome.answer.kind === "alarms" && outcome.answer.armed,
    ),
    "alarms disarmed": count(
      ({ request, outcome }) => request.kind === "disarm" && outcome.kind === "answered",
    ),
    "leases asked for and alive": count(
      ({ outcome }) =>
        outcome.kind === "answered" &&
        outcome.answer.kind === "lease" &&
        outcome.answer.ttlSeconds >= 0,
    ),
    "snapshots restored": snapshots.filter(({ restored }) => restored !== undefined).length,
    "snapshots cut short": snapshots.filter(({ isWhole: whole }) => !whole).length,
    "outcomes unknown": count(({ outcome }) => outcome.kind === "unknown"),
  };
}

function causeCounts(history: History): Tally {
  const timeline = new Timeline(history);
  const causes = [...timeline.explained(history).causes.values()];
  const unknown = causes.filter(
    (cause) => cause.kind === "operation" && cause.operation.outcome.kind === "unknown",
  );
  return {
    revisions: timeline.head,
    "unknown outcomes that happened": unknown.length,
    "leases ended with keys": causes.filter(({ kind }) => kind === "lease").length,
  };
}

export function add(a: Tally, b: Tally): Tally {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
