/**
 * The memory of an autoscaler between two rounds: recommendations, for stabilization windows, and its changes, for the
 * periods of policies.
 *
 * Holds  entries older than the longest requested window or period are removed.
 * Bounds one recommendation per round; the longest window that the API accepts is an hour: 240 at 15 s. As in upstream,
 *        the memory is lost with the process: a new process starts with the current replicas.
 */

interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

interface Change {
  /** Greater than 0. */
  readonly count: number;
  readonly atMs: number;
}

/** One hour: the maximum window that validation allows. */
const windowMaxMs = 3_600_000;
/** Half an hour: the maximum period that validation allows. */
const periodMaxMs = 1_800_000;
/** Maximum entries, because the sync period may be very short; the oldest are dropped. */
const keptMax = 10_000;

export class ScaleHistory {
  #recommendations: Recommendation[] = [];
  #ups: Change[] = [];
  #downs: Change[] = [];

  /** Records the current replicas at the first reconciliation. */
  begin(replicas: number, nowMs: number): void {
    if (this.#recommendations.length === 0) this.recommend(replicas, nowMs);
  }

  recommend(replicas: number, nowMs: number): void {
    const kept = this.#recommendations.filter(({ atMs }) => atMs >= nowMs - windowMaxMs);
    this.#recommendations = [...kept.slice(-keptMax), { replicas, atMs: nowMs }];
  }

  /** Recommendations of the last `windowMs`. */
  recommended(windowMs: number, nowMs: number): readonly number[] {
    return this.#recommendations
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ replicas }) => replicas);
  }

  changed(from: number, to: number, nowMs: number): void {
    const change = { count: Math.abs(to - from), atMs: nowMs };
    if (to > from) this.#ups = withChange(this.#ups, change);
    else this.#downs = withChange(this.#downs, change);
  }

  /** Replicas at the beginning of the last `periodMs`, if there are `current` now. */
  before(current: number, periodMs: number, nowMs: number): number {
    const added = countSince(this.#ups, nowMs - periodMs);
    return current - added + countSince(this.#downs, nowMs - periodMs);
  }
}

function withChange(changes: readonly Change[], change: Change): Change[] {
  const kept = changes.filter(({ atMs }) => atMs >= change.atMs - periodMaxMs);
  return [...kept.slice(-keptMax), change];
}

function countSince(changes: readonly Change[], sinceMs: number): number {
  return changes.reduce((sum, { count, atMs }) => (atMs > sinceMs ? sum + count : sum), 0);
}
