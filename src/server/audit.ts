/** One line per request, for whoever keeps them. Holds no body, no token. */
import type { UserInfo } from "#platform/http.ts";
import type { RequestInfo } from "./request-info.ts";

export interface AuditLine {
  readonly auditId: string;
  /** Wall clock. */
  readonly receivedMs: number;
  readonly seconds: number;
  /** Absent when authentication failed. */
  readonly user: UserInfo | undefined;
  /** Who asked for `user` by impersonation. */
  readonly impersonator: UserInfo | undefined;
  readonly sourceAddress: string;
  readonly userAgent: string;
  readonly info: RequestInfo;
  readonly method: string;
  readonly query: string;
  readonly code: number;
}

export type Audit = (line: AuditLine) => void;
