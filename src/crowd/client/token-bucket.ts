/**
 * A token bucket, as golang.org/x/time/rate: in any time t at most burst + qps * t tokens are taken. Pure but for its
 * clock.
 */
import type { Clock } from "#platform/clock.ts";

export interface RateLimit {
  /** Requests per second. */
  readonly qps: number;
  /** Maximum requests at once after a quiet time. */
  readonly burst: number;
}

export class TokenBucket {
  readonly #limit: RateLimit;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Negative while requests wait. */
  #tokens: number;
  #atMs: number;

  constructor(limit: RateLimit, clock: Pick<Clock, "monotonicMs">) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes one token. @returns milliseconds until it is available; 0: now. */
  take(): number {
    const { qps, burst } = this.#limit;
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1_000) * qps) - 1;
    this.#atMs = nowMs;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / qps) * 1_000;
  }
}
