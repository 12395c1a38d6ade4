/**
 * Compares a mirror's checksum with the one its upstream sends in bookmarks (an upstream relay does).
 *
 * Holds  a difference is reported once, as an error. If the list that follows finds no difference, the
 *        comparisons end: then the checksums are wrong, and further lists would be useless.
 */
import type { ViewState } from "#watch/watch-item.ts";

/** The mirror's state differs from the upstream's: only a new list gives the true state. */
export class ChecksumError extends Error {
  constructor(held: ViewState, told: ViewState, revision: number) {
    const text = (view: ViewState): string => `${view.count} objects ${view.checksum}`;
    super(`the mirror holds ${text(held)} at ${revision}, its upstream ${text(told)}`);
    this.name = "ChecksumError";
  }
}

export class ChecksumCheck {
  /** Number of bookmarks whose checksum was compared, and of those that differed. */
  readonly counts = { checked: 0, mismatched: 0 };
  #suspicion: "none" | "open" | "unfounded" = "none";

  /** Whether checksums are compared; false after a list has shown that a mismatch was unfounded. */
  get on(): boolean {
    return this.#suspicion !== "unfounded";
  }

  /** Throws ChecksumError when the two states differ. */
  compare(held: ViewState, told: ViewState, revision: number): void {
    this.counts.checked++;
    if (held.count === told.count && held.checksum === told.checksum) return;
    this.counts.mismatched++;
    this.#suspicion = "open";
    throw new ChecksumError(held, told, revision);
  }

  /** Called after a whole list. `differed`: whether it differed from the mirror's state. */
  listed(differed: boolean): void {
    if (this.#suspicion === "open") this.#suspicion = differed ? "none" : "unfounded";
  }
}
