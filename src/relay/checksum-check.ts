/**
 * Compares what a mirror holds with what its upstream says it holds, as a relay does in bookmarks.
 *
 * Holds  a difference is told once, as an error; a list that follows it and finds none ends the
 *        comparisons: then it is the sums that are wrong, and a list for each would be for nothing.
 */
import type { ViewState } from "#watch/watch-item.ts";

/** What the mirror holds is not what the upstream holds: only a list tells what is true now. */
export class ChecksumError extends Error {
  constructor(held: ViewState, told: ViewState, revision: number) {
    const text = (view: ViewState): string => `${view.count} objects ${view.checksum}`;
    super(`the mirror holds ${text(held)} at ${revision}, its upstream ${text(told)}`);
    this.name = "ChecksumError";
  }
}

export class ChecksumCheck {
  /** Bookmarks whose sum was compared, and those that differed. */
  readonly counts = { checked: 0, mismatched: 0 };
  #suspicion: "none" | "open" | "unfounded" = "none";

  /** Whether a sum still says anything. */
  get on(): boolean {
    return this.#suspicion !== "unfounded";
  }

  /** Throws ChecksumError. */
  compare(held: ViewState, told: ViewState, revision: number): void {
    this.counts.checked++;
    if (held.count === told.count && held.checksum === told.checksum) return;
    this.counts.mismatched++;
    this.#suspicion = "open";
    throw new ChecksumError(held, told, revision);
  }

  /** A whole list came, and did or did not differ from what was held. */
  listed(differed: boolean): void {
    if (this.#suspicion === "open") this.#suspicion = differed ? "none" : "unfounded";
  }
}
