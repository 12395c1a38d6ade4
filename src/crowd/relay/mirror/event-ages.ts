/**
 * How late a mirror's watchers are: the age of the oldest event when it is dispatched, and for how long a
 * watcher at some position has been behind, without a timestamp in every event.
 *
 * Bounds  a note per half second, `passedMax` of them; a position older than all counts as old as the oldest.
 */
import { Ring } from "#base/ring.ts";
import type { Clock } from "#platform/clock.ts";

const noteEveryMs = 500;

interface Note {
  /** Revision that arrived at `ms`, or up to `noteEveryMs` later. */
  readonly revision: number;
  readonly ms: number;
}

export class EventAges {
  readonly #clock: Clock;
  readonly #notes: Ring<Note>;
  /** Time at which the oldest undispatched event was received. */
  #waitingSinceMs: number | undefined;

  constructor(clock: Clock, options: { readonly passedMax: number }) {
    this.#clock = clock;
    this.#notes = new Ring(options.passedMax);
  }

  /** Notes that events up to `revision`, the newest one, were received at `receivedMs`. */
  received(revision: number, receivedMs: number): void {
    this.#waitingSinceMs ??= receivedMs;
    const ms = this.#clock.monotonicMs();
    const last = this.#notes.get(this.#notes.next - 1);
    if (last === undefined || ms - last.ms >= noteEveryMs) this.#notes.push({ revision, ms });
  }

  /** Notes that all received events were dispatched. @returns the age of the oldest one; undefined when there were none. */
  dispatched(): number | undefined {
    const sinceMs = this.#waitingSinceMs;
    this.#waitingSinceMs = undefined;
    return sinceMs === undefined ? undefined : this.#clock.monotonicMs() - sinceMs;
  }

  /** Returns how long ago the first event after `position` arrived, limited by the age of the oldest note. */
  behindMs(position: number): number {
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
