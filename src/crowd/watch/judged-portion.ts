/**
 * Measures the work of selectors on events, and bounds the number of events that they judge in one turn of the loop.
 *
 * Unit   one look-up: about 50 ns for a short selector, about 400 ns for a long one (`compact-selector.ts`).
 */
import { lookupsMax } from "#api/selectors/compact-selector.ts";
import type { CacheEvent } from "./cache-event.ts";

/** The selectors evaluated on the same events: the sum of their keys and values, and their number. */
interface Judges {
  readonly size: number;
  readonly count: number;
}

/** Look-ups per turn of the loop: 1 to 7 ms. */
export const lookupsPerTurn = 16 * 1024;

/** Upper bound of the look-ups that `judges` need for `events`. */
export function lookupsOf(events: readonly CacheEvent[], judges: Judges): number {
  if (judges.size === 0) return 0;
  let lookups = 0;
  for (const event of events) lookups += lookupsMax(judges.size, judges.count, event.bytes);
  return lookups;
}

/** The first whole revisions of `events` that `judges` evaluate with `lookups`; at least one revision. */
export function judgedPortion(
  events: readonly CacheEvent[],
  judges: Judges,
  lookups: number,
): readonly CacheEvent[] {
  if (judges.size === 0) return events;
  let left = lookups;
  for (const [at, event] of events.entries()) {
    const isWhole = at > 0 && event.revision !== events[at - 1]?.revision;
    if (left <= 0 && isWhole) return events.slice(0, at);
    left -= lookupsMax(judges.size, judges.count, event.bytes);
  }
  return events;
}
