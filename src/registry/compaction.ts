/**
 * Compaction: every period the store forgets what was history already a period ago, so at least one
 * and at most two periods of history are there at any time.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Revision, Store } from "#store/store.ts";

export interface CompactionTimer {
  stop(): void;
}

/** Calls `compacted` after each success, so that readers drop what they kept below the revision. */
export function startCompaction(
  deps: { store: Store; clock: Clock; log: Log; compacted: (revision: number) => void },
  options: { periodMs: number },
): CompactionTimer {
  const { store, clock, log } = deps;
  let stopped = false;
  let timer: Timer;
  let sample: Revision = store.commitRevision;
  const compact = async (): Promise<void> => {
    const revision = sample;
    sample = store.commitRevision;
    if (revision <= store.compactRevision) return;
    const result = await store.compact(revision);
    // Someone else may have compacted further: as good.
    if (result.kind !== "future") deps.compacted(store.compactRevision);
  };
  const arm = (): void => {
    timer = clock.after("store.compact", options.periodMs, () => {
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
