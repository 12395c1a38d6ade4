/**
 * Cursors too many to be served in one turn of the host's loop: they fall behind together and are
 * brought to the present a slice per turn, in the order they fell behind.
 *
 * Holds  a turn serves at most `turnCursors`; who is served late gets what came meanwhile with it, so
 *        a busy crowd is written less often, not later: an event waits for one round, not two.
 * Cost   a set entry per waiting cursor; the ring is what they read, so nothing is queued for them.
 */

/** About 5 ms of writes to plain sockets. */
const turnCursors = 500;
/**
 * Fewer are served at once: up to 50 ms of writes in one turn. Leaving and joining the index costs a
 * fifth of a write on top (5,000 watchers: 0.75 of a C server's rate at once, 0.61 in turns), so
 * turns are for crowds that would hold the loop for longer.
 */
const crowdCursorsMin = 6_000;

export interface CrowdOptions {
  /** Runs `f` in another turn of the host's loop, after I/O had its chance. */
  readonly nextTurn: (f: () => void) => void;
  /** Both for tests. */
  readonly turnCursors?: number;
  readonly crowdCursorsMin?: number;
}

export class Crowd<T extends { resume(): void }> {
  readonly #options: CrowdOptions;
  /** In the order of their turns. */
  readonly #waiting = new Set<T>();
  #scheduled = false;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** Whether `cursors` must wait for a turn: they and those who wait are too many. */
  isCrowd(cursors: number): boolean {
    return cursors + this.#waiting.size >= (this.#options.crowdCursorsMin ?? crowdCursorsMin);
  }

  add(cursor: T): void {
    this.#waiting.add(cursor);
  }

  /** Serves the first slice now, unless one is due anyway. */
  start(): void {
    if (!this.#scheduled) this.#turn();
  }

  #turn(): void {
    let left = this.#options.turnCursors ?? turnCursors;
    for (const cursor of this.#waiting) {
      if (left-- === 0) break;
      this.#waiting.delete(cursor);
      cursor.resume();
    }
    this.#scheduled = this.#waiting.size > 0;
    if (this.#scheduled) this.#options.nextTurn(() => this.#turn());
  }
}
