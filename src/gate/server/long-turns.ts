/**
 * Reports requests that held a turn of the event loop for more than 20 ms, with user, verb, path and the stage of the
 * chain: as a metric, and as at most one log line in ten seconds.
 */
import type { UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import { type LongTurn, TurnLog, type TurnTimes } from "#platform/turn-log.ts";
import type { Counter, MetricSet } from "#metrics/metric-set.ts";
import type { RequestInfo } from "./request-info.ts";

/** Stage of a request in the chain. */
type Stage = "authentication" | "fairness" | "authorization" | "handler" | "answer";

/** The facts about a request that are known so far. */
interface Marked {
  readonly info: RequestInfo;
  readonly user: UserInfo | undefined;
}

interface LongTurnsDeps {
  readonly times: TurnTimes;
  readonly metrics: MetricSet;
  readonly log: Log;
  /** Whether the resource of a path is one of this server's; other resources get no series. */
  readonly isKnown: (info: RequestInfo) => boolean;
}

const tellEveryMs = 10_000;
/** Time after a start in which long turns are not recorded: cold code and empty caches cause them, not callers. */
const quietAfterStartMs = 60_000;
const pathLengthMax = 256;

export class LongTurns {
  readonly #deps: LongTurnsDeps;
  readonly #turns: TurnLog<Marked>;
  readonly #count: Counter;
  readonly #seconds: Counter;
  #quietUntilMs: number;
  #untold = 0;

  constructor(deps: LongTurnsDeps) {
    this.#deps = deps;
    this.#quietUntilMs = deps.times.nowMs() + quietAfterStartMs;
    this.#turns = new TurnLog(deps.times, (turn) => this.#record(turn));
    const labels = ["user", "verb", "group", "resource", "stage"];
    this.#count = deps.metrics.counter(
      "pilothouse_long_turns_total",
      "Turns of the event loop of more than 20 ms, by the request that took most of it.",
      labels,
    );
    this.#seconds = deps.metrics.counter(
      "pilothouse_long_turn_seconds_total",
      "Their time in seconds.",
      labels,
    );
  }

  mark(request: Marked, stage: Stage): void {
    this.#turns.mark(request, stage);
  }

  #record({ request, stage, ms }: LongTurn<Marked>): void {
    const of = [...this.#labels(request), stage];
    this.#count.add(of);
    this.#seconds.add(of, ms / 1000);
    this.#tell(request, stage, ms);
  }

  #labels(request: Marked | undefined): readonly string[] {
    if (request === undefined) return ["", "", "", ""];
    const { info, user } = request;
    const isKnown = info.isResourceRequest && this.#deps.isKnown(info);
    const kind = isKnown ? [info.group, info.resource] : ["", ""];
    return [user?.name ?? "", verbOf(info), ...kind];
  }

  #tell(request: Marked | undefined, stage: string, ms: number): void {
    const nowMs = this.#deps.times.nowMs();
    if (nowMs < this.#quietUntilMs) return void this.#untold++;
    this.#quietUntilMs = nowMs + tellEveryMs;
    const held = { stage, ms: Math.round(ms), others: this.#untold };
    this.#deps.log.warn(
      request === undefined ? "many requests held the event loop" : "a request held the event loop",
      request === undefined ? held : { ...told(request), ...held },
    );
    this.#untold = 0;
  }
}

function told({ info, user }: Marked): Readonly<Record<string, string>> {
  const path = info.path.slice(0, pathLengthMax).toWellFormed();
  return { user: user?.name ?? "", verb: verbOf(info), path };
}

/** Verb of a request, limited because an HTTP/2 client may send any method. */
function verbOf({ verb }: RequestInfo): string {
  return /^[a-z]{1,16}$/.test(verb) ? verb : "other";
}
