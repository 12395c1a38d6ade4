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
  /** 1..100: more than this share of what is held may not go by one list. Absent: no guard. */
  readonly shrinkPercentMax: number | undefined;
  /** The second list is made this much later at the earliest. */
  readonly shrinkConfirmMs: number;
}

/** The list is not believed yet. */
export interface Suspect {
  readonly missing: number;
  readonly held: number;
  readonly confirmInMs: number;
}

export class ShrinkGuard {
  /** Lists that were not applied, and those that a second one confirmed. */
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

  /** Undefined: the list is to be applied. `missing` of the `held` objects are not in it. */
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

/** The error for reads that wait for such a list. */
export function unconfirmedError({ missing, held }: Suspect): Error {
  const text = `the upstream's list lacks ${missing} of ${held} objects; a second one must confirm it`;
  return failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
}
