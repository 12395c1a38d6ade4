/** One request on its way through the chain, as every handler sees it. */
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import type { RequestInfo } from "./request-info.ts";
import type { Warnings } from "./warnings.ts";

export interface RequestContext {
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly auditId: string;
  /** Who acts: after impersonation. */
  readonly user: UserInfo;
  readonly warnings: Warnings;
  /** Aborts when the client goes away or the deadline passes. */
  readonly signal: AbortSignal;
  /** Monotonic; when the request was received. */
  readonly receivedMs: number;
  /** Wall clock, the same moment; ages in tables are told from here. */
  readonly nowMs: number;
  /** Gives way to others between the steps of long work. */
  readonly pace: Pace;
}
