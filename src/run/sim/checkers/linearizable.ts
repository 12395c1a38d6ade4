/**
 * Linearizable, per key and per transaction: every operation took effect at one moment between its
 * call and its answer, and all answers are those of one store doing them one after another.
 *
 * The moment is known: a write says its revision, a read the revision it read at. So it is enough
 * to do them in that order against the oracle, and to check that each operation's revision is at least
 * the highest revision observed before its call. A revision that no answer explains must
 * be explained by an operation of unknown outcome, or by the end of a lease.
 */
import type { History, Operation } from "./history.ts";
import { effect } from "./oracle.ts";
import { changedAt, isKv, type Timeline } from "./timeline.ts";

export function linearizable(history: History, timeline: Timeline): string[] {
  const problems = history.operations.flatMap((operation) => [
    ...answerProblems(operation, timeline),
    ...refusalProblems(operation, timeline),
  ]);
  for (const revision of timeline.explained(history).unexplained) {
    const events = JSON.stringify(timeline.events.get(revision));
    problems.push(`nobody can have made revision ${revision}: ${events}`);
  }
  return [...problems, ...sharedRevisions(history, timeline)];
}

function answerProblems(operation: Operation, timeline: Timeline): string[] {
  const { outcome } = operation;
  if (outcome.kind !== "answered" || !isKv(operation)) return [];
  const { revision } = outcome;
  const changed = changedAt(timeline, operation);
  const floor = timeline.floor(operation.invoked);
  if (changed !== undefined && changed > floor) return [];
  if (changed !== undefined) return [`${name(operation)} wrote ${changed}, at most ${floor}`];
  // The operation changed nothing, so it must be a read of the state at its header's revision, or of an older one.
  const { request } = operation;
  const asked = request.kind === "range" && request.revision > 0 ? request.revision : revision;
  const state = timeline.state(asked);
  if (state === undefined) return [`${name(operation)} read at ${asked}, which nobody saw`];
  if (revision < floor) return [`${name(operation)} read at ${revision}, but ${floor} was known`];
  const made = effect(state, asked + 1, request);
  const right = made.kind === "done" && made.events.length === 0;
  if (right && JSON.stringify(made.answer) === JSON.stringify(outcome.answer)) return [];
  return [`${name(operation)} is not what the state at ${asked} gives: ${JSON.stringify(made)}`];
}

/** Checks a refusal against the states: its reason must hold at some revision since the call. */
function refusalProblems(operation: Operation, timeline: Timeline): string[] {
  const { outcome } = operation;
  if (outcome.kind !== "refused" || outcome.why !== "key not found" || !isKv(operation)) return [];
  for (let at = timeline.floor(operation.invoked); at <= timeline.head; at++) {
    const state = timeline.state(at);
    if (state === undefined) continue;
    if (effect(state, at + 1, operation.request).kind === "refused") return [];
  }
  return [`${name(operation)} was refused, but the key was there`];
}

/** Reports two operations that both changed the state, but whose answers name the same revision. */
function sharedRevisions(history: History, timeline: Timeline): string[] {
  const owners = new Map<number, Operation>();
  return history.operations.flatMap((operation) => {
    const revision = changedAt(timeline, operation);
    if (revision === undefined) return [];
    const other = owners.get(revision);
    owners.set(revision, operation);
    if (other === undefined || !isKv(operation)) return [];
    return [`${name(operation)} and ${name(other)} both made revision ${revision}`];
  });
}

function name({ id, client, request, outcome }: Operation): string {
  return `operation ${id} of ${client}, ${JSON.stringify(request)} = ${JSON.stringify(outcome)},`;
}
