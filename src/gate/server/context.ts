/** One request on its way through the chain, as every handler sees it. */
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

/** Request info without what could be taken for a place: handlers act at `RequestContext.place` only. */
type HandlerInfo = Omit<RequestInfo, "namespace" | "isInNamespace" | "name" | "pathName" | "parts">;

export interface RequestContext {
  readonly request: PlainRequest;
  readonly requestInfo: HandlerInfo;
  /** Where the request acts: made with `attributes` from one value (place.ts). */
  readonly place: Place;
  /** What the authorizer was asked, and allowed. */
  readonly attributes: Attributes;
  readonly query: URLSearchParams;
  readonly auditId: string;
  /** The acting user, after impersonation. */
  readonly user: UserInfo;
  readonly warnings: Warnings;
  /** What a handler adds to the audit event; undefined: the policy keeps none. */
  readonly audit: AuditEvent | undefined;
  /** For those who ask what their answer was made of; undefined: nobody asks. */
  readonly explanation: Explanation | undefined;
  /** Of which a handler may make parts; undefined: the request is not sampled. */
  readonly trace?: Trace | undefined;
  /** Aborts when the client goes away or the deadline passes. */
  readonly signal: AbortSignal;
  /** Monotonic; when the request was received. */
  readonly receivedMs: number;
  /** Monotonic; when it is answered at the latest; undefined: it may take as long as it likes, as a watch. */
  readonly deadlineMs?: number | undefined;
  /** Wall clock at the same moment; ages in tables are relative to it. */
  readonly nowMs: number;
  /** Whom memory is charged to until the handler ends (charges.ts). */
  readonly holding: Holding;
  /** Gives way to others between the steps of long work. */
  readonly pace: Pace;
}
