/**
 * Compaction: four times per period the store is compacted up to the revision that was the head one period ago.
 * At least one period of history is therefore available at any time, and at most a quarter more.
 *
 * Why not once per period: up to two periods would be kept, and the history of a busy time would be removed
 * five minutes later.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Revision, Store } from "#store/store.ts";

interface CompactionTimer {
  stop(): void;
}

const looksPerPeriod = 4;

/** Calls `compacted` after each success, so that readers can drop what is below the revision. */
export function startCompaction(
  deps: { store: Store; clock: Clock; log: Log; compacted: (revision: number) => void },
  options: { periodMs: number },
): CompactionTimer {
  const { store, clock, log } = deps;
  let stopped = false;
  let timer: Timer;
  /** Recent head revisions, oldest first; with enough of them, the oldest is one period old. */
  const heads: Revision[] = [store.commitRevision];
  const compact = async (): Promise<void> => {
    heads.push(store.commitRevision);
    if (heads.length <= looksPerPeriod) return;
    const revision = heads.shift() as Revision;
    if (revision <= store.compactRevision) return;
    const result = await store.compact(revision);
    // Another process may have compacted further, which is as good.
    if (result.kind !== "future") deps.compacted(store.compactRevision);
  };
  const arm = (): void => {
    timer = clock.after("store.compact", options.periodMs / looksPerPeriod, () => {
      compact()
        .catch((error: unknown) => log.warn("compaction failed", { error: String(error) }))
        .finally(() => {
          if (!stopped) arm();
        });
    });
  };
  arm();
  return {
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
