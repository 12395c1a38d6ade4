/**
 * Space: puts are refused only while space is short; deletes, compactions and lease ends never are; state
 * never outgrows the quota; an observed alarm stays, across crashes, until it is disarmed, and no alarm
 * appears without cause; once there is room again, puts succeed.
 */
import type { History, KvRequest, Moment, Operation, Request } from "./history.ts";
import { changedAt, isKv, type Timeline } from "./timeline.ts";

export function space(history: History, timeline: Timeline): string[] {
  return [
    ...history.operations.flatMap((one) => refusalProblems(one, history)),
    ...history.operations.flatMap((one) => quotaProblems(one, history, timeline)),
    ...history.operations.flatMap((one) => forgotten(one, history)),
    ...history.operations.flatMap((one) => ofNothing(one, history)),
    ...stillFull(history),
  ];
}

function refusalProblems({ id, request, outcome }: Operation, { isRoomy }: History): string[] {
  if (outcome.kind !== "refused" || outcome.why !== "no space") return [];
  if (!needsSpace(request, true))
    return [`operation ${id} was refused: a ${request.kind} needs no space`];
  return isRoomy
    ? [`operation ${id} was refused for want of space, of which there was enough`]
    : [];
}

function quotaProblems(
  operation: Operation,
  { quotaBytes }: History,
  timeline: Timeline,
): string[] {
  if (!isKv(operation) || !needsSpace(operation.request, true)) return [];
  const state = timeline.state(changedAt(timeline, operation) ?? 0);
  const bytes = [...(state?.values() ?? [])].reduce(
    (sum, { key, value }) => sum + key.length + value.length,
    0,
  );
  return bytes > quotaBytes
    ? [`operation ${operation.id} made ${bytes} of ${quotaBytes} bytes`]
    : [];
}

/** Reports later operations that ignored the alarm, although no disarm explains that. */
function forgotten(armed: Operation, history: History): string[] {
  if (!tells(armed, true)) return [];
  const disarms = history.operations.filter(
    (one) => mayDisarm(one) && endOf(one) > armed.invoked.order,
  );
  return history.operations.flatMap((later) => {
    if (later.invoked.order < armed.returned.order) return [];
    if (
      !tells(later, false) &&
      !(later.outcome.kind === "answered" && needsSpace(later.request, false))
    )
      return [];
    if (disarms.some(({ invoked }) => invoked.order < later.returned.order)) return [];
    return [
      `operation ${later.id} knows nothing of the alarm that operation ${armed.id} was told of`,
    ];
  });
}

/** Reports an alarm if, since the last disarm, no write can have run out of space. */
function ofNothing(armed: Operation, { operations }: History): string[] {
  if (!tells(armed, true)) return [];
  const since = Math.max(
    0,
    ...operations
      .filter((one) => mayDisarm(one) && one.outcome.kind === "answered")
      .filter(({ returned }) => before(returned, armed.invoked))
      .map(({ invoked }) => invoked.order),
  );
  const raised = operations.some(
    ({ request, outcome, invoked, returned }) =>
      needsSpace(request, true) &&
      (outcome.kind === "unknown" || (outcome.kind === "refused" && outcome.why === "no space")) &&
      (outcome.kind === "unknown" || returned.order > since) &&
      before(invoked, armed.returned),
  );
  return raised ? [] : [`operation ${armed.id} was told of an alarm that nothing raised`];
}

function stillFull({ operations, quiet }: History): string[] {
  const last = operations.findLast(
    ({ request, invoked }) => request.kind === "put" && invoked.order > quiet.order,
  );
  if (last?.outcome.kind !== "refused" || last.outcome.why !== "no space") return [];
  return [`operation ${last.id} found no space after room was made and the alarm disarmed`];
}

function tells({ outcome }: Operation, armed: boolean): boolean {
  return (
    outcome.kind === "answered" &&
    outcome.answer.kind === "alarms" &&
    outcome.answer.armed === armed
  );
}

function mayDisarm({ request }: Operation): boolean {
  return request.kind === "disarm";
}

/** Returns the order by which the operation had its effect, if it had one. */
function endOf({ outcome, returned }: Operation): number {
  return outcome.kind === "unknown" ? Number.POSITIVE_INFINITY : returned.order;
}

function before(a: Moment, b: Moment): boolean {
  return a.order < b.order;
}

/** As in etcd, nested transactions count for the quota only, not for the alarm. */
function needsSpace(request: Request, nested: boolean): boolean {
  if (request.kind === "grant" || request.kind === "put") return true;
  if (request.kind !== "txn") return false;
  const puts = (op: KvRequest): boolean =>
    op.kind === "put" || (nested && op.kind === "txn" && needsSpace(op, true));
  return [...request.success, ...request.failure].some(puts);
}
