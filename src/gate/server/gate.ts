/**
 * The interface between the chain and priority and fairness: the chain knows seats only through it. Without a gate,
 * every request passes.
 */
import type { GateExplanation } from "#flowcontrol/explanation.ts";
import type { Headers, PlainResponse, UserInfo } from "#platform/http.ts";
import type { WaitsFor } from "#platform/pace.ts";
import type { RequestInfo } from "./request-info.ts";
import { textResponse } from "./respond.ts";

interface GateRequest {
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

export type GateAnswer =
  /** `release` is called exactly once: when the answer has been sent; for a watch, when its initial events are. */
  | {
      readonly kind: "seated";
      readonly headers: Headers;
      release(): void;
      /** Call when a long answer is made. @returns whether it may keep the seat while its client reads it. */
      linger(): boolean;
      /** Call when the reader of a lingering seat stalls, at most once. `release` still follows. */
      stall(): void;
      /** Call when a watch has ended. Idempotent. */
      readonly forget: () => void;
      explain(): GateExplanation;
      /** Call when the request waits: until `goOn`, other requests may use its seat. */
      rest(waitsFor: WaitsFor): void;
      goOn(): void;
    }
  /** Answered with 429 as plain text. */
  | {
      readonly kind: "rejected";
      readonly headers: Headers;
      readonly retryAfterSeconds: number;
      /** Absent: the default message. */
      readonly message?: string;
      explain(): GateExplanation;
    };

export interface Gate {
  enter(request: GateRequest): Promise<GateAnswer>;
}

export function answerTooManyRequests({
  retryAfterSeconds,
  message = "Too many requests, please try again later.\n",
}: Extract<GateAnswer, { kind: "rejected" }>): PlainResponse {
  return textResponse(429, message, { "retry-after": String(retryAfterSeconds) });
}
