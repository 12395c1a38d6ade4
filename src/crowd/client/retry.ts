/** Retries a call for which a second attempt is known to be harmless. */
import { sleep } from "#platform/clock.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { Backoff } from "./backoff.ts";
import { isTransient, retryAfterMs } from "./api-errors.ts";

interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
}

interface RetryOptions {
  /** Maximum number of attempts, including the first. */
  readonly triesMax: number;
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * Calls `f` until it succeeds, `triesMax` tries have failed, or the refusal is one that time does not cure
 * (4xx other than 429). Throws the last error. Waits at least as long as the server asked for.
 */
export async function retryTransient<T>(
  deps: RetryDeps,
  options: RetryOptions,
  signal: AbortSignal,
  f: () => Promise<T>,
): Promise<T> {
  const backoff = new Backoff(deps, options);
  for (let tries = 1; ; tries++) {
    try {
      return await f();
    } catch (error) {
      if (tries >= options.triesMax || signal.aborted || !isTransient(error)) throw error;
      const delayMs = Math.max(backoff.nextMs(), retryAfterMs(error) ?? 0);
      await sleep(deps.clock, "client.backoff", delayMs, signal);
      if (signal.aborted) throw error;
    }
  }
}
