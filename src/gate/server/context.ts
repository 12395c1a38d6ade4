/** The state of one request in the chain, as every handler gets it. */
import type { Attributes } from "#auth/auth.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import type { Pace } from "#platform/pace.ts";
import type { AuditEvent } from "./audit/event.ts";
import type { Explanation } from "./explanation.ts";
import type { Place } from "./place.ts";
import type { RequestInfo } from "./request-info.ts";
import type { Trace } from "./trace.ts";
import type { Warnings } from "./warnings.ts";

/** Request info without fields that could be mistaken for a place: handlers use `RequestContext.place` only. */
type HandlerInfo = Omit<RequestInfo, "namespace" | "isInNamespace" | "name" | "pathName" | "parts">;

export interface RequestContext {
  readonly request: PlainRequest;
  readonly requestInfo: HandlerInfo;
  /** Place that the request acts on, made together with `attributes` (place.ts). */
  readonly place: Place;
  /** Attributes that the authorizer has allowed. */
  readonly attributes: Attributes;
  readonly query: URLSearchParams;
  readonly auditId: string;
  /** The acting user, after impersonation. */
  readonly user: UserInfo;
  readonly warnings: Warnings;
  /** Audit event, to which handlers add. Undefined: the policy records none. */
  readonly audit: AuditEvent | undefined;
  /** Explanation of the answer's source. Undefined: the caller did not ask for it. */
  readonly explanation: Explanation | undefined;
  /** Trace, to which handlers add spans. Undefined: the request is not sampled. */
  readonly trace?: Trace | undefined;
  /** Aborts when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal;
  /** Monotonic time when the request was received. */
  readonly receivedMs: number;
  /** Monotonic deadline of the answer. Undefined: none, as for a watch. */
  readonly deadlineMs?: number | undefined;
  /** Wall-clock time of the same moment; ages in tables are relative to it. */
  readonly nowMs: number;
  /** Account charged for memory until the handler ends (charges.ts). */
  readonly holding: Holding;
  /** Yields to other requests between the steps of long work. */
  readonly pace: Pace;
}
