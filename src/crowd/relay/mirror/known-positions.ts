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

/** Positions strictly between, but for those at which a list showed the state held here. */
interface Gap {
  readonly above: number;
  readonly below: number;
  readonly good: readonly number[];
}

export class KnownPositions {
  readonly #state: KnownState;
  readonly #gapsMax: number;
  #gaps: readonly Gap[] = [];
  /** Gaps beyond the number remembered: no position below this is good. */
  #gapFloor = 0;
  /** Lists beside the stream found the state since the change at `at` to be that at each of `to` too. */
  #proof: { readonly at: number; readonly to: readonly number[] } = { at: 0, to: [] };

  constructor(state: KnownState, limits: { readonly gapsMax: number }) {
    this.#state = state;
    this.#gapsMax = limits.gapsMax;
  }

  /** Positions above the newest revision at which the state is known to be the one held, rising. */
  get proofs(): readonly number[] {
    const { at, to } = this.#proof;
    if (at !== this.#state.changedAt) return [];
    const newest = wholeRevision(this.#state.revision);
    return to.filter((position) => position > newest);
  }

  /** A list at `revision`, above every proof there is, showed the state that is held. */
  prove(revision: number): void {
    const { proofs } = this;
    assert(revision > (proofs.at(-1) ?? 0), "proofs must rise", { revision });
    const to = [...proofs, revision].slice(-this.#gapsMax);
    this.#proof = { at: this.#state.changedAt, to };
  }

  /** Why a watch cannot start strictly after `position`, or a snapshot be taken there; else undefined. */
  refusal(position: number): Error | undefined {
    const floor = Math.max(this.#gapFloor, this.#state.floor);
    if (position >= floor && !this.#gaps.some((gap) => isIn(gap, position))) return undefined;
    return expiredError(`too old resource version: ${position} (${wholeRevision(floor)})`);
  }

  /** What a list at `below` leaves unknown after a state that was whole at `above`; not yet remembered. */
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

  /** The upstream is of another past. */
  clear(): void {
    this.#gaps = [];
    this.#gapFloor = 0;
    this.#proof = { at: 0, to: [] };
  }
}

export function isIn({ above, below, good }: Gap, position: number): boolean {
  return above < position && position < below && !good.includes(position);
}
