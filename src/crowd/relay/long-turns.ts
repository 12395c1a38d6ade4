/** Finds the request that held a relay's loop: its path and verb, and whether its answer was in progress or done. */
import type { PlainHandler, PlainRequest, UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { TurnTimes } from "#platform/turn-log.ts";
import { LongTurns } from "#server/long-turns.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { type RequestInfo, requestInfo } from "#server/request-info.ts";

interface WatchedDeps {
  readonly turnTimes?: TurnTimes;
  readonly metrics: MetricSet;
  readonly log: Log;
}

/** A request whose path is parsed only when a long turn is reported, so that polls cost nothing. */
class MarkedRequest {
  readonly #request: PlainRequest;
  /** Undefined: only the upstream identifies the user. */
  readonly user: UserInfo | undefined = undefined;

  constructor(request: PlainRequest) {
    this.#request = request;
  }

  get info(): RequestInfo {
    const { method, path, query } = this.#request;
    return requestInfo(method, path, new URLSearchParams(query));
  }
}

export function watchedForLongTurns(
  { turnTimes: times, metrics, log }: WatchedDeps,
  handler: PlainHandler,
): PlainHandler {
  if (times === undefined) return handler;
  // Any path may belong to another server, so no path becomes a metric label.
  const turns = new LongTurns({ times, metrics, log, isKnown: () => false });
  return async (request) => {
    const marked = new MarkedRequest(request);
    turns.mark(marked, "handler");
    const response = await handler(request);
    turns.mark(marked, "answer");
    return response;
  };
}
