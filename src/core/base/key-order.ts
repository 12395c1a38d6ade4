/**
 * The order of many strings at once: sorts by some characters at a time, as numbers.
 *
 * A comparison of two strings costs a jump and two cache misses; a million keys in random order take
 * 2 s by `sort` or by insertion into a tree, and 0.2 s here. After "multikey quicksort" (Bentley and
 * Sedgewick), with a sort of numbers in the place of the partition: by counting where there are many,
 * the host's where there are few.
 */
import { newRows, sortRows } from "./digit-sort.ts";

/** Maximum size of a range that is sorted by comparing. */
const fewKeys = 24;
/** From this size on, six characters at once are sorted by counting; below it, three at once by the host's sort. */
const manyKeys = 4096;
const charsAtOnce = 3;
/** Largest character code that fits into the bits. A range with a larger one is sorted by comparing. */
const codeMax = 255;
/** Codes go from 1 to 256, because 0 stands for the end of the string. */
const radix = 512;
/** Maximum number of keys: the index takes the remaining bits of a number's 53. */
const keysMax = 2 ** 26;

/** Returns the indices of `keys` in ascending code-unit order of the keys. Equal keys come in any order. */
export function keyOrder(keys: readonly string[]): Uint32Array {
  const order = new Uint32Array(keys.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  if (rising(keys)) return order;
  if (keys.length > keysMax) return order.sort((a, b) => compare(keys, a, b));
  const numbers = new Float64Array(Math.min(keys.length, manyKeys));
  const pending: Range[] = [{ low: 0, high: keys.length, depth: 0 }];
  for (let range = pending.pop(); range !== undefined; range = pending.pop()) {
    const { low, high } = range;
    if (high - low <= fewKeys) insertionSort(keys, order, low, high);
    else {
      const deeper = { low, high, depth: commonPrefix(keys, order, range) };
      const sorted =
        high - low <= manyKeys
          ? sortByNumbers(keys, order, numbers, deeper, pending)
          : sortByCounting(keys, order, deeper, pending);
      if (!sorted) order.subarray(low, high).sort((a, b) => compare(keys, a, b));
    }
  }
  return order;
}

/** Part of the order to sort: the keys of order[low, high) share their first `depth` characters. */
interface Range {
  readonly low: number;
  readonly high: number;
  readonly depth: number;
}

/** Whether the keys are sorted already, as they are when they come from a checkpoint. */
function rising(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  }
  return true;
}

function compare(keys: readonly string[], a: number, b: number): number {
  const left = keys[a] as string;
  const right = keys[b] as string;
  return left < right ? -1 : left > right ? 1 : 0;
}

function insertionSort(
  keys: readonly string[],
  order: Uint32Array,
  low: number,
  high: number,
): void {
  for (let i = low + 1; i < high; i++) {
    const moved = order[i] as number;
    const key = keys[moved] as string;
    let at = i;
    for (; at > low && (keys[order[at - 1] as number] as string) > key; at--) {
      order[at] = order[at - 1] as number;
    }
    order[at] = moved;
  }
}

function commonPrefix(
  keys: readonly string[],
  order: Uint32Array,
  { low, high, depth }: Range,
): number {
  const first = keys[order[low] as number] as string;
  let common = first.length;
  for (let i = low + 1; i < high && common > depth; i++) {
    const key = keys[order[i] as number] as string;
    let at = depth;
    while (at < common && first.charCodeAt(at) === key.charCodeAt(at)) at++;
    common = at;
  }
  return common;
}

/** Returns three characters of `key` from `depth` on as a number below 2^27; -1 when one is beyond `codeMax`. */
function charsAt(key: string, depth: number): number {
  let number = 0;
  for (let at = depth; at < depth + charsAtOnce; at++) {
    const code = at < key.length ? key.charCodeAt(at) + 1 : 0;
    if (code > codeMax + 1) return -1;
    number = number * radix + code;
  }
  return number;
}

/**
 * Sorts the range by its next characters, and adds what must be looked at further to `pending`.
 * @returns false, and does nothing, if one is beyond `codeMax`.
 */
function sortByNumbers(
  keys: readonly string[],
  order: Uint32Array,
  numbers: Float64Array,
  { low, high, depth }: Range,
  pending: Range[],
): boolean {
  for (let i = low; i < high; i++) {
    const index = order[i] as number;
    const chars = charsAt(keys[index] as string, depth);
    if (chars < 0) return false;
    numbers[i - low] = chars * keysMax + index;
  }
  numbers.subarray(0, high - low).sort();
  let start = low;
  let before = Math.floor((numbers[0] as number) / keysMax);
  for (let i = low; i < high; i++) {
    const number = numbers[i - low] as number;
    const chars = Math.floor(number / keysMax);
    order[i] = number - chars * keysMax;
    if (chars === before) continue;
    addEqual(before, { low: start, high: i, depth: depth + charsAtOnce }, pending);
    start = i;
    before = chars;
  }
  addEqual(before, { low: start, high, depth: depth + charsAtOnce }, pending);
  return true;
}

/** Sorts as `sortByNumbers` does, but by twice as many characters. */
function sortByCounting(
  keys: readonly string[],
  order: Uint32Array,
  { low, high, depth }: Range,
  pending: Range[],
): boolean {
  const count = high - low;
  const rows = newRows(count);
  for (let i = 0; i < count; i++) {
    const index = order[low + i] as number;
    const key = keys[index] as string;
    const first = charsAt(key, depth);
    const second = charsAt(key, depth + charsAtOnce);
    if (first < 0 || second < 0) return false;
    rows.high[i] = first;
    rows.low[i] = second;
    rows.index[i] = index;
  }
  const sorted = sortRows(rows, newRows(count));
  order.set(sorted.index, low);
  let start = 0;
  for (let i = 1; i <= count; i++) {
    if (i < count && sorted.high[i] === sorted.high[start] && sorted.low[i] === sorted.low[start]) {
      continue;
    }
    const equal = { low: low + start, high: low + i, depth: depth + 2 * charsAtOnce };
    addEqual(sorted.low[start] as number, equal, pending);
    start = i;
  }
  return true;
}

/** Adds a range whose keys share the characters up to `chars`, if they may have more. */
function addEqual(chars: number, range: Range, pending: Range[]): void {
  const ended = chars % radix === 0;
  if (range.high - range.low > 1 && !ended) pending.push(range);
}
