/**
 * Leases for objects that expire by themselves: all objects written within one window share
 * one lease, so a flood of events costs the store one lease per minute and not one each.
 *
 * An object lives at least `ttlSeconds` and at most the window longer.
 */
import type { Clock } from "#platform/clock.ts";
import type { LeaseId, Store } from "#store/store.ts";

/** As upstream's lease manager: a lease is reused for 60 s and for at most 1000 objects. */
const windowSeconds = 60;
const objectsPerLeaseMax = 1000;

interface Shared {
  readonly lease: Promise<LeaseId>;
  readonly untilMs: number;
  objects: number;
}

export class EventLeases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlSeconds: number;
  #shared: Shared | undefined;

  constructor(deps: { store: Store; clock: Clock }, options: { ttlSeconds: number }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#ttlSeconds = options.ttlSeconds;
  }

  /** A lease that may be used for one more object. */
  lease(): Promise<LeaseId> {
    const nowMs = this.#clock.monotonicMs();
    const shared = this.#shared;
    if (shared !== undefined && nowMs < shared.untilMs && shared.objects < objectsPerLeaseMax) {
      shared.objects++;
      return shared.lease;
    }
    return this.#grant(nowMs);
  }

  /** The store does not know the lease any more; the next object gets a new one. */
  forget(): void {
    this.#shared = undefined;
  }

  #grant(nowMs: number): Promise<LeaseId> {
    const lease = this.#store.grantLease(this.#ttlSeconds + windowSeconds);
    const shared = { lease, untilMs: nowMs + windowSeconds * 1000, objects: 1 };
    this.#shared = shared;
    lease.catch(() => {
      if (this.#shared === shared) this.#shared = undefined;
    });
    return lease;
  }
}
