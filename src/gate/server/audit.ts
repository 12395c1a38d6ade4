/**
 * The audit trail: one line per request, for a sink that keeps them. A line holds no body and no token.
 *
 * Holds  `record` never throws and never waits: what a sink does wrong is counted, logged once, and
 *        shown by the check `audit`; no request, stream or process ends by it.
 * Check  informational. A full disk below the audit log must not take the API from its clients, nor
 *        from the operator that repairs it. Only /readyz/audit fails, so that alerts can watch it.
 */
import { anonymousName } from "#auth/groups.ts";
import type { RefusedRequest, UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { HealthCheck } from "./health.ts";
import type { Counter, MetricSet } from "#metrics/metric-set.ts";
import { type RequestInfo, requestInfo } from "./request-info.ts";

export interface AuditLine {
  readonly auditId: string;
  /** Wall clock. */
  readonly receivedMs: number;
  readonly seconds: number;
  /** Absent when authentication failed. */
  readonly user: UserInfo | undefined;
  /** The authenticated user, when `user` is impersonated. */
  readonly impersonator: UserInfo | undefined;
  /** The verb of the constrained mode that granted it; absent: plain impersonation, or none. */
  readonly impersonationConstraint?: string;
  readonly sourceAddress: string;
  readonly userAgent: string;
  readonly info: RequestInfo;
  /** Of the object: from the path, or of what was created. */
  readonly name: string;
  readonly method: string;
  readonly query: string;
  readonly code: number;
  /** What admission said of the request; absent: nothing. */
  readonly annotations?: ReadonlyMap<string, string>;
  /** Of a relay's line: who answered, its mirrors or the upstream. */
  readonly servedFrom?: string;
  /** Only where the HTTP rim refused the request, which then has no user: why. */
  readonly refused?: string;
}

/** Nobody vouches for the caller. */
export function isStranger({ user, impersonator }: AuditLine): boolean {
  return impersonator === undefined && (user === undefined || user.name === anonymousName);
}

/** Whose line is lost: of a request without credentials, or of somebody. */
type AuditLoss = "anonymous" | "named";

/** Keeps lines. */
export interface AuditSink {
  /**
   * @returns false when the line was dropped. Older lines that were dropped in its place are reported to
   * `lost`, one by one. May throw: the trail counts it.
   */
  write(line: AuditLine, lost: (whose: AuditLoss) => void): boolean;
  /** Why lines cannot be written now; undefined when they can. */
  problem?(): string | undefined;
}

/** Of a target that no handler saw, so much is kept. */
const targetLengthMax = 1_024;

export class AuditTrail {
  readonly #sink: AuditSink;
  readonly #log: Log;
  readonly #lines: Counter;
  readonly #errors: Counter;
  readonly #dropped: Counter;
  #thrown: string | undefined;

  constructor(deps: { readonly sink: AuditSink; readonly metrics: MetricSet; readonly log: Log }) {
    this.#sink = deps.sink;
    this.#log = deps.log;
    this.#lines = deps.metrics.counter(
      "apiserver_audit_event_total",
      "Audit lines handed to the sink.",
      [],
    );
    this.#errors = deps.metrics.counter(
      "apiserver_audit_error_total",
      "Audit lines that are lost: dropped at the buffer's limit, or refused by the sink.",
      ["plugin"],
    );
    this.#dropped = deps.metrics.counter(
      "pilothouse_audit_dropped_lines_total",
      "Audit lines that did not fit into the buffer, by whether their request had credentials.",
      ["caller"],
    );
  }

  record(line: AuditLine): void {
    try {
      this.#lines.add([]);
      if (!this.#sink.write(line, this.#lose)) this.#lose(isStranger(line) ? "anonymous" : "named");
      this.#thrown = undefined;
    } catch (error) {
      this.#errors.add(["log"]);
      if (this.#thrown === undefined)
        this.#log.error("audit sink failed", { error: String(error) });
      this.#thrown = String(error);
    }
  }

  readonly #lose = (whose: AuditLoss): void => {
    this.#errors.add(["log"]);
    this.#dropped.add([whose]);
  };

  recordRefused(request: RefusedRequest, auditId: string, receivedMs: number): void {
    const { method, status, reason, address } = request;
    const target = request.target.slice(0, targetLengthMax);
    this.record({
      auditId,
      receivedMs,
      seconds: 0,
      user: undefined,
      impersonator: undefined,
      sourceAddress: address,
      userAgent: "",
      info: { ...requestInfo(method, "/", new URLSearchParams()), path: target },
      name: "",
      method,
      query: "",
      code: status,
      refused: reason,
    });
  }

  get check(): HealthCheck {
    const check = (): string | undefined => this.#thrown ?? this.#sink.problem?.();
    return { name: "audit", isInformational: true, check };
  }
}
