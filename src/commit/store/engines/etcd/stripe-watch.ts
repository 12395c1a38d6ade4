/**
 * Finds the stripe that commits wait for. Batches are acknowledged in order, so the oldest one on its way delays all
 * others: its stripe is the one that is slow, full or without a quorum.
 *
 * Bounds  one entry per put on its way (`pace.appendsMax`), one per stripe.
 */
import type { Clock } from "#platform/clock.ts";
import type { StripeStats } from "../engine.ts";
import type { Calls } from "./calls.ts";

interface Put {
  readonly calls: Calls;
  readonly sinceMs: number;
}

export class StripeWatch {
  readonly #clock: Clock;
  readonly #totals = new Map<Calls, { puts: number; ms: number }>();
  /** Puts in flight, in the order of their slots. */
  readonly #underWay = new Set<Put>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a put began. @returns the function that records its end. */
  began(calls: Calls): () => void {
    const put = { calls, sinceMs: this.#clock.monotonicMs() };
    this.#underWay.add(put);
    return () => this.#ended(put);
  }

  stats(all: readonly Calls[]): readonly StripeStats[] {
    const [oldest] = this.#underWay;
    return all.map((calls) => {
      const { puts, ms } = this.#totals.get(calls) ?? { puts: 0, ms: 0 };
      const heldMs = oldest?.calls === calls ? this.#clock.monotonicMs() - oldest.sinceMs : 0;
      return { name: calls.name, puts, putSeconds: ms / 1000, holdsSeconds: heldMs / 1000 };
    });
  }

  #ended(put: Put): void {
    this.#underWay.delete(put);
    const totals = this.#totals.get(put.calls) ?? { puts: 0, ms: 0 };
    totals.puts++;
    totals.ms += this.#clock.monotonicMs() - put.sinceMs;
    this.#totals.set(put.calls, totals);
  }
}
