/**
 * Where priority and fairness plugs into the chain. The chain knows seats only through this door;
 * without a gate every request passes.
 */
import type { Headers, UserInfo } from "#platform/http.ts";
import type { RequestInfo } from "./request-info.ts";

interface GateRequest {
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

type GateAnswer =
  /** `release` is called exactly once: when the answer has left; for a watch, when it has started. */
  | {
      readonly kind: "seated";
      readonly headers: Headers;
      release(): void;
      /** A long answer is made: whether it may keep the seat while its client takes it. */
      linger(): boolean;
    }
  /** 429 as plain text. */
  | { readonly kind: "rejected"; readonly headers: Headers; readonly retryAfterSeconds: number };

export interface Gate {
  enter(request: GateRequest): Promise<GateAnswer>;
}
