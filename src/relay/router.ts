/**
 * Where a request goes: the relay's own pages, polls, mirrored reads, discovery, and upstream with all
 * the rest; and what every answer has, whoever gave it.
 */
import { ApiError } from "#api/status.ts";
import type { Log } from "#platform/log.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { requestInfo } from "#server/request-info.ts";
import { statusResponse } from "#server/status.ts";
import { type DiscoveryCache, isDiscovery } from "./discovery-cache.ts";
import type { Door } from "./door.ts";
import type { RelayLimits } from "./limits.ts";
import type { LoopGuard } from "./loop-guard.ts";
import type { RelayMetrics } from "./metrics.ts";
import type { MirroredReads } from "./mirrored-reads.ts";
import { type OwnPages, ownPrefix } from "./own-pages.ts";
import { type PassDeps, passThrough } from "./pass-through.ts";
import type { Polls } from "./polls.ts";

export interface RouterDeps {
  readonly log: Log;
  readonly loop: LoopGuard;
  readonly metrics: RelayMetrics;
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

  /** Answers everything, errors too. */
  async handle(request: PlainRequest, door: Door): Promise<PlainResponse> {
    const query = new URLSearchParams(request.query);
    const { via } = request.headers;
    try {
      if (via !== undefined) this.#deps.loop.check(via);
      const [by, response] = await this.#route(request, query, door);
      this.#deps.metrics.answered(by, response, query);
      // To a relay: who stands behind this one.
      return via === undefined ? response : withHeader(response, "via", this.#deps.loop.answer);
    } catch (error) {
      const response = uncached(statusResponse(request, query, error));
      this.#deps.metrics.requests.add(["refused", String(response.status)]);
      if (!(error instanceof ApiError)) this.#failed(request, error);
      return response;
    }
  }

  #failed(request: PlainRequest, error: unknown): void {
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#deps.log.error("request failed", { path: request.path, error: trace });
  }

  async #route(
    request: PlainRequest,
    query: URLSearchParams,
    door: Door,
  ): Promise<readonly [string, PlainResponse]> {
    const own = request.path.startsWith(ownPrefix);
    const page = own ? this.#deps.own.open(request.path) : undefined;
    if (page !== undefined) return ["relay", page];
    const caller = await door.caller(request);
    if (own) return ["relay", await this.#deps.own.answer(request, door, caller)];
    const asked = { request, query, door, caller };
    const poll = await this.#deps.polls.answer(asked);
    if (poll !== undefined) return ["etag", poll];
    const info = requestInfo(request.method, request.path, query);
    const read = await this.#deps.reads.answer(asked, info);
    if (read !== "pass") return ["mirror", uncached(read)];
    if (isDiscovery(request)) {
      await door.authorizePath(caller, request.path);
      const response = await this.#deps.discovery.answer(request);
      if (response !== undefined) return ["discovery", response];
    }
    return ["upstream", await passThrough(this.#deps.pass, this.#limits, request, caller)];
  }
}

function withHeader(response: PlainResponse, name: string, value: string): PlainResponse {
  return { ...response, headers: { ...response.headers, [name]: value } };
}

/** As upstream says of everything that may not be kept by others. */
function uncached(response: PlainResponse): PlainResponse {
  return { ...response, headers: { "cache-control": "no-cache, private", ...response.headers } };
}
