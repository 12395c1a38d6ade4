/**
 * Detects a scheduler that has work but finishes none. Such a leader would renew its lease and schedule nothing: it is
 * better that the process ends and a follower takes over.
 *
 *   look: work held, nothing finished since the last look? ──no──► 0
 *                         └ yes ──► one more ──► `looksMax` in a row: stuck
 *
 * Holds  an error counts as finished: another leader does not help against a server that refuses or times out. Pods
 *        that fit no node, or that wait for volumes or for their backoff, are not counted as held work.
 * Why count looks and not time: a paused process makes only one look, however long the pause was.
 */
import type { Clock, Timer } from "#platform/clock.ts";

interface WorkFigures {
  /** Number of Pods that are ready to be decided. */
  readonly active: number;
  readonly bindsInFlight: number;
  readonly decisions: number;
  readonly bound: number;
  readonly bindErrors: number;
}

/** Two minutes in total; a request of the client times out long before. */
const lookEveryMs = 10_000;
const looksMax = 12;

/** Never resolves. Rejects when the scheduler is stuck; the checks end when `signal` aborts. */
export function whenStuck(
  clock: Clock,
  figures: () => WorkFigures,
  signal: AbortSignal,
): Promise<never> {
  return new Promise((_, reject) => {
    // A term may end while its scheduler starts; an aborted signal sends no event.
    if (signal.aborted) return;
    let last = finishedOf(figures());
    let looks = 0;
    let timer: Timer;
    const look = (): void => {
      const now = figures();
      const finished = finishedOf(now);
      const isIdle = now.active + now.bindsInFlight === 0;
      looks = isIdle || finished !== last ? 0 : looks + 1;
      last = finished;
      if (looks >= looksMax) reject(new Error(textOf(now, looks * lookEveryMs)));
      else timer = clock.after("scheduler.watchdog", lookEveryMs, look);
    };
    timer = clock.after("scheduler.watchdog", lookEveryMs, look);
    signal.addEventListener("abort", () => timer.cancel(), { once: true });
  });
}

function finishedOf({ decisions, bound, bindErrors }: WorkFigures): number {
  return decisions + bound + bindErrors;
}

function textOf({ active, bindsInFlight }: WorkFigures, ms: number): string {
  const held = `${active} pods to decide and ${bindsInFlight} binds in flight`;
  return `the scheduler finished nothing for ${ms / 1_000} s with ${held}: it gives up its lease`;
}
