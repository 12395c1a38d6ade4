/**
 * The resourceVersions at which a mirror knows the state, so that a watch may resume there.
 *
 * Gap    a list at L after a loss at C shows what exists, not what was created and deleted in between.
 *        Positions strictly between are therefore refused (410), except one at which a list beside the
 *        stream showed this very state. L is good; so is C when it is closed (mirror.ts): at an open C,
 *        an object may be missing here that was deleted again before L.
 * Proof  a list beside the stream that finds no difference: the state since the newest event is that
 *        of the list's revision too. The next event ends it for reads, a gap over it remembers it.
 * Bounds `gapsMax` gaps and proofs; no position below a gap that was forgotten is good.
 */
import { assert } from "#base/assert.ts";
import { expiredError } from "#api/status.ts";
import { wholeRevision } from "#watch/cache-event.ts";
import type { KnownState } from "#watch/cache-state.ts";

/** Unknown positions, strictly between `above` and `below`; at those in `good` a list has shown the state held here. */
interface Gap {
  readonly above: number;
  readonly below: number;
  readonly good: readonly number[];
}

export class KnownPositions {
  readonly #state: KnownState;
  readonly #gapsMax: number;
  #gaps: readonly Gap[] = [];
  /** Upper end of the gaps that are no longer remembered: positions below it are unknown. */
  #gapFloor = 0;
  /** Lists made beside the stream have shown that the state, unchanged since `at`, is also that at each position in `to`. */
  #proof: { readonly at: number; readonly to: readonly number[] } = { at: 0, to: [] };

  constructor(state: KnownState, limits: { readonly gapsMax: number }) {
    this.#state = state;
    this.#gapsMax = limits.gapsMax;
  }

  /** Ascending positions above the newest revision at which the state is proven to be the one held. */
  get proofs(): readonly number[] {
    const { at, to } = this.#proof;
    if (at !== this.#state.changedAt) return [];
    const newest = wholeRevision(this.#state.revision);
    return to.filter((position) => position > newest);
  }

  /** Notes that a list at `revision`, above every earlier proof, showed the state that is held. */
  prove(revision: number): void {
    const { proofs } = this;
    assert(revision > (proofs.at(-1) ?? 0), "proofs must rise", { revision });
    const to = [...proofs, revision].slice(-this.#gapsMax);
    this.#proof = { at: this.#state.changedAt, to };
  }

  /** Returns why a watch cannot start strictly after `position`, or a snapshot cannot be taken there. Undefined: both can. */
  refusal(position: number): Error | undefined {
    const floor = Math.max(this.#gapFloor, this.#state.floor);
    if (position >= floor && !this.#gaps.some((gap) => isIn(gap, position))) return undefined;
    return expiredError(`too old resource version: ${position} (${wholeRevision(floor)})`);
  }

  /** Returns the gap that a list at `below` leaves after the complete state at `above`, without remembering it. */
  gap(above: number, below: number): Gap {
    return { above, below, good: this.proofs };
  }

  remember(gap: Gap): void {
    if (gap.below - gap.above <= 1) return;
    const { floor } = this.#state;
    const gaps = [...this.#gaps.filter(({ below }) => below > floor), gap];
    while (gaps.length > this.#gapsMax) this.#gapFloor = gaps.shift()?.below ?? 0;
    this.#gaps = gaps;
  }

  /** Forgets all positions, because the upstream's history is a different one. */
  clear(): void {
    this.#gaps = [];
    this.#gapFloor = 0;
    this.#proof = { at: 0, to: [] };
  }
}

export function isIn({ above, below, good }: Gap, position: number): boolean {
  return above < position && position < below && !good.includes(position);
}
