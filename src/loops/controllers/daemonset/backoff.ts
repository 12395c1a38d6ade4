/**
 * The delay before a failed daemon pod is deleted and replaced: none at first, then 1 s after the last
 * time, doubling to 15 min. A node that rejects its pods must not cause a hot loop.
 *
 * Holds   per DaemonSet, generation and node: when a failed pod was last deleted, and the delay.
 * Bounds  `entriesMax` nodes remembered, the least recently used forgotten first; after 30 minutes
 *         without a failure the delay starts again.
 */
const firstMs = 1_000;
const mostMs = 15 * 60_000;
const entriesMax = 100_000;

interface Entry {
  readonly lastMs: number;
  readonly delayMs: number;
}

export class FailedPodBackoff {
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Time to wait from `nowMs`; 0: the pod may be deleted now. */
  waitMs(key: string, nowMs: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || isQuiet(entry, nowMs)) return 0;
    return Math.max(0, entry.lastMs + entry.delayMs - nowMs);
  }

  deleted(key: string, nowMs: number): void {
    const entry = this.#entries.get(key);
    const again = entry !== undefined && !isQuiet(entry, nowMs);
    const delayMs = again ? Math.min(mostMs, entry.delayMs * 2) : firstMs;
    // Re-inserted, so that the map is in order of use.
    this.#entries.delete(key);
    this.#entries.set(key, { lastMs: nowMs, delayMs });
    if (this.#entries.size > entriesMax) this.#entries.delete(first(this.#entries));
  }

  /** Drops all keys with this prefix. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}

function isQuiet(entry: Entry, nowMs: number): boolean {
  return nowMs - entry.lastMs > 2 * mostMs;
}

function first(entries: ReadonlyMap<string, Entry>): string {
  const next = entries.keys().next();
  return next.done === true ? "" : next.value;
}
