/**
 * Snapshots: a member restored from one holds the state at the snapshot's revision, which is at least the
 * highest revision observed before the request; with the leases its keys are attached to, and every lease
 * alive then. A complete snapshot is never refused; data accepted from an incomplete one is true as well.
 */
import type { History, Snapshot } from "./history.ts";
import { mayHaveEnded } from "./lease-facts.ts";
import type { Timeline } from "./timeline.ts";

export function restored(history: History, timeline: Timeline): string[] {
  return history.snapshots.flatMap((snapshot, at) =>
    [...stateProblems(snapshot, timeline), ...leaseProblems(snapshot, history, timeline)].map(
      (text) => `snapshot ${at} ${text}`,
    ),
  );
}

function stateProblems(
  { asked, isWhole: whole, restored: made }: Snapshot,
  timeline: Timeline,
): string[] {
  if (made === undefined) return whole ? ["came whole and was refused"] : [];
  const { revision, kvs } = made;
  const floor = timeline.floor(asked);
  if (revision < floor) return [`is of revision ${revision}, but ${floor} was known`];
  const state = timeline.state(revision);
  if (state === undefined) return [`is of revision ${revision}, which nobody saw`];
  const wanted = JSON.stringify([...state.values()]);
  const found = JSON.stringify(kvs);
  return wanted === found ? [] : [`at ${revision} holds ${found}, not ${wanted}`];
}

function leaseProblems(
  { asked, taken, restored: made }: Snapshot,
  history: History,
  timeline: Timeline,
): string[] {
  if (made === undefined) return [];
  const there = new Set(made.leases);
  const orphans = made.kvs.filter(({ lease }) => lease !== "0" && !there.has(lease));
  const problems = orphans.map(({ key, lease }) => `holds ${key} without its lease ${lease}`);
  for (const [id, facts] of timeline.leases(history)) {
    // An "expired" answer before the grant does not count. No lease is granted twice.
    const granted = Math.min(...facts.alive.map(({ told }) => told.order));
    const wasGone = facts.gone.some(
      (one) => one.asked.order > granted && one.told.order < asked.order,
    );
    if (wasGone && there.has(id)) problems.push(`holds lease ${id}, which was gone`);
    const wasThere = facts.alive.some(({ told }) => told.order < asked.order);
    if (wasThere && !wasGone && !mayHaveEnded(facts, taken) && !there.has(id)) {
      problems.push(`lacks lease ${id}, which was alive`);
    }
  }
  return problems;
}
