/**
 * When each revision arrived, to the nearest half second: tells how long a watcher at some position has
 * been behind, without a timestamp in every event.
 *
 * Bounds  `passedMax` notes; a position older than all of them counts as old as the oldest.
 */
import { Ring } from "#base/ring.ts";
import type { Clock } from "#platform/clock.ts";

const noteEveryMs = 500;

interface Note {
  /** Arrived at `ms` or up to `noteEveryMs` later. */
  readonly revision: number;
  readonly ms: number;
}

export class PassedRevisions {
  readonly #clock: Clock;
  readonly #notes: Ring<Note>;

  constructor(clock: Clock, options: { readonly passedMax: number }) {
    this.#clock = clock;
    this.#notes = new Ring(options.passedMax);
  }

  /** `revision` is the newest. */
  note(revision: number): void {
    const ms = this.#clock.monotonicMs();
    const last = this.#notes.get(this.#notes.next - 1);
    if (last === undefined || ms - last.ms >= noteEveryMs) this.#notes.push({ revision, ms });
  }

  /** How long ago the first event after `position` arrived, as far as the notes reach. */
  ageMs(position: number): number {
    let low = this.#notes.oldest;
    let high = this.#notes.next;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#notes.get(middle)?.revision ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    const note = this.#notes.get(low);
    return note === undefined ? 0 : this.#clock.monotonicMs() - note.ms;
  }
}
