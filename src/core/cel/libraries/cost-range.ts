/** Ranges of sizes and costs that saturate at 2^64, as upstream's estimates. */

export interface Range {
  readonly min: number;
  /** At least `min`; `unlimited` when unknown. */
  readonly max: number;
}

/** 2^64: upstream's largest uint64 as a double. Estimates above 2^53 are not exact. */
export const unlimited = 2 ** 64;

export const unknownRange: Range = { min: 0, max: unlimited };

export function fixedRange(size: number): Range {
  return { min: size, max: size };
}

function cap(value: number): number {
  return Math.min(value, unlimited);
}

export function addRanges(a: Range, b: Range): Range {
  return { min: cap(a.min + b.min), max: cap(a.max + b.max) };
}

export function multiplyRanges(a: Range, b: Range): Range {
  return { min: cap(a.min * b.min), max: cap(a.max * b.max) };
}

/** Rounded up. */
export function scaleRange(range: Range, factor: number): Range {
  return { min: cap(Math.ceil(range.min * factor)), max: cap(Math.ceil(range.max * factor)) };
}

export function uniteRanges(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
