/**
 * How many credentials that nobody vouches for the relay asks its upstream about: per client address, and
 * in all. A client that makes tokens up must not make the relay ask once for each.
 *
 *   unknown credential ──► take one from the address and one from all ──► ask
 *                              │ none left: 429, nothing is asked          ├─ yes: both are given back
 *                              ▼                                           └─ no: both are spent
 *
 * Holds  refusals asked about ≤ burst + rate × time, per address and in all. Credentials the relay knows are
 *        never counted, so attempts with unknown ones do not affect known users.
 * Bounds `refusalAddressesMax` addresses, the one seen longest ago is forgotten; an IPv6 address counts as
 *        its /64, which one host has to itself.
 */
import { assert } from "#base/assert.ts";
import { failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import { hostOf } from "./client-host.ts";

export interface RefusalLimits {
  readonly refusalBurst: number;
  readonly refusalsPerSecond: number;
  readonly refusalTotalBurst: number;
  readonly refusalsTotalPerSecond: number;
  readonly refusalAddressesMax: number;
}

export interface RefusalCounts {
  /** Number of credentials that the upstream did not know. */
  refused: number;
  /** Number of 429 answers caused by the limit of one address; `limitedTotal` counts those of the limit of all addresses. */
  limitedAddress: number;
  limitedTotal: number;
}

/** A token bucket that refills with time. */
class Bucket {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** Returns the time until a token is available; 0 when there is one now. */
  waitSeconds(nowMs: number): number {
    this.#left = Math.min(
      this.#burst,
      this.#left + ((nowMs - this.#atMs) / 1000) * this.#perSecond,
    );
    this.#atMs = nowMs;
    return this.#left >= 1 ? 0 : (1 - this.#left) / this.#perSecond;
  }

  take(): void {
    assert(this.#left >= 1, "nothing is left to take");
    this.#left--;
  }

  giveBack(): void {
    this.#left = Math.min(this.#burst, this.#left + 1);
  }
}

export class RefusalBudget {
  readonly counts: RefusalCounts = { refused: 0, limitedAddress: 0, limitedTotal: 0 };
  readonly #clock: Clock;
  readonly #limits: RefusalLimits;
  readonly #total: Bucket;
  readonly #addresses = new Map<string, Bucket>();

  constructor({ clock }: { readonly clock: Clock }, limits: RefusalLimits) {
    this.#clock = clock;
    this.#limits = limits;
    const { refusalTotalBurst, refusalsTotalPerSecond } = limits;
    this.#total = new Bucket(refusalTotalBurst, refusalsTotalPerSecond, clock.monotonicMs());
  }

  /** Asks within the budget; the token is given back when `isYes` accepts the answer. Throws 429 when no token is left. */
  async spend<V>(address: string, ask: () => Promise<V>, isYes: (value: V) => boolean): Promise<V> {
    const own = this.#take(address);
    const giveBack = (): void => {
      own.giveBack();
      this.#total.giveBack();
    };
    let value: V;
    try {
      value = await ask();
    } catch (error) {
      // A failed question is not a refusal, so it does not use the budget.
      giveBack();
      throw error;
    }
    if (isYes(value)) giveBack();
    else this.counts.refused++;
    return value;
  }

  #take(address: string): Bucket {
    const nowMs = this.#clock.monotonicMs();
    const own = this.#bucket(hostOf(address), nowMs);
    const ownWait = own.waitSeconds(nowMs);
    const totalWait = this.#total.waitSeconds(nowMs);
    if (ownWait > 0) {
      this.counts.limitedAddress++;
      throw tooMany("from this address", ownWait);
    }
    if (totalWait > 0) {
      this.counts.limitedTotal++;
      throw tooMany("in all", totalWait);
    }
    own.take();
    this.#total.take();
    return own;
  }

  #bucket(host: string, nowMs: number): Bucket {
    const { refusalBurst, refusalsPerSecond, refusalAddressesMax } = this.#limits;
    const known = this.#addresses.get(host);
    const bucket = known ?? new Bucket(refusalBurst, refusalsPerSecond, nowMs);
    this.#addresses.delete(host);
    this.#addresses.set(host, bucket);
    for (const oldest of this.#addresses.keys()) {
      if (this.#addresses.size <= refusalAddressesMax) break;
      this.#addresses.delete(oldest);
    }
    return bucket;
  }
}

function tooMany(where: string, waitSeconds: number): Error {
  const text = `too many credentials ${where} that nobody vouches for: try again later`;
  const retryAfterSeconds = Math.ceil(waitSeconds);
  return failure(429, "TooManyRequests", text, { retryAfterSeconds });
}
