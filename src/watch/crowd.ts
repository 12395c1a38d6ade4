/**
 * Slices of cursors that wait for a turn of the host's loop: a crowd is served a slice per turn, in the
 * order the slices fell behind, so that no turn holds the loop for long.
 *
 * Holds  a turn serves about `sliceCursorsMax`. A slice served late gets everything since in one batch, so
 *        a busy crowd is written less often, not later: an event waits for one round, not two.
 * Cost   a set entry per waiting slice; the ring is what they read, so nothing is queued for them.
 */
import type { Slice } from "./slice.ts";

/** About 5 ms of writes to plain sockets. */
export const sliceCursorsMax = 500;
/** Fewer are served at once: up to 10 ms of writes in one turn. */
const crowdCursorsMin = 1_000;

export interface CrowdOptions {
  /** Runs `f` in another turn of the host's loop, after I/O had its chance. */
  readonly nextTurn: (f: () => void) => void;
  /** Both for tests. */
  readonly sliceCursorsMax?: number;
  readonly crowdCursorsMin?: number;
}

export class Crowd {
  readonly #options: CrowdOptions;
  readonly #serve: (slice: Slice) => void;
  /** In the order of their turns. */
  readonly #waiting = new Set<Slice>();
  #scheduled = false;

  constructor(options: CrowdOptions, serve: (slice: Slice) => void) {
    this.#options = options;
    this.#serve = serve;
  }

  /** Whether `cursors` are too many for one turn. */
  isCrowd(cursors: number): boolean {
    return cursors >= (this.#options.crowdCursorsMin ?? crowdCursorsMin);
  }

  add(slice: Slice): void {
    this.#waiting.add(slice);
  }

  /** Serves the first slices now, unless they are due anyway. */
  start(): void {
    if (!this.#scheduled && this.#waiting.size > 0) this.#turn();
  }

  #turn(): void {
    let left = this.#options.sliceCursorsMax ?? sliceCursorsMax;
    for (const slice of this.#waiting) {
      if (left <= 0) break;
      this.#waiting.delete(slice);
      left -= slice.cursors.size;
      this.#serve(slice);
    }
    this.#scheduled = this.#waiting.size > 0;
    if (this.#scheduled) this.#options.nextTurn(() => this.#turn());
  }
}
