/** Which request held a relay's loop: its path and verb, and whether it was being answered or was answered. */
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

/** Its path is read when a long turn is reported only: a crowd of polls costs nothing. */
class MarkedRequest {
  readonly #request: PlainRequest;
  /** It is the upstream's to say. */
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
  // Any path may be another server's: none becomes a label.
  const turns = new LongTurns({ times, metrics, log, isKnown: () => false });
  return async (request) => {
    const marked = new MarkedRequest(request);
    turns.mark(marked, "handler");
    const response = await handler(request);
    turns.mark(marked, "answer");
    return response;
  };
}
