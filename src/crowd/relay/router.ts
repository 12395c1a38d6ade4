/**
 * Routes a request to the relay's own pages, polls, mirrored reads, discovery, or the upstream; and adds the
 * headers common to all answers.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import type { PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import { requestInfo, type RequestInfo } from "#server/request-info.ts";
import { statusResponse } from "#server/status.ts";
import { switched } from "#server/websocket-stream.ts";
import type { RelayAudit } from "./access/audit.ts";
import { nobodyAt } from "./access/anonymous.ts";
import { chargedResponse, openRequest } from "./access/charged.ts";
import { type DiscoveryCache, isDiscovery } from "./discovery-cache.ts";
import type { Asked } from "./access/asked.ts";
import type { CallerNote, EntryPoint } from "./access/entry-point.ts";
import type { RelayLimits } from "./limits.ts";
import type { LoopGuard } from "./fleet/loop-guard.ts";
import type { RelayMetrics } from "./metrics.ts";
import type { MirroredReads } from "./kubernetes/mirrored-reads.ts";
import { type OwnPages, ownPrefix } from "./own-pages.ts";
import { type PassDeps, passThrough } from "./pass-through.ts";
import type { Polls } from "./etag/polls.ts";

export interface RouterDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: requests are not logged. */
  readonly audit?: RelayAudit;
  readonly loop: LoopGuard;
  readonly metrics: RelayMetrics;
  /** Ledger that is charged with memory held for clients. */
  readonly ledger: Ledger;
  readonly own: OwnPages;
  readonly polls: Polls;
  readonly reads: MirroredReads;
  readonly discovery: DiscoveryCache;
  readonly pass: PassDeps;
}

export class Router {
  readonly #deps: RouterDeps;
  readonly #limits: RelayLimits;

  constructor(deps: RouterDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Answers every request, also with errors. */
  async handle(request: PlainRequest, door: EntryPoint): Promise<PlainResponse> {
    return switched(this.#deps.clock, await this.#audited(request, door));
  }

  async #audited(request: PlainRequest, door: EntryPoint): Promise<PlainResponse> {
    const { audit, clock } = this.#deps;
    if (audit === undefined) {
      return (await this.#handle(request, door, {})).response;
    }
    const caller: CallerNote = {};
    const receivedMs = clock.nowMs();
    const { by, response } = await this.#handle(request, door, caller);
    const info = this.#auditInfo(request);
    return audit.audited({ request, info, caller, receivedMs, by }, response);
  }

  async #handle(request: PlainRequest, door: EntryPoint, caller: CallerNote): Promise<Routed> {
    const query = new URLSearchParams(request.query);
    const { via } = request.headers;
    try {
      if (via !== undefined) this.#deps.loop.check(via);
      const routed = await this.#charged(request, query, door, caller);
      this.#deps.metrics.answered(routed.by, routed.response, query);
      // A client that is a relay gets the IDs of this relay and its upstreams.
      if (via === undefined) return routed;
      return { ...routed, response: withHeader(routed.response, "via", this.#deps.loop.answer) };
    } catch (error) {
      const response = withoutCaching(statusResponse(request, query, error));
      this.#deps.metrics.requests.add(["refused", String(response.status)]);
      if (!(error instanceof ApiError)) this.#failed(request, error);
      return { by: "refused", response };
    }
  }

  async #charged(
    request: PlainRequest,
    query: URLSearchParams,
    door: EntryPoint,
    note: CallerNote,
  ): Promise<Routed> {
    const { ledger } = this.#deps;
    const routed = await this.#route(request, query, door, note);
    const response = chargedResponse(ledger, request, door, note, routed.response);
    return { by: routed.by, response };
  }

  /** Returns the request info for audit; a poll counts as a read of its list, whatever its path. */
  #auditInfo({ method, path, query }: PlainRequest): RequestInfo {
    const polled = this.#deps.polls.listPath(path);
    const asked = polled === undefined ? method : "GET";
    const info = requestInfo(asked, polled ?? path, new URLSearchParams(query));
    return polled === undefined ? info : { ...info, path };
  }

  #failed(request: PlainRequest, error: unknown): void {
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#deps.log.error("request failed", { path: request.path, error: trace });
  }

  async #route(
    request: PlainRequest,
    query: URLSearchParams,
    door: EntryPoint,
    note: CallerNote,
  ): Promise<Routed> {
    const own = request.path.startsWith(ownPrefix);
    const page = own ? this.#deps.own.open(request.path) : undefined;
    if (page !== undefined) return { by: "relay", response: page };
    const isPublic = this.#deps.polls.isPublic(request.path);
    const caller = isPublic ? publicCaller(request, note) : await door.caller(request, note);
    if (own) return { by: "relay", response: await this.#deps.own.answer(request, door, caller) };
    const info = requestInfo(request.method, request.path, query);
    note.namespace = info.namespace;
    const holding = openRequest(this.#deps.ledger, request, door, note);
    try {
      return await this.#answer({ request, query, door, caller, holding }, info);
    } finally {
      holding.close();
    }
  }

  async #answer(asked: Asked, info: RequestInfo): Promise<Routed> {
    const { request, door, caller, holding } = asked;
    const poll = await this.#deps.polls.answer(asked);
    if (poll !== undefined) return { by: "etag", response: poll };
    const read = await this.#deps.reads.answer(asked, info);
    if (read !== "pass") return { by: "mirror", response: withoutCaching(read) };
    if (isDiscovery(request)) {
      await door.authorizePath(caller, request.path);
      const response = await this.#deps.discovery.answer(request);
      if (response !== undefined) return { by: "discovery", response };
    }
    await door.admit(caller, request.path);
    const response = await passThrough(this.#deps.pass, this.#limits, request, caller, holding);
    return { by: "upstream", response };
  }
}

/** Returns the caller of a public page: the anonymous user, whatever credential the request has; no review is made. */
function publicCaller({ peer }: PlainRequest, note: CallerNote): UserInfo {
  note.user = nobodyAt(peer.kind === "socket" ? peer.address : "");
  return note.user;
}

/** An answer with its source. */
interface Routed {
  readonly by: string;
  readonly response: PlainResponse;
}

function withHeader(response: PlainResponse, name: string, value: string): PlainResponse {
  return { ...response, headers: { ...response.headers, [name]: value } };
}

/** Adds the Cache-Control header that upstream sends with everything that shared caches must not keep. */
function withoutCaching(response: PlainResponse): PlainResponse {
  return { ...response, headers: { "cache-control": "no-cache, private", ...response.headers } };
}
