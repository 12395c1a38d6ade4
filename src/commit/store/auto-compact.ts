/**
 * Compacts automatically: every interval, up to the revision that was the head one interval ago.
 *
 * History therefore reaches back at least one interval and at most two, as with the API server's own
 * compactor. Not for a store whose clients compact (a stock kube-apiserver does).
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Revision, Store } from "./store.ts";

interface CompactorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, "commitRevision" | "compactRevision" | "compact">;
}

interface CompactorOptions {
  readonly intervalMs: number;
  /** Keeps this many revisions, whatever their age. Absent: keeps the revisions of the last interval. */
  readonly keepRevisions?: number;
}

export class AutoCompactor {
  readonly #deps: CompactorDeps;
  readonly #intervalMs: number;
  readonly #keepRevisions: number | undefined;
  #seen: Revision;
  #timer: Timer | undefined;

  constructor(deps: CompactorDeps, options: CompactorOptions) {
    this.#deps = deps;
    this.#intervalMs = options.intervalMs;
    this.#keepRevisions = options.keepRevisions;
    this.#seen = deps.store.commitRevision;
  }

  start(): void {
    this.stop();
    this.#timer = this.#deps.clock.after(
      "store.compact",
      this.#intervalMs,
      () => void this.#tick(),
    );
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #tick(): Promise<void> {
    const { store, log } = this.#deps;
    const until = this.#until();
    this.#seen = store.commitRevision;
    this.start();
    if (until <= store.compactRevision) return;
    try {
      await store.compact(until);
    } catch (error) {
      // The store has stopped; the process that awaits `failed` ends.
      this.stop();
      log.debug("compaction ended", { error: String(error) });
    }
  }

  #until(): Revision {
    if (this.#keepRevisions === undefined) return this.#seen;
    return (this.#deps.store.commitRevision - this.#keepRevisions) as Revision;
  }
}
