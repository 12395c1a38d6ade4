/** Integers in texts (annotations, labels, queries) as Go's strconv.ParseInt reads them: exact to 64 bits. */

/** Longer texts are out of range, or have an unreasonable number of leading zeros. */
const digitsMax = 25;
const decimal = new RegExp(`^[+-]?[0-9]{1,${digitsMax}}$`);

export const int64Max = 2n ** 63n - 1n;

/** Undefined when the text is not an integer or exceeds 64 bits. */
export function parseInt64(text: string): bigint | undefined {
  if (!decimal.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}

/** Undefined when the text is not an integer or exceeds 32 bits. */
export function parseInt32(text: string): number | undefined {
  const value = parseInt64(text);
  return value === undefined || value !== BigInt.asIntN(32, value) ? undefined : Number(value);
}

/** The error text of strconv.ParseInt for a text that `parseInt64` refuses. */
export function parseInt64Error(text: string): string {
  const why = /^[+-]?[0-9]+$/.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`;
}

/** Converts to a number for comparisons and delays: beyond 2^53 exactness does not matter. */
export function clampToSafe(value: number | bigint): number {
  const number = Number(value);
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(number, Number.MAX_SAFE_INTEGER));
}
