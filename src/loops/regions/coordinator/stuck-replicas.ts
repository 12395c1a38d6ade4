/**
 * Replicas that a region was asked for and that did not become ready in time: it has no room for them, whatever it says.
 *
 * Holds  a region counts as stuck after `stuckAfterMs` without a change of what is ready, for `forgetAfterMs`, then it is
 *        tried again.
 * Bounds one entry per object and region that is short; forgotten when it is not.
 */
import type { Clock } from "#platform/clock.ts";

interface Short {
  readonly ready: number;
  readonly sinceMs: number;
}

export class StuckReplicas {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #stuckAfterMs: number;
  readonly #forgetAfterMs: number;
  readonly #short = new Map<string, Short>();

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    times: { readonly stuckAfterMs: number; readonly forgetAfterMs: number },
  ) {
    this.#clock = clock;
    this.#stuckAfterMs = times.stuckAfterMs;
    this.#forgetAfterMs = times.forgetAfterMs;
  }

  /** Records the number of replicas requested from a region, and the number that is ready there. */
  note(region: string, uid: string, asked: number, ready: number): void {
    const key = `${region} ${uid}`;
    const known = this.#short.get(key);
    const nowMs = this.#clock.monotonicMs();
    const isTold = known !== undefined && nowMs - known.sinceMs >= this.#stuckAfterMs;
    if (isTold && nowMs - known.sinceMs < this.#forgetAfterMs && ready <= known.ready) return;
    if (ready >= asked) this.#short.delete(key);
    else if (known === undefined || ready > known.ready || isTold) {
      this.#short.set(key, { ready, sinceMs: nowMs });
    }
  }

  /** Maximum number of replicas to expect from the region. Undefined: the object is not stuck there. */
  roomFor(region: string, uid: string): number | undefined {
    const known = this.#short.get(`${region} ${uid}`);
    if (known === undefined) return undefined;
    const forMs = this.#clock.monotonicMs() - known.sinceMs;
    return forMs >= this.#stuckAfterMs && forMs < this.#forgetAfterMs ? known.ready : undefined;
  }

  /** Time until the object may count as stuck or be tried again. Undefined: no region is short of replicas for it. */
  nextMs(uid: string): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    const waits = [...this.#short]
      .filter(([key]) => key.endsWith(` ${uid}`))
      .map(([, { sinceMs }]) => sinceMs - nowMs)
      .flatMap((age) => [age + this.#stuckAfterMs, age + this.#forgetAfterMs])
      .filter((wait) => wait > 0);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }
}
