/**
 * Priority and fairness of what a relay answers itself: reads of mirrored resources wait for seats of their level, as at an
 * API server. What passes through has its seat at the upstream, and none here; nor have the relay's own
 * serving workers at the inner entry point, who gave the client a seat already.
 *
 * Holds  a seat is given back exactly once: when the answer is made, or, of a long one, when its client has taken it or
 *        stands still; of a watch, when the state it begins with was taken. A watch counts as open until it closes.
 */
import type { Clock } from "#platform/clock.ts";
import type { ByteSink, PlainResponse } from "#platform/http.ts";
import { isLongAnswer } from "#server/charges.ts";
import { answerTooManyRequests, type Gate, type GateAnswer } from "#server/gate.ts";
import { LingeringSeat } from "#server/lingering-seat.ts";
import type { RequestInfo } from "#server/request-info.ts";
import type { Asked } from "./asked.ts";

/** Maximum time an answer keeps its seat: upstream's default timeout for a request other than a watch. */
const lingerMsMax = 60_000;

type Seated = Extract<GateAnswer, { kind: "seated" }>;
type Answered = PlainResponse | "pass";

export class Fairness {
  readonly #clock: Clock;
  readonly #gate: Gate;

  constructor(deps: { readonly clock: Clock; readonly gate: Gate }) {
    this.#clock = deps.clock;
    this.#gate = deps.gate;
  }

  /** Calls `serve` as soon as a seat is free. */
  async seated(
    { request, query, door, caller }: Asked,
    info: RequestInfo,
    serve: () => Promise<Answered>,
  ): Promise<Answered> {
    if (door.isOwn || caller === undefined) return serve();
    const { signal } = request;
    const seat = await this.#gate.enter({ info, user: caller, query, signal });
    if (seat.kind === "rejected") return withHeaders(answerTooManyRequests(seat), seat);
    let isKept = false;
    try {
      const response = await serve();
      const isStream = response !== "pass" && response.kind === "stream";
      if (!isStream) seat.forget();
      if (response === "pass") return response;
      isKept = isLongAnswer(request, response) && seat.linger();
      const answer = isKept ? this.#keeping(seat, response) : response;
      return withHeaders(isStream ? closedWith(answer, seat.forget) : answer, seat);
    } catch (error) {
      seat.forget();
      throw error;
    } finally {
      if (!isKept) seat.release();
    }
  }

  #keeping(seat: Seated, response: PlainResponse): PlainResponse {
    const untilMs = this.#clock.monotonicMs() + lingerMsMax;
    const lingering = new LingeringSeat(this.#clock, seat, untilMs);
    if (response.kind === "stream") {
      response.begins?.(lingering);
      return closedWith(response, () => lingering.left());
    }
    if (response.kind !== "bytes") return response;
    const left = (): void => {
      lingering.left();
      response.left?.();
    };
    return { ...response, left, moved: () => lingering.moved() };
  }
}

function withHeaders(response: PlainResponse, { headers }: GateAnswer): PlainResponse {
  return { ...response, headers: { ...headers, ...response.headers } };
}

/** Returns the same response; `f` is called once its stream has closed. */
function closedWith(response: PlainResponse, f: () => void): PlainResponse {
  if (response.kind !== "stream") return response;
  const open = (sink: ByteSink): (() => void) => {
    const close = response.open(sink);
    return () => {
      close();
      f();
    };
  };
  return { ...response, open };
}
