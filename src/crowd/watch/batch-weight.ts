/**
 * Weighs the work that a batch makes for its sink, so that one batch takes one turn of the event loop.
 *
 * Unit   one parsed byte, about 10 ns. A sink that sends the stored bytes only copies them. A sink that sends
 *        another form of each object (a Table's rows, metadata, protobuf, converted ones) parses them first.
 */
import type { CacheEvent } from "./cache-event.ts";

/** Weights are in bytes of work. One turn of the loop does this much, which takes 3 to 6 ms. */
export const turnWeightMax = 384 * 1024;
/** Minimum weight of an object that is sent in its stored form, so that a turn sends at most 250 small objects. */
const sentWeightMin = 1536;
/** Parsing one byte takes as long as copying eight. */
const copiedPerParsed = 8;
/** Weight of building one derived form (a Table row, for instance), in addition to parsing the object. */
const madeWeightMin = 8 * 1024;

/** After this much work the cursor yields to other work of the loop. */
export const restWeight = turnWeightMax / 2;

/** Weight of an object of `bytes`. `isMaking`: the sink builds its own form of each object. */
export function sendWeight(bytes: number, isMaking: boolean): number {
  return isMaking ? madeWeightMin + bytes : Math.max(sentWeightMin, bytes / copiedPerParsed);
}

/** One portion per read of the ring: cursors with the same read get the same array and share its frames. */
const portions = new WeakMap<readonly CacheEvent[], readonly CacheEvent[]>();

/** The first whole revisions of `events` that a sink with its own form can process in one turn; at least one revision. */
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
