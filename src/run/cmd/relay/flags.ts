/** The flags of `pilothouse relay`, grouped by the code that needs them. */
import type { AuditFlags } from "../shared/audit-flags.ts";
import type { UpstreamFlags } from "../shared/upstream-access.ts";
import type { LogLevel } from "#platform/node/log.ts";

export interface RelayFlags extends UpstreamFlags, AuditFlags {
  readonly resources: string;
  readonly listen: string;
  readonly xdsListen?: string;
  /** TTL of xDS resources, in milliseconds. */
  readonly xdsTtl?: number;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
  readonly tlsCurvePreferences?: string;
  readonly views?: string;
  readonly reads: "verify" | "cache";
  readonly shrinkGuard?: number;
  readonly readyMaxAge?: number;
  /** Maximum number of concurrent reads. Absent or 0: no limit, so no read waits. */
  readonly maxRequestsInflight?: number;
  readonly drainSeconds: number;
  readonly servingWorkers: number;
  readonly shadow?: number;
  readonly peers?: string;
  readonly peersCa?: string;
  readonly sink?: string;
  readonly logLevel: LogLevel;
}

export type MirrorFlags = Pick<
  RelayFlags,
  | "resources"
  | "reads"
  | "logLevel"
  | "views"
  | "peers"
  | "peersCa"
  | "shrinkGuard"
  | "readyMaxAge"
  | "shadow"
  | "maxRequestsInflight"
  | "xdsListen"
  | "xdsTtl"
>;
export type ListenFlags = Pick<RelayFlags, "listen" | "cert" | "key" | "tlsCurvePreferences">;
