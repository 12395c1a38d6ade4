/** What the chain learns of a request on the way down and needs on the way up. */
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, UserInfo } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import type { Random } from "#platform/random.ts";
import type { AuditEvent } from "./audit/event.ts";
import type { Received } from "./audit/request-audit.ts";
import type { Charged } from "./charges.ts";
import type { Explanation } from "./explanation.ts";
import { requestInfo, type RequestInfo } from "./request-info.ts";
import type { Trace } from "./trace.ts";
import { Warnings } from "./warnings.ts";

export interface RequestState {
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly auditId: string;
  readonly receivedMs: number;
  readonly receivedWallMs: number;
  readonly warnings: Warnings;
  /** Monotonic; undefined: none. */
  deadlineMs: number | undefined;
  user: UserInfo | undefined;
  /** Of the user's credential, for its audit event. */
  note: { readonly key: string; readonly value: string } | undefined;
  /** Undefined: its user is not known yet, or it is not sampled. */
  trace: Trace | undefined;
  /** Undefined: not begun yet, or the policy keeps none. */
  audit: AuditEvent | undefined;
  isAuditBegun: boolean;
  gateHeaders: Headers;
  /** Of an answer that is given back when it has left, or of a watch's initial events. */
  seat: Seat | undefined;
  /** Of a watch: it is over. Idempotent. */
  forgetWatch: (() => void) | undefined;
  /** Asked for by the caller. */
  explanation: Explanation | undefined;
  /** Of a watch, from before its handler on. */
  stream: Holding | undefined;
  /** The answer was made: a handler that ends later is not listened to. */
  finished: boolean;
  /** Set while the chain itself decides: its refusals of a known user carry nosniff, as upstream's do. */
  refusing: boolean;
}

interface Seat {
  release(): void;
  stall(): void;
}

export function receivedOf({ request, info, auditId, receivedWallMs }: RequestState): Received {
  return { request, info, auditId, receivedMs: receivedWallMs };
}

export function beginRequest(
  deps: { clock: Clock; random: Random },
  request: PlainRequest,
): RequestState {
  const query = new URLSearchParams(request.query);
  const given = request.headers["audit-id"] ?? "";
  return {
    request,
    query,
    info: requestInfo(request.method, request.path, query),
    auditId: /^[\x20-\x7e]{1,256}$/.test(given) ? given : deps.random.uuid(),
    receivedMs: deps.clock.monotonicMs(),
    receivedWallMs: deps.clock.nowMs(),
    warnings: new Warnings(),
    deadlineMs: undefined,
    user: undefined,
    note: undefined,
    trace: undefined,
    audit: undefined,
    isAuditBegun: false,
    gateHeaders: {},
    seat: undefined,
    forgetWatch: undefined,
    explanation: undefined,
    stream: undefined,
    finished: false,
    refusing: false,
  };
}

export function chargedTo({ request, user, info }: RequestState): Charged {
  const { namespace } = info;
  return { peer: request.peer, user, namespace, queryBytes: request.query.length };
}
