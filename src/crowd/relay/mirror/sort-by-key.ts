/**
 * Sorts a list by key in steps. Lists of an API server come in this order already, which costs one look at each
 * item; an aggregated API may give any order.
 *
 * How    runs of `runItems` are sorted, then neighbours are merged until one is left.
 */
import type { Steps } from "#base/steps.ts";

interface Keyed {
  readonly key: string;
}

/** Number of items sorted in one step, in 10 µs; two hundred steps make a turn. */
const runItems = 32;

/** @returns the items in key order; `items` itself when it is already sorted. */
export function* sortSteps<T extends Keyed>(items: readonly T[]): Steps<readonly T[]> {
  if (isSorted(items)) return items;
  let runs: (readonly T[])[] = [];
  for (let at = 0; at < items.length; at += runItems) {
    runs.push(items.slice(at, at + runItems).sort(byKey));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeSteps(runs[at] ?? [], runs[at + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeSteps<T extends Keyed>(a: readonly T[], b: readonly T[]): Steps<readonly T[]> {
  const all: T[] = [];
  let atB = 0;
  for (const item of a) {
    for (; atB < b.length; atB++) {
      const other = b[atB] as T; // within b
      if (other.key >= item.key) break;
      all.push(other);
      yield;
    }
    all.push(item);
    yield;
  }
  for (; atB < b.length; atB++) {
    all.push(b[atB] as T); // within b
    yield;
  }
  return all;
}

function isSorted(items: readonly Keyed[]): boolean {
  let last = "";
  for (const { key } of items) {
    if (key < last) return false;
    last = key;
  }
  return true;
}

function byKey(a: Keyed, b: Keyed): number {
  return a.key < b.key ? -1 : 1;
}
