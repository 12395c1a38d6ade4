/**
 * Delays between tries: they double from `firstMs` to `mostMs`, with jitter, so that clients which were
 * cut off at one moment do not return at one moment.
 */
import type { Random } from "#platform/random.ts";

interface BackoffOptions {
  readonly firstMs: number;
  readonly mostMs: number;
  /** "full": uniform below the step, which spreads a crowd best. Absent: between the step and twice the step. */
  readonly jitter?: "full";
}

export class Backoff {
  readonly #random: Random;
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(deps: { random: Random }, options: BackoffOptions) {
    this.#random = deps.random;
    this.#options = options;
  }

  /** The next delay: uniform in [d, 2d), with full jitter in [0, d), for d the current step. */
  nextMs(): number {
    const step = stepMs(this.#options, this.#failures++);
    const least = this.#options.jitter === "full" ? 0 : step;
    return least + this.#random.below(Math.max(1, Math.ceil(step)));
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** `firstMs` × 2^failures, at most `mostMs`. */
export function stepMs(options: BackoffOptions, failures: number): number {
  // 2^40 × any firstMs is past every cap; a larger exponent would only leave the exact integers.
  return Math.min(options.mostMs, options.firstMs * 2 ** Math.min(failures, 40));
}
