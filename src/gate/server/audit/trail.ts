/**
 * The audit trail: decides what is recorded of each request, at which stages, and what happens to a request whose event
 * cannot be stored.
 *
 * Holds  no sink can end a request, a stream or the process: a failure of a sink is counted, logged once and shown by
 *        the check `audit`. The exception is upstream's mode blocking-strict, which refuses a request whose first event
 *        cannot be stored.
 * Waits  for sinks that return a promise (blocking modes): an answer is sent when its event is stored.
 * Check  informational. A full disk below the audit log must not make the API unavailable to its clients, or to the
 *        operator that repairs the disk. Only /readyz/audit fails, so that alerts can use it.
 */
import { internalError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { RefusedRequest, UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { HealthCheck } from "../health.ts";
import type { Counter, CounterCell, MetricSet } from "#metrics/metric-set.ts";
import { requestInfo, type RequestInfo } from "../request-info.ts";
import { AuditEvent, type AuditFacts, type StagedEvent } from "./event.ts";
import { type AuditPolicy, type Level, levels, PolicyEvaluator, type Stage } from "./policy.ts";

/** Counts a lost event: the plugin (upstream's names: log, webhook, buffered, truncate), and whether unauthenticated. */
export type TakeLost = (plugin: string, ofStranger: boolean) => void;

/** Stores events. */
export interface AuditBackend {
  /**
   * Stores the event. False, or a promise of false: the event is not stored and its request must not continue. A
   * promise is awaited. May throw: the trail counts it.
   */
  take(event: StagedEvent, lost: TakeLost): boolean | Promise<boolean>;
  /** Reason why events cannot be stored now. Undefined: they can. */
  problem?(): string | undefined;
}

export interface Audit {
  readonly policy: AuditPolicy;
  readonly backends: readonly AuditBackend[];
}

interface TrailDeps extends Audit {
  readonly clock: Clock;
  readonly metrics: MetricSet;
  readonly log: Log;
}

/** Maximum recorded length of the target of a request that reached no handler. */
const targetLengthMax = 1_024;

export class AuditTrail {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #policy: PolicyEvaluator;
  readonly #backends: readonly AuditBackend[];
  readonly #events: CounterCell;
  readonly #levels: Readonly<Record<Level, CounterCell>>;
  readonly #errors: Counter;
  readonly #rejected: CounterCell;
  readonly #dropped: Counter;
  #thrown: string | undefined;

  constructor({ clock, log, metrics, policy, backends }: TrailDeps) {
    this.#clock = clock;
    this.#log = log;
    this.#policy = new PolicyEvaluator(policy);
    this.#backends = backends;
    const { events, levelTotals, errors, rejected, dropped } = trailMetrics(metrics);
    this.#events = events.cell([]);
    const cells = levels.map((level) => [level, levelTotals.cell([level])] as const);
    this.#levels = Object.fromEntries(cells) as Record<Level, CounterCell>; // one of each level
    this.#errors = errors;
    this.#rejected = rejected.cell([]);
    this.#dropped = dropped;
  }

  /** @returns undefined when the policy records nothing of this request. `facts` is called only if it does. */
  begin(
    user: UserInfo | undefined,
    info: RequestInfo,
    facts: () => AuditFacts,
  ): AuditEvent | undefined {
    const config = this.#policy.configOf(user, info);
    this.#levels[config.level].count++;
    return config.level === "None" ? undefined : new AuditEvent(facts(), config);
  }

  /** Records the arrival. @throws ApiError 500 when a required event could not be stored. */
  async received(event: AuditEvent): Promise<void> {
    const stored = this.stage(event, "RequestReceived");
    if (stored === true || (await stored)) return;
    this.#rejected.count++;
    throw internalError("failed to store audit event");
  }

  stage(event: AuditEvent, stage: Stage): boolean | Promise<boolean> {
    if (event.config.omitStages.has(stage)) return true;
    const { receivedMs } = event.facts;
    this.#events.count++;
    return this.#take(
      event.at(stage, stage === "RequestReceived" ? receivedMs : this.#clock.nowMs()),
    );
  }

  #take(staged: StagedEvent): boolean | Promise<boolean> {
    const [only] = this.#backends;
    if (only !== undefined && this.#backends.length === 1) return this.#takeIn(only, staged);
    const all = this.#backends.map((backend) => this.#takeIn(backend, staged));
    if (all.every((one) => one === true)) return true;
    return Promise.all(all.map((one) => Promise.resolve(one))).then((stored) =>
      stored.every(Boolean),
    );
  }

  #takeIn(backend: AuditBackend, staged: StagedEvent): boolean | Promise<boolean> {
    try {
      const stored = backend.take(staged, this.#lost);
      this.#thrown = undefined;
      return typeof stored === "boolean"
        ? stored
        : stored.catch((error: unknown) => this.#failed(error));
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): true {
    this.#errors.add(["log"]);
    if (this.#thrown === undefined) this.#log.error("audit sink failed", { error: String(error) });
    this.#thrown = String(error);
    return true;
  }

  readonly #lost: TakeLost = (plugin, ofStranger) => {
    this.#errors.add([plugin]);
    this.#dropped.add([ofStranger ? "anonymous" : "named"]);
  };

  recordRefused(request: RefusedRequest, auditId: string, receivedMs: number): void {
    const { method, status, reason, address } = request;
    const target = request.target.slice(0, targetLengthMax);
    const info = { ...requestInfo(method, "/", new URLSearchParams()), path: target };
    const event = this.begin(undefined, info, () => ({
      auditId,
      receivedMs,
      requestUri: target,
      info,
      user: undefined,
      sourceIps: [address],
      userAgent: "",
    }));
    if (event === undefined) return;
    event.status = { status: "Failure", message: reason, code: status };
    void this.stage(event, "ResponseComplete");
  }

  get check(): HealthCheck {
    const check = (): string | undefined =>
      this.#thrown ?? this.#backends.map((one) => one.problem?.()).find((one) => one !== undefined);
    return { name: "audit", isInformational: true, check };
  }
}

function trailMetrics(metrics: MetricSet): {
  readonly events: Counter;
  readonly levelTotals: Counter;
  readonly errors: Counter;
  readonly rejected: Counter;
  readonly dropped: Counter;
} {
  return {
    events: metrics.counter(
      "apiserver_audit_event_total",
      "Counter of audit events generated and sent to the audit backend.",
      [],
    ),
    levelTotals: metrics.counter(
      "apiserver_audit_level_total",
      "Counter of policy levels for audit events (1 per request).",
      ["level"],
    ),
    errors: metrics.counter(
      "apiserver_audit_error_total",
      "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.",
      ["plugin"],
    ),
    rejected: metrics.counter(
      "apiserver_audit_requests_rejected_total",
      "Counter of apiserver requests rejected due to an error in audit logging backend.",
      [],
    ),
    dropped: metrics.counter(
      "pilothouse_audit_dropped_lines_total",
      "Audit events that did not fit into a buffer, by whether their request had credentials.",
      ["caller"],
    ),
  };
}
