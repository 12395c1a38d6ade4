/**
 * Converts quantities to numbers: CPU in thousandths, all others in whole units, rounded up as in upstream.
 *
 * Cost   one look-up for a known text; clusters use few different texts. Bounds: `textsMax`.
 * Why    bigint quantities are exact and ten times slower; 2^53 bytes are eight pebibytes per node.
 */
import { milliValue, parseQuantity, value } from "#api/values/quantity.ts";

const textsMax = 4_096;
const milli = new Map<string, number>();
const whole = new Map<string, number>();

export function cpuMilli(text: string): number {
  return memoized(milli, text, () => milliValue(parseQuantity(text)));
}

export function wholeUnits(text: string): number {
  return memoized(whole, text, () => value(parseQuantity(text)));
}

export function amountOf(resource: string, text: string): number {
  return resource === "cpu" ? cpuMilli(text) : wholeUnits(text);
}

function memoized(known: Map<string, number>, text: string, parse: () => number): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  if (known.size >= textsMax) known.clear();
  const parsed = parse();
  known.set(text, parsed);
  return parsed;
}
