/**
 * Limits large responses in flight: whole lists, and watches that begin with the whole state. Their bytes
 * are shared; each response costs kernel buffers and bandwidth. So they are admitted by bytes, and a request
 * without room gets 429 with Retry-After.
 *
 * Holds  bytes admitted and not yet sent <= `largeBytesInFlightMax`, except for a single larger response.
 * Retry-After grows with the number of recent rejections and is spread at random, so that clients return
 * over the time it takes to serve them, not all at once.
 */
import { assert } from "#base/assert.ts";
import { failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";

interface LargeResponseLimits {
  readonly largeBytesInFlightMax: number;
  /** Minimum size of an answer that is counted. */
  readonly largeAnswerBytesMin: number;
}

/** Maximum Retry-After: after this time a client should check whether the other clients are done. */
const retrySecondsMax = 30;
/** Half-life of the number of recent refusals: a crowd of clients lasts a few seconds. */
const forgetMs = 2_000;

export class LargeResponseLimiter {
  admitted = 0;
  refused = 0;
  #bytes = 0;
  #waiting = 0;
  #forgottenAtMs = 0;
  readonly #deps: { readonly clock: Clock; readonly random: Random };
  readonly #limits: LargeResponseLimits;

  constructor(
    deps: { readonly clock: Clock; readonly random: Random },
    limits: LargeResponseLimits,
  ) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Number of bytes admitted and not yet received by their clients. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns a function to call when the answer is sent or its client has disconnected; repeated calls are harmless. Throws 429. */
  enter(bytes: number): () => void {
    const { largeBytesInFlightMax, largeAnswerBytesMin } = this.#limits;
    if (bytes < largeAnswerBytesMin) return nothing;
    if (this.#bytes > 0 && this.#bytes + bytes > largeBytesInFlightMax) throw this.#refusal(bytes);
    this.#bytes += bytes;
    assert(
      this.#bytes <= largeBytesInFlightMax || this.#bytes === bytes,
      "too many bytes admitted",
    );
    this.admitted++;
    let isInside = true;
    return () => {
      if (isInside) this.#bytes -= bytes;
      isInside = false;
      assert(this.#bytes >= 0, "more bytes left than were admitted");
    };
  }

  #refusal(bytes: number): Error {
    this.refused++;
    this.#waiting = this.#remembered() + bytes;
    const rounds = Math.ceil(this.#waiting / this.#limits.largeBytesInFlightMax);
    const retryAfterSeconds =
      1 + this.#deps.random.below(Math.min(rounds, retrySecondsMax - 1) + 1);
    const text = "the relay sends as much as it may at once; the list is shared, please come again";
    return failure(429, "TooManyRequests", text, { retryAfterSeconds });
  }

  #remembered(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    const halvings = Math.floor((nowMs - this.#forgottenAtMs) / forgetMs);
    if (halvings === 0) return this.#waiting;
    this.#forgottenAtMs = nowMs;
    return this.#waiting / 2 ** Math.min(halvings, 64);
  }
}

function nothing(): void {}
