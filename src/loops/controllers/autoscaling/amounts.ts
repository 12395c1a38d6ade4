/**
 * Amounts of metrics as whole thousandths, in the range of Go's int64: what a metrics server says of itself
 * may be any text, and no sum of them leaves the range.
 */
import { int64Max } from "#api/go/go-integer.ts";
import { formatQuantity, quantityOfMilli, tryParseQuantity } from "#api/values/quantity.ts";

export const int32Max = 2 ** 31 - 1;
const million = 1_000_000n;

/** Thousandths, rounded away from zero, at most 2^63 - 1 of them; undefined: the text is no quantity. */
export function milliOf(text: unknown): bigint | undefined {
  if (typeof text !== "string" && typeof text !== "number") return undefined;
  const quantity = tryParseQuantity(text);
  if (quantity === undefined) return undefined;
  const whole = quantity.nanos / million;
  const rest = quantity.nanos % million;
  return clamp(whole + (rest > 0n ? 1n : rest < 0n ? -1n : 0n));
}

export function addMilli(a: bigint, b: bigint): bigint {
  return clamp(a + b);
}

function clamp(value: bigint): bigint {
  if (value > int64Max) return int64Max;
  return value < -int64Max ? -int64Max : value;
}

/** Up, and into an int32: a ratio of hostile amounts may be infinite, or no number at all. */
export function ceilReplicas(value: number): number {
  if (Number.isNaN(value)) return 0;
  return Math.max(-int32Max, Math.min(int32Max, Math.ceil(value))) + 0;
}

/** Up, as an amount. */
export function ceilMilli(value: number): bigint {
  if (!Number.isFinite(value)) return value > 0 ? int64Max : 0n;
  return clamp(BigInt(Math.ceil(value)));
}

/** As the status shows it: memory in powers of two, as metrics-server does. */
export function quantityText(milli: bigint, resource = ""): string {
  const format = resource === "memory" ? "BinarySI" : "DecimalSI";
  return formatQuantity(quantityOfMilli(milli, format));
}
