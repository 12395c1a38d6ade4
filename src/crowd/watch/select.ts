/**
 * Selects the objects of a snapshot that match a predicate, in turns of the loop. A list of 50,000 objects checks
 * each of them, and a selector parses those that have not been parsed before.
 *
 * Holds  the result equals one pass over the snapshot, which does not change between turns.
 * Cost   about 10 µs per KB of an object that a selector has to parse; almost nothing without a selector.
 */
import type { Pace } from "#platform/pace.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { SortedSet } from "./sorted-set.ts";

/** Weighted bytes visited per turn: 3 to 6 ms. */
const turnBytesMax = 384 * 1024;
/** Weight of an object that is not parsed; the minimum weight of one that is. */
const seenBytes = 32;
const parsedBytesMin = 256;

interface Selected {
  readonly items: readonly SharedObject[];
  /** The last key visited; "": none. */
  readonly last: string;
  /** Whether keys after `last` remain that were not visited because of the limit. */
  readonly more: boolean;
}

/**
 * Returns up to `limit` matching objects from `from` on; limit 0: all of them.
 * `pace` absent: in one pass, for callers that no other work may overtake.
 */
export async function selectObjects(
  objects: SortedSet<SharedObject>,
  predicate: Predicate,
  { from, limit }: { readonly from: string; readonly limit: number },
  pace: Pace | undefined,
): Promise<Selected> {
  const items: SharedObject[] = [];
  let last = "";
  let more = false;
  let next: string | undefined = from;
  while (next !== undefined) {
    let budget = turnBytesMax;
    const start: string = next;
    next = undefined;
    objects.scan(start, predicate.to, (object) => {
      if (limit > 0 && items.length >= limit) return !(more = true);
      if (budget <= 0 && pace !== undefined) {
        next = object.key;
        return false;
      }
      budget -= predicate.selective ? parsedBytesMin + object.value.length : seenBytes;
      if (predicate.matches(object)) items.push(object);
      last = object.key;
      return true;
    });
    if (next !== undefined) await pace?.turn();
  }
  return { items, last, more };
}
