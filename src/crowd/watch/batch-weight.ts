/**
 * How much work a batch is for its sink, so that one batch is one turn of the event loop.
 *
 * Unit   a byte that is parsed, some 10 ns. A sink that sends stored bytes as they are copies them; one that
 *        makes another form of each object (a Table's rows, metadata, protobuf, converted ones) parses them first.
 */
import type { CacheEvent } from "./cache-event.ts";

/** Weight is in bytes of work. This much takes 3 to 6 ms: one turn of the loop. */
export const turnWeightMax = 384 * 1024;
/** The least weight of an object that is sent as it is stored: 250 small ones are one turn. */
const sentWeightMin = 1536;
/** Copying eight bytes takes as long as parsing one. */
const copiedPerParsed = 8;
/** The weight of making one form (a table's row, for instance), besides parsing its object. */
const madeWeightMin = 8 * 1024;

/** After so much, other work of the loop comes first. */
export const restWeight = turnWeightMax / 2;

/** Of an object of `bytes` for a sink that makes its own form of each (`isMaking`), or for one that does not. */
export function sendWeight(bytes: number, isMaking: boolean): number {
  return isMaking ? madeWeightMin + bytes : Math.max(sentWeightMin, bytes / copiedPerParsed);
}

/** One per read of the ring: a crowd that reads the same gets the same array, and its frames are shared. */
const portions = new WeakMap<readonly CacheEvent[], readonly CacheEvent[]>();

/** The first whole revisions of `events` that a sink which makes its own form gets through in a turn, one at least. */
export function madePortion(events: readonly CacheEvent[]): readonly CacheEvent[] {
  const known = portions.get(events);
  if (known !== undefined) return known;
  const portion = firstPortion(events);
  portions.set(events, portion);
  return portion;
}

function firstPortion(events: readonly CacheEvent[]): readonly CacheEvent[] {
  let left = turnWeightMax;
  for (const [at, event] of events.entries()) {
    const isWhole = at > 0 && event.revision !== events[at - 1]?.revision;
    if (left <= 0 && isWhole) return events.slice(0, at);
    left -= sendWeight(event.sentBytes, true);
  }
  return events;
}
