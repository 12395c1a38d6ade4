/**
 * A fence: a region runs a singleton only while the coordinator has answered its challenge in time.
 *
 *   region:       challenge c_n, made at t_n on its own clock ──► Lease in the region
 *   coordinator:  copies c_n into the Lease as granted, unless it has revoked
 *   region:       holds until t_n + leaseMs for the newest granted c_n, then stops the singleton
 *   coordinator:  after revoking, waits leaseMs x (1 + driftShare) + stopMs from the last challenge it answered
 *
 * Holds  a region holds at a real time only if the coordinator had read the challenge that it holds by, and the region made
 *        it before; so, if both clocks run at rates within `driftShare` of each other, no region holds at a time that
 *        `FenceAuthority.isOver` calls over. Wall clocks and the delay of any message do not matter: a late grant is short.
 * Bounds what a plane cannot stop is not fenced: a kubelet that has lost its own region's API server runs its pods on. The
 *        README's table says which faults are covered.
 */
export interface FenceTimes {
  readonly leaseMs: number;
  /** How much faster one clock may run than the other: 0.05 is 5 %. */
  readonly driftShare: number;
  /** Time from the decision to stop until the last container has ended. */
  readonly stopMs: number;
}

/** The fence as the region's agent keeps it. */
export class FenceHolder {
  readonly #leaseMs: number;
  /** By challenge: when it was made, on this region's monotonic clock. Bounds: `challengesMax`, the oldest is forgotten. */
  readonly #madeMs = new Map<string, number>();
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor({ leaseMs }: Pick<FenceTimes, "leaseMs">) {
    this.#leaseMs = leaseMs;
  }

  /** Records a challenge to write into the Lease. It must be unique over all holders and their restarts. */
  challenge(nonce: string, nowMs: number): string {
    this.#madeMs.set(nonce, nowMs);
    for (const old of this.#madeMs.keys()) {
      if (this.#madeMs.size <= challengesMax) break;
      this.#madeMs.delete(old);
    }
    return nonce;
  }

  /** Takes the grant that the Lease shows. A challenge that this holder did not make, or made long ago, changes nothing. */
  granted(nonce: string): void {
    const made = this.#madeMs.get(nonce);
    if (made !== undefined) this.#untilMs = Math.max(this.#untilMs, made + this.#leaseMs);
  }

  holds(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }

  /** Remaining time of the grant; 0 when the fence does not hold. */
  remainingMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }
}

const challengesMax = 64;

/** The fence of one region as the coordinator keeps it. */
export class FenceAuthority {
  readonly #times: FenceTimes;
  #lastMs: number;
  #isRevoked = false;

  /** `nowMs` also covers the grants of an earlier leader, because it read those challenges before this authority started. */
  constructor(times: FenceTimes, nowMs: number) {
    this.#times = times;
    this.#lastMs = nowMs;
  }

  /** @returns the grant to write. Undefined: no grant, because the fence is revoked. */
  answer(challenge: string, nowMs: number): string | undefined {
    if (this.#isRevoked) return undefined;
    this.#lastMs = nowMs;
    return challenge;
  }

  revoke(): void {
    this.#isRevoked = true;
  }

  /** Allows the region to run singletons again. */
  restore(): void {
    this.#isRevoked = false;
  }

  /** Whether no grant of the region is valid any more. */
  isOver(nowMs: number): boolean {
    return this.#isRevoked && this.overInMs(nowMs) === 0;
  }

  overInMs(nowMs: number): number {
    const { leaseMs, driftShare, stopMs } = this.#times;
    return Math.max(0, this.#lastMs + leaseMs * (1 + driftShare) + stopMs - nowMs);
  }
}
