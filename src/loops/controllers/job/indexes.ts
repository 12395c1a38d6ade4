/**
 * Completion indexes as the status writes them, `1,3-5,7`: sorted ranges, pure.
 *
 * Holds  ranges are disjoint, rising, and never touch: {1..2}, {3} is always {1..3}.
 * Cost   linear in ranges, not in indexes: a completed Job of 100,000 indexes is one range.
 */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export type Indexes = readonly Range[];

export const noIndexes: Indexes = [];

/** Parses the result of `formatIndexes`; anything but ranges below `completions` is dropped. */
export function parseIndexes(text: string | undefined, completions: number): Indexes {
  const ranges = (text ?? "").split(",").flatMap((part) => {
    const match = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part);
    const first = Number(match?.[1] ?? completions);
    const last = Math.min(Number(match?.[2] ?? first), completions - 1);
    return first <= last ? [{ first, last }] : [];
  });
  return joinRanges(ranges);
}

export function formatIndexes(indexes: Indexes): string {
  const part = ({ first, last }: Range): string => {
    if (first === last) return `${first}`;
    // Upstream writes two adjacent indexes as `1,2`, not as a range.
    return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
  };
  return indexes.map(part).join(",");
}

export function indexesOf(numbers: Iterable<number>): Indexes {
  return joinRanges([...numbers].map((index) => ({ first: index, last: index })));
}

export function union(...sets: readonly Indexes[]): Indexes {
  return joinRanges(sets.flat());
}

function joinRanges(ranges: readonly Range[]): Indexes {
  const result: { first: number; last: number }[] = [];
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = result.at(-1);
    if (before === undefined || first > before.last + 1) result.push({ first, last });
    else before.last = Math.max(before.last, last);
  }
  return result;
}

export function countOf(indexes: Indexes): number {
  return indexes.reduce((total, { first, last }) => total + last - first + 1, 0);
}

export function hasIndex(indexes: Indexes, index: number): boolean {
  let low = 0;
  let high = indexes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((indexes[middle]?.last ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  return (indexes[low]?.first ?? Number.POSITIVE_INFINITY) <= index;
}

/** Number of indexes in both sets. */
export function overlap(a: Indexes, b: Indexes): number {
  return countOf(a) + countOf(b) - countOf(union(a, b));
}

/** The lowest `count` indexes below `completions` that are not in `taken`. */
export function firstFree(taken: Indexes, completions: number, count: number): readonly number[] {
  const free: number[] = [];
  let candidate = 0;
  for (const { first, last } of [...taken, { first: completions, last: completions }]) {
    const end = Math.min(first, completions);
    while (candidate < end && free.length < count) free.push(candidate++);
    candidate = Math.max(candidate, last + 1);
  }
  return free;
}
