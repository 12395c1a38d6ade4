/** Derives from the answers when each lease was alive, and when it was gone. */
import type { History, Moment, Operation } from "./history.ts";

export interface LeaseFacts {
  /** Grants, renewals and sightings. The lease was alive at some moment since `from`, and then until `untilMs`. */
  readonly alive: { readonly from: Moment; readonly told: Moment; readonly untilMs: number }[];
  readonly gone: { readonly asked: Moment; readonly told: Moment; readonly how: string }[];
  /** Order of the first revoke request. After it the lease may end. */
  revokedFrom: number;
}

export function leaseFacts(history: History): Map<string, LeaseFacts> {
  const byId = new Map<string, LeaseFacts>();
  const of = (id: string): LeaseFacts => {
    const known = byId.get(id);
    if (known !== undefined) return known;
    const facts = { alive: [], gone: [], revokedFrom: Number.POSITIVE_INFINITY };
    byId.set(id, facts);
    return facts;
  };
  for (const operation of history.operations) note(operation, of, history);
  return byId;
}

/** Whether a lease may have ended by `told`, according to the answers. */
export function mayHaveEnded({ alive, revokedFrom }: LeaseFacts, told: Moment): boolean {
  if (alive.some(({ from }) => from.order > told.order)) return false;
  return revokedFrom < told.order || alive.every(({ untilMs }) => untilMs <= told.ms);
}

function note(operation: Operation, of: (id: string) => LeaseFacts, history: History): void {
  const { request, outcome, invoked, returned } = operation;
  if (request.kind === "leases") return noteList(operation, of, history);
  if (request.kind === "put" && outcome.kind === "refused" && outcome.why === "lease not found") {
    of(request.lease).gone.push({ asked: invoked, told: returned, how: "a put was refused" });
  }
  if (!("lease" in request) || request.kind === "put") return;
  const lease = of(request.lease);
  if (request.kind === "revoke") {
    lease.revokedFrom = Math.min(lease.revokedFrom, invoked.order);
    if (outcome.kind === "unknown") return;
    lease.gone.push({ asked: invoked, told: returned, how: "its revocation was answered" });
  } else if (outcome.kind === "answered") noteAnswer(lease, operation);
}

function noteAnswer(lease: LeaseFacts, { request, outcome, invoked, returned }: Operation): void {
  if (request.kind === "grant") {
    const untilMs = invoked.ms + request.ttlSeconds * 1000;
    lease.alive.push({ from: invoked, told: returned, untilMs });
  } else if (outcome.kind === "answered" && outcome.answer.kind === "lease") {
    const { ttlSeconds } = outcome.answer;
    const moment = { asked: invoked, told: returned };
    // For a query, "0 seconds left" means that the lease is alive.
    if (request.kind === "renew" ? ttlSeconds <= 0 : ttlSeconds < 0) {
      lease.gone.push({ ...moment, how: `${request.kind} was answered so` });
    } else {
      const untilMs = invoked.ms + (request.kind === "renew" ? ttlSeconds * 1000 : 0);
      lease.alive.push({ from: invoked, told: returned, untilMs });
    }
  }
}

/** A list without a lease proves that the lease is gone, if it was granted before. */
function noteList(operation: Operation, of: (id: string) => LeaseFacts, history: History): void {
  const { outcome, invoked, returned } = operation;
  if (outcome.kind !== "answered" || outcome.answer.kind !== "leases") return;
  const listed = new Set(outcome.answer.leases);
  const granted = history.operations.flatMap(({ request }) =>
    request.kind === "grant" ? [request.lease] : [],
  );
  for (const id of new Set(granted)) {
    if (listed.has(id)) of(id).alive.push({ from: invoked, told: returned, untilMs: invoked.ms });
    else of(id).gone.push({ asked: invoked, told: returned, how: "a list lacks it" });
  }
}
