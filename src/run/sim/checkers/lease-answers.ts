/**
 * Answers about leases are true: remaining seconds are at most the granted ones and at least what was
 * promised; the only negative number is the one for an expired lease; granted seconds are exact; and the
 * keys are those of one revision between request and answer.
 */
import type { History, Operation } from "./history.ts";
import { keysOf } from "./oracle.ts";
import type { Timeline } from "./timeline.ts";

const gone = -1;

export function leaseAnswers(history: History, timeline: Timeline): string[] {
  const granted = new Map<string, number>();
  for (const { request } of history.operations) {
    if (request.kind === "grant") granted.set(request.lease, request.ttlSeconds);
  }
  return history.operations.flatMap((operation) => {
    const { request, outcome } = operation;
    if (request.kind !== "remaining" && request.kind !== "renew") return [];
    if (outcome.kind !== "answered" || outcome.answer.kind !== "lease") return [];
    const { lease } = request;
    const { ttlSeconds, grantedSeconds, keys } = outcome.answer;
    const wanted = granted.get(lease) ?? 0;
    const name = `${request.kind} ${operation.id} of lease ${lease}`;
    if (request.kind === "renew") {
      return [0, wanted].includes(ttlSeconds) ? [] : [`${name}: ${ttlSeconds} s, not ${wanted}`];
    }
    const sane = ttlSeconds === gone || (ttlSeconds >= 0 && ttlSeconds <= wanted);
    const problems = sane ? [] : [`${name}: ${ttlSeconds} s are left of ${wanted}`];
    const said = ttlSeconds === gone ? 0 : wanted;
    if (grantedSeconds !== said) problems.push(`${name}: granted ${grantedSeconds}, not ${said}`);
    if (!hadKeys(timeline, operation, lease, keys))
      problems.push(`${name}: never had ${keys.join()}`);
    const least = ttlSeconds === gone ? gone : leastLeft(history, timeline, operation, lease);
    if (ttlSeconds < least) problems.push(`${name}: ${ttlSeconds} s are left, not ${least}`);
    return problems;
  });
}

function hadKeys(
  timeline: Timeline,
  { invoked, outcome }: Operation,
  lease: string,
  keys: readonly string[],
): boolean {
  const told = keys.toSorted().join();
  const last = outcome.kind === "answered" ? outcome.revision : 0;
  for (let at = timeline.floor(invoked); at <= last; at++) {
    const state = timeline.state(at);
    if (state !== undefined && keysOf(state, lease).join() === told) return true;
  }
  // An answer about an expired lease contains no keys.
  return keys.length === 0 && outcome.kind === "answered" && isGone(outcome.answer);
}

function isGone(answer: object): boolean {
  return "ttlSeconds" in answer && answer.ttlSeconds === gone;
}

/** Returns the remaining seconds that the grant and earlier answered renewals still guarantee. */
function leastLeft(
  history: History,
  timeline: Timeline,
  { invoked, returned }: Operation,
  lease: string,
): number {
  const alive = timeline.leases(history).get(lease)?.alive ?? [];
  const known = alive.filter(({ told }) => told.order < invoked.order);
  const untilMs = Math.max(0, ...known.map((one) => one.untilMs));
  return Math.max(0, Math.floor((untilMs - returned.ms) / 1000));
}
