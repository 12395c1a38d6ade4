/**
 * A list that takes away more of a resource than an operator thinks possible waits for a second one.
 *
 * An upstream that was restored from the wrong backup, or is not the one it was, answers in good order
 * with little or nothing; every client would delete what it holds. Deletions on a stream are always
 * believed, and an empty list may be right: the second list is applied in any case.
 */
import { failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";

export interface ShrinkLimits {
  /** 1..100: percentage of the held objects that one list may remove without confirmation. Undefined: no guard. */
  readonly shrinkPercentMax: number | undefined;
  /** Minimum time between the suspicious list and the one that confirms it. */
  readonly shrinkConfirmMs: number;
}

/** A list that must be confirmed before it is applied. */
export interface Suspect {
  readonly missing: number;
  readonly held: number;
  readonly confirmInMs: number;
}

export class ShrinkGuard {
  /** Number of lists held back, and of lists that a second one confirmed. */
  readonly counts = { held: 0, confirmed: 0 };
  readonly #clock: Clock;
  readonly #limits: ShrinkLimits;
  #suspectedMs: number | undefined;

  constructor(deps: { readonly clock: Clock }, limits: ShrinkLimits) {
    this.#clock = deps.clock;
    this.#limits = limits;
  }

  get on(): boolean {
    return this.#limits.shrinkPercentMax !== undefined;
  }

  /** Undefined: the list is to be applied. `missing`: number of the `held` objects that the list lacks. */
  judge(held: number, missing: number): Suspect | undefined {
    const { shrinkPercentMax = 100, shrinkConfirmMs } = this.#limits;
    if (missing * 100 <= held * shrinkPercentMax) {
      this.#suspectedMs = undefined;
      return undefined;
    }
    const nowMs = this.#clock.monotonicMs();
    const since = (this.#suspectedMs ??= nowMs);
    if (since !== nowMs && nowMs - since >= shrinkConfirmMs) {
      this.#suspectedMs = undefined;
      this.counts.confirmed++;
      return undefined;
    }
    this.counts.held++;
    return { missing, held, confirmInMs: shrinkConfirmMs - (nowMs - since) };
  }
}

/** Returns the error for reads that wait for such a list. */
export function unconfirmedError({ missing, held }: Suspect): Error {
  const text = `the upstream's list lacks ${missing} of ${held} objects; a second one must confirm it`;
  return failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
}
