/**
 * Where priority and fairness plugs into the chain. The chain knows seats only through this door;
 * without a gate every request passes.
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
  /** `release` is called exactly once: when the answer has left; for a watch, when its initial events are sent. */
  | {
      readonly kind: "seated";
      readonly headers: Headers;
      release(): void;
      /** A long answer is made: whether it may keep the seat while its client takes it. */
      linger(): boolean;
      /** Of a seat that lingers: its reader stands still. `release` still follows. At most once. */
      stall(): void;
      /** Of a watch: it is over. Idempotent. */
      readonly forget: () => void;
      explain(): GateExplanation;
      /** The request waits: until it goes on, others may have its seat. */
      rest(waitsFor: WaitsFor): void;
      goOn(): void;
    }
  /** 429 as plain text. */
  | {
      readonly kind: "rejected";
      readonly headers: Headers;
      readonly retryAfterSeconds: number;
      /** Absent: the usual one. */
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
