/**
 * Decides whether a commit holds the loop while it is written, or is written on the host's threads.
 *
 * A single writer waits, for each commit, for a switch to a thread and a wake-up of the loop: on a
 * fast disk a third of its time. Writing at once saves both. With several concurrent writers the
 * loop has better work to do while the disk writes.
 *
 * P1  Only lone records are written at once, after `loneRun` batches in a row that were lone.
 * P2  Writes at once that took longer than `fastMs` hold the loop for at most a twentieth of all
 *     time: after one of them, the threads write for `restFactor` times as long, and then until they are
 *     fast again. So a disk that has become slow costs the loop one write.
 * That one write cannot be bounded: a disk that stops answering during it stops the loop
 * until it answers. Nothing could be committed meanwhile, but reads and health checks wait too.
 */

const loneRun = 3;
/** Limit of a fast write: a garbage collection holds the loop as long. Measured with the thread switches. */
const fastMs = 1;
const restFactor = 20;

export type Way = "at once" | "by threads";

export class Pace {
  #lone = 0;
  /** Whether the last write was fast. */
  #fast = false;
  #restUntilMs = 0;

  /** Chooses between a synchronous and a threaded write for a batch of `records` records. */
  choose(records: number, nowMs: number): Way {
    this.#lone = records === 1 ? this.#lone + 1 : 0;
    const lone = this.#lone > loneRun;
    return lone && this.#fast && nowMs >= this.#restUntilMs ? "at once" : "by threads";
  }

  wrote(way: Way, startMs: number, endMs: number): void {
    const tookMs = endMs - startMs;
    this.#fast = tookMs <= fastMs;
    if (way === "at once" && !this.#fast) this.#restUntilMs = endMs + restFactor * tookMs;
  }
}
