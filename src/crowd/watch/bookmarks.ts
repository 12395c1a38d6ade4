/**
 * Periodic bookmarks: each cursor that asked for bookmarks gets one per period. The cursors are spread
 * evenly over `slots`, so that 10,000 watchers do not all wake in one turn.
 */
import type { Clock, Timer } from "#platform/clock.ts";

interface BookmarkSource {
  bookmark(slot: number, slots: number): void;
}

interface BookmarkTimer {
  stop(): void;
}

/** `sources` is called at each tick, because caches are added and removed. */
export function startBookmarks(
  deps: { clock: Clock; sources: () => Iterable<BookmarkSource> },
  options: { periodMs: number; slots: number },
): BookmarkTimer {
  const { periodMs, slots } = options;
  let slot = 0;
  let timer: Timer;
  const arm = (): void => {
    timer = deps.clock.after("watch.bookmark", periodMs / slots, () => {
      // The next tick is scheduled first, so that a source that throws does not stop the bookmarks.
      const current = slot;
      slot = (slot + 1) % slots;
      arm();
      for (const source of deps.sources()) source.bookmark(current, slots);
    });
  };
  arm();
  return { stop: () => timer.cancel() };
}
