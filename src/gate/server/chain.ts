/**
 * The handler chain of every request, for all transports, in upstream's order: audit id, panic
 * recovery, request info, deadline, warnings, authentication, impersonation, priority and fairness,
 * authorization, handler.
 *
 * Holds  every request produces exactly one answer, one audit line and one latency sample; a watch produces its sample
 *        when it closes. The user is known before a body byte is read. One value says what is authorised and which
 *        object a handler may reach (place.ts). A path that does not fit the scope of its kind gets 404 after
 *        authorization, as from upstream's router.
 * Bytes  the memory of a request and its answer is charged to its caller (charges.ts): the body until the handler ends,
 *        the answer until the socket has accepted it, a stream until it closes. A long answer keeps its seat while its
 *        client reads, at most for the time limit of a short request. A watch keeps its seat until its initial events
 *        are sent.
 * Time   short requests have `requestTimeoutMs`, or less by ?timeout=. After that they get 504, and their signal is
 *        aborted. Watches and container streams have no time limit here.
 */
import { failure, noSuchPath } from "#api/status.ts";
import type { Attributes, Authenticator, Authorizer } from "#auth/auth.ts";
import { authorizationError } from "#auth/forbidden.ts";
import { annotateDecision, AuthorizationFailure, notAllowed } from "./authorization.ts";
import { anonymousName } from "#auth/groups.ts";
import { impersonate } from "#auth/impersonation.ts";
import { extraSpaceWarning, hasExtraSpace } from "#platform/bearer-token.ts";
import type { Clock } from "#platform/clock.ts";
import type {
  ByteSink,
  Headers,
  ObjectEventSink,
  PlainHandler,
  PlainRequest,
  PlainResponse,
  UserInfo,
} from "#platform/http.ts";
import type { Holding, Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import { Pace } from "#platform/pace.ts";
import type { Random } from "#platform/random.ts";
import { attributesOf } from "./attributes.ts";
import type { AccessMetrics } from "./access-metrics.ts";
import { answered, factsOf, isBug, noteError, refusedEarly } from "./audit/request-audit.ts";
import type { AuditTrail } from "./audit/trail.ts";
import {
  bodyBytes,
  chargedAnswer,
  closedWith,
  closeUnopened,
  heldStream,
  isLongAnswer,
  type OpenAnswer,
  openHolding,
  openStream,
  refused,
} from "./charges.ts";
import type { RequestContext } from "./context.ts";
import { runWithDeadline, allowedTimeoutMs } from "./deadline.ts";
import { openUntilEnd } from "./direct-stream.ts";
import { answerTooManyRequests, type Gate, type GateAnswer } from "./gate.ts";
import { isAsked, openExplanation } from "./explanation.ts";
import { LingeringSeat } from "./lingering-seat.ts";
import type { LongTurns } from "./long-turns.ts";
import type { RequestMetrics } from "./metrics.ts";
import { type Place, type Reach, targetOf } from "./place.ts";
import { isLongRunning, type RequestInfo } from "./request-info.ts";
import { beginRequest, chargedTo, receivedOf, type RequestState } from "./request-state.ts";
import { textResponse } from "./respond.ts";
import { statusResponse } from "./status.ts";
import { spanned, type Tracer } from "./trace.ts";
import { switched } from "./websocket-stream.ts";

type Handler = (context: RequestContext) => Promise<PlainResponse>;

interface ChainDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Limits concurrent requests. Absent: every request passes. */
  readonly gate?: Gate;
  readonly metrics: RequestMetrics;
  readonly accessMetrics: AccessMetrics;
  readonly ledger: Ledger;
  readonly audit?: AuditTrail;
  /** Finds requests that block the event loop. Absent: not measured. */
  readonly longTurns?: LongTurns;
  /** Makes the spans of requests. Absent: no spans. */
  readonly tracer?: Tracer;
  /** Returns the scope of the kind in the path. Undefined: this server does not serve it. */
  readonly scopeOf: (info: RequestInfo) => Reach | undefined;
  /** Whether this server itself serves the resource and subresource; then they become labels of metrics. */
  readonly isServed: (info: RequestInfo) => boolean;
}

interface ChainOptions {
  readonly requestTimeoutMs: number;
}

export function createChain(
  deps: ChainDeps,
  options: ChainOptions,
  handler: Handler,
): PlainHandler {
  return async (request) => {
    const state = beginRequest(deps, request);
    deps.longTurns?.mark(state, "authentication");
    const left = deps.metrics.begin(state.info);
    let response: PlainResponse;
    let failure: unknown;
    try {
      response = await withDeadline(deps, options, state, handler);
    } catch (error) {
      failure = error;
      response = answerError(deps, state, error);
    }
    left();
    state.finished = true;
    deps.longTurns?.mark(state, "answer");
    state.trace?.end(response.status);
    const charged = chargeAnswer(deps, options, state, response);
    if (deps.audit !== undefined) await auditAnswer(deps, deps.audit, state, charged, failure);
    return finishRequest(deps, state, charged);
  };
}

/** Audits the answer before it is sent; sinks in blocking mode delay it. */
async function auditAnswer(
  deps: ChainDeps,
  trail: AuditTrail,
  state: RequestState,
  response: PlainResponse,
  failure: unknown,
): Promise<void> {
  const { audit, isAuditBegun } = state;
  if (audit === undefined && isAuditBegun) return;
  const holding = openHolding(deps.ledger, chargedTo(state));
  try {
    if (audit === undefined)
      await refusedEarly(trail, receivedOf(state), response, failure, holding);
    else await answered(trail, audit, response, holding, isFault(failure) ? "bug" : "answered");
  } finally {
    holding.close();
  }
}

function isFault(failure: unknown): boolean {
  return failure !== undefined && isBug(failure);
}

function withDeadline(
  deps: ChainDeps,
  options: ChainOptions,
  state: RequestState,
  handler: Handler,
): Promise<PlainResponse> {
  const { request, info, query } = state;
  if (isLongRunning(info)) return runChain(deps, state, request, handler);
  const limitMs = allowedTimeoutMs(query, options.requestTimeoutMs);
  state.deadlineMs = deps.clock.monotonicMs() + limitMs;
  return runWithDeadline(deps.clock, limitMs, request, (ending) =>
    runChain(deps, state, ending, handler),
  );
}

async function runChain(
  deps: ChainDeps,
  state: RequestState,
  ending: { readonly signal: AbortSignal },
  handler: Handler,
): Promise<PlainResponse> {
  const { request, info, query, auditId, receivedMs, warnings } = state;
  const caller = await runChainAuthenticate(deps, state);
  if (deps.tracer !== undefined) beginTrace(deps.tracer, state, caller);
  if (deps.audit !== undefined) await runChainAudit(deps.audit, state, caller);
  const user = await runChainImpersonate(deps, state, caller);
  noteCaller(request, user);
  deps.longTurns?.mark(state, "fairness");
  const asking = {
    info,
    user,
    query,
    get signal() {
      return ending.signal;
    },
  };
  const seat = await spanned(state.trace, "Priority and fairness", () => deps.gate?.enter(asking));
  if (seat !== undefined) state.gateHeaders = seat.headers;
  if (isAsked(request)) await explain(deps, state, user, seat);
  if (seat?.kind === "rejected") return answerTooManyRequests(seat);
  if (info.verb === "watch") state.forgetWatch = seat?.forget;
  const holding = openHolding(deps.ledger, chargedTo(state));
  try {
    deps.longTurns?.mark(state, "authorization");
    const granted = await spanned(state.trace, "Authorization", () =>
      runChainAuthorize(deps, state, user),
    );
    deps.longTurns?.mark(state, "handler");
    const nowMs = state.receivedWallMs;
    if (info.verb === "watch") state.stream = openStream(deps.ledger, chargedTo(state));
    const response = await handler({
      request,
      requestInfo: info,
      ...granted,
      query,
      auditId,
      user,
      warnings,
      audit: state.audit,
      explanation: state.explanation,
      trace: state.trace,
      get signal() {
        return ending.signal;
      },
      receivedMs,
      deadlineMs: state.deadlineMs,
      nowMs,
      holding,
      pace: paceOf(deps, state, user, seat),
    });
    if (seat !== undefined && !state.finished && isLongAnswer(request, response) && seat.linger())
      state.seat = seat;
    return response;
  } finally {
    holding.close();
    if (seat !== undefined && seat !== state.seat) seat.release();
    if (state.finished) {
      state.stream?.close();
      state.forgetWatch?.();
    }
  }
}

/** Pace of the handler. While the request waits, other requests may use its seat. */
function paceOf(
  { clock, longTurns }: ChainDeps,
  state: RequestState,
  user: UserInfo,
  seat: Extract<GateAnswer, { kind: "seated" }> | undefined,
): Pace {
  return new Pace(clock, user.name, {
    rests: (waitsFor) => seat?.rest(waitsFor),
    goesOn: () => {
      seat?.goOn();
      longTurns?.mark(state, "handler");
    },
  });
}

/** Opens the explanation. If that fails, it releases the seat, which would be lost otherwise. */
async function explain(
  { authorizer }: ChainDeps,
  state: RequestState,
  user: UserInfo,
  seat: GateAnswer | undefined,
): Promise<void> {
  try {
    state.explanation = await openExplanation(authorizer, user);
    state.explanation.gate = seat?.explain();
    state.explanation.source = state.info.isResourceRequest ? "store" : "server";
  } catch (error) {
    if (seat?.kind === "seated") {
      seat.release();
      seat.forget();
    }
    throw error;
  }
}

async function runChainAuthenticate(deps: ChainDeps, state: RequestState): Promise<UserInfo> {
  const { request } = state;
  const result = await deps.accessMetrics.authenticated(() =>
    deps.authenticator.authenticate(request),
  );
  const isNamed = result.kind === "user" && result.user.name !== anonymousName;
  if (!isNamed && hasExtraSpace(request.headers)) state.warnings.add(extraSpaceWarning);
  if (result.kind !== "user") throw unauthorizedError();
  state.user = result.user;
  state.note = result.note;
  const { peer } = request;
  if (peer.kind === "socket" && isNamed) peer.connection?.belongsTo(result.user.name);
  state.refusing = true;
  return result.user;
}

function beginTrace(tracer: Tracer, state: RequestState, user: UserInfo): void {
  const { request, info, auditId, receivedMs, receivedWallMs } = state;
  const { headers, method, path } = request;
  const facts = { headers, method, path, info, user, auditId, receivedMs, receivedWallMs };
  state.trace = tracer.begin(facts);
  state.trace?.sinceLast("Authentication");
}

async function runChainAudit(
  trail: AuditTrail,
  state: RequestState,
  user: UserInfo,
): Promise<void> {
  state.isAuditBegun = true;
  state.audit = trail.begin(user, state.info, () => factsOf(receivedOf(state), user));
  if (state.audit === undefined) return;
  if (state.note !== undefined) state.audit.annotate(state.note.key, state.note.value);
  await trail.received(state.audit);
}

async function runChainImpersonate(
  deps: ChainDeps,
  state: RequestState,
  caller: UserInfo,
): Promise<UserInfo> {
  const wish = await impersonate(state.request, caller, deps.authorizer, () =>
    askedBy(deps, state, caller),
  );
  switch (wish.kind) {
    case "none":
      return caller;
    case "user":
      if (state.audit !== undefined)
        state.audit.impersonated = { user: wish.user, constraint: wish.constraint };
      state.user = wish.user;
      return wish.user;
    case "forbidden":
      throw authorizationError(wish.attributes, wish.reason);
    case "bad-request":
      throw failure(400, "BadRequest", wish.message);
    default:
      return wish satisfies never;
  }
}

/** Notes the user, in whose turn the connection's next request is read. */
function noteCaller({ peer }: PlainRequest, { name }: UserInfo): void {
  if (peer.kind !== "socket" || peer.connection === undefined || name === anonymousName) return;
  peer.connection.caller = name;
}

/** The attributes that the authorizer checks. */
function askedBy(deps: ChainDeps, state: RequestState, user: UserInfo): Attributes {
  const { info, query } = state;
  const target = targetOf(info, info.isResourceRequest ? deps.scopeOf(info) : undefined);
  return attributesOf(user, info, target, query);
}

interface Granted {
  readonly place: Place;
  readonly attributes: Attributes;
}

async function runChainAuthorize(
  deps: ChainDeps,
  state: RequestState,
  user: UserInfo,
): Promise<Granted> {
  const { info, query } = state;
  const target = targetOf(info, info.isResourceRequest ? deps.scopeOf(info) : undefined);
  const attributes = attributesOf(user, info, target, query);
  const beganMs = deps.clock.monotonicMs();
  const decision = await deps.authorizer.authorize(attributes);
  deps.accessMetrics.authorized(decision.allowed, beganMs);
  annotateDecision(state.audit, decision);
  if (!decision.allowed) throw notAllowed(state.request.path, attributes, decision);
  state.refusing = false;
  if (target.place === undefined) throw noSuchPath();
  return { place: target.place, attributes };
}

function unauthorizedError(): Error {
  return failure(401, "Unauthorized", "Unauthorized");
}

function answerError(deps: ChainDeps, state: RequestState, error: unknown): PlainResponse {
  if (error instanceof AuthorizationFailure) return textResponse(500, `${error.message}\n`);
  const response = statusResponse(state.request, state.query, error);
  if (state.audit !== undefined) noteError(state.audit, error);
  if (response.status === 500) {
    const trace = error instanceof Error ? error.stack : String(error);
    const { path, method } = state.request;
    deps.log.error("request failed", { method, path, auditId: state.auditId, error: trace });
  }
  return response;
}

/** Charges the memory of the answer before it is sent; a caller over its limit gets 429 instead. */
function chargeAnswer(
  deps: ChainDeps,
  options: ChainOptions,
  state: RequestState,
  response: PlainResponse,
): PlainResponse {
  const { stream, request } = state;
  if (response.kind === "bytes" || response.kind === "object") state.forgetWatch?.();
  if (request.peer.kind === "direct") return response;
  if (response.kind === "stream" || response.kind === "tunnel") {
    return chargeStream(deps, options, state, response);
  }
  stream?.close();
  if (response.kind !== "bytes") return response;
  const holding = openHolding(deps.ledger, chargedTo(state));
  const answer = chargedAnswer(deps.ledger, holding, response, lingering(deps, options, state));
  return answer ?? chargeAnswer(deps, options, state, answerError(deps, state, refused(holding)));
}

function chargeStream(
  deps: ChainDeps,
  options: ChainOptions,
  state: RequestState,
  response: OpenAnswer,
): PlainResponse {
  const seat = lingering(deps, options, state);
  try {
    const held = heldStream(response, state.stream ?? openStream(deps.ledger, chargedTo(state)));
    if (seat !== undefined && held.kind === "stream") held.begins?.(seat);
    return held;
  } catch (error) {
    seat?.left();
    state.forgetWatch?.();
    closeUnopened(response);
    return answerError(deps, state, error);
  }
}

function lingering(
  { clock }: ChainDeps,
  { requestTimeoutMs }: ChainOptions,
  state: RequestState,
): LingeringSeat | undefined {
  const { seat, receivedMs } = state;
  if (seat === undefined) return undefined;
  state.seat = undefined;
  return new LingeringSeat(clock, seat, receivedMs + requestTimeoutMs);
}

function finishRequest(
  deps: ChainDeps,
  state: RequestState,
  response: PlainResponse,
): PlainResponse {
  const warnings = state.warnings.headers();
  const headers: Headers = {
    "audit-id": state.auditId,
    "cache-control": "no-cache, private",
    ...state.gateHeaders,
    ...state.explanation?.headers(),
    ...(state.refusing ? { "x-content-type-options": "nosniff" } : {}),
    ...(warnings.length === 0 ? {} : { warning: warnings }),
    ...response.headers,
  };
  switch (response.kind) {
    case "bytes":
    case "object":
      finishSample(deps, state, response);
      return { ...response, headers };
    case "tunnel":
      finishSample(deps, state, response);
      return { ...response, headers, ...auditedTunnel(deps, state, response) };
    case "stream":
      return switched(deps.clock, {
        ...response,
        headers,
        open: openWithSample(deps, state, response, (sink: ByteSink) => response.open(sink)),
      });
    case "events": {
      const open = openWithSample(deps, state, response, (sink: ObjectEventSink) =>
        response.open(sink),
      );
      return { ...response, headers, open: (sink: ObjectEventSink) => openUntilEnd(open, sink) };
    }
    default:
      return response satisfies never;
  }
}

/** Wraps a stream's opener: the sample and the audit event are recorded when the stream closes. */
function openWithSample<S>(
  deps: ChainDeps,
  state: RequestState,
  response: PlainResponse,
  open: (sink: S) => () => void,
): (sink: S) => () => void {
  return (sink) => {
    const closed = deps.metrics.openStream(state.info);
    const close = open(sink);
    let done = false;
    return () => {
      if (done) return;
      done = true;
      try {
        close();
      } finally {
        closed();
        state.forgetWatch?.();
        finishSample(deps, state, response);
        auditEnd(deps, state);
      }
    };
  };
}

function auditEnd({ audit: trail }: ChainDeps, { audit }: RequestState): void {
  if (audit !== undefined) void trail?.stage(audit, "ResponseComplete");
}

/** Audits the end of a tunnel, which is when its connection closes its holding. */
function auditedTunnel(
  deps: ChainDeps,
  state: RequestState,
  { held }: Extract<PlainResponse, { kind: "tunnel" }>,
): { readonly held?: Holding } {
  if (state.audit === undefined) return {};
  if (held === undefined) {
    auditEnd(deps, state);
    return {};
  }
  return { held: closedWith(held, () => auditEnd(deps, state)) };
}

function finishSample(deps: ChainDeps, state: RequestState, response: PlainResponse): void {
  const { info, request } = state;
  const seconds = (deps.clock.monotonicMs() - state.receivedMs) / 1000;
  deps.metrics.end({
    info,
    known: deps.isServed(info),
    method: request.method,
    isApply: info.verb === "patch" && isApplyPatch(request.headers["content-type"] ?? ""),
    code: response.status,
    seconds,
    bytes: response.kind === "bytes" ? bodyBytes(response.body) : 0,
    dryRun: state.query.has("dryRun"),
  });
}

function isApplyPatch(contentType: string): boolean {
  return contentType.startsWith("application/apply-patch+");
}
