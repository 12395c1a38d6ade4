/** The state of a request that the chain collects before the handler and needs after it. */
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
  /** Monotonic time; undefined for no deadline. */
  deadlineMs: number | undefined;
  user: UserInfo | undefined;
  /** Annotation about the user's credential, for the audit event. */
  note: { readonly key: string; readonly value: string } | undefined;
  /** Undefined: the user is not known yet, or the request is not sampled. */
  trace: Trace | undefined;
  /** Undefined: not begun yet, or the policy records none. */
  audit: AuditEvent | undefined;
  isAuditBegun: boolean;
  gateHeaders: Headers;
  /** Seat of an answer that keeps it until it is sent, or of a watch's initial events. */
  seat: Seat | undefined;
  /** Call when a watch has ended. Idempotent. */
  forgetWatch: (() => void) | undefined;
  /** Explanation that the caller has asked for. */
  explanation: Explanation | undefined;
  /** Holding of a watch, opened before its handler runs. */
  stream: Holding | undefined;
  /** Whether the answer was made; the result of a handler that ends later is ignored. */
  finished: boolean;
  /** Whether the chain itself decides now. Its refusals of a known user have nosniff, as upstream's. */
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
