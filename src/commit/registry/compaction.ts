/**
 * Compaction: four times a period the store forgets what was history already a period ago, so at least
 * one period of history is there at any time, and at most a quarter more.
 *
 * Why not once a period: up to two periods would be kept, and what a busy time left would be forgotten
 * five minutes later.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Revision, Store } from "#store/store.ts";

interface CompactionTimer {
  stop(): void;
}

const looksPerPeriod = 4;

/** Calls `compacted` after each success, so that readers drop what they kept below the revision. */
export function startCompaction(
  deps: { store: Store; clock: Clock; log: Log; compacted: (revision: number) => void },
  options: { periodMs: number },
): CompactionTimer {
  const { store, clock, log } = deps;
  let stopped = false;
  let timer: Timer;
  /** Heads at the last looks, the oldest first: it is a period old once there are enough. */
  const heads: Revision[] = [store.commitRevision];
  const compact = async (): Promise<void> => {
    heads.push(store.commitRevision);
    if (heads.length <= looksPerPeriod) return;
    const revision = heads.shift() as Revision;
    if (revision <= store.compactRevision) return;
    const result = await store.compact(revision);
    // Someone else may have compacted further: as good.
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
