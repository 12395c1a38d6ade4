/**
 * Amounts of metrics as whole thousandths, in the range of Go's int64. A metrics server may report any text; sums of
 * amounts never leave the range.
 */
import { int64Max } from "#api/go/go-integer.ts";
import { formatQuantity, quantityOfMilli, tryParseQuantity } from "#api/values/quantity.ts";

export const int32Max = 2 ** 31 - 1;
const million = 1_000_000n;

/** In thousandths, rounded away from zero, at most 2^63 - 1; undefined: the text is not a quantity. */
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

/** Rounds up to an int32, because a ratio of hostile amounts may be infinite or NaN. */
export function ceilReplicas(value: number): number {
  if (Number.isNaN(value)) return 0;
  return Math.max(-int32Max, Math.min(int32Max, Math.ceil(value))) + 0;
}

/** Rounds up to an amount. */
export function ceilMilli(value: number): bigint {
  if (!Number.isFinite(value)) return value > 0 ? int64Max : 0n;
  return clamp(BigInt(Math.ceil(value)));
}

/** The form in the status: memory in powers of two, as metrics-server does. */
export function quantityText(milli: bigint, resource = ""): string {
  const format = resource === "memory" ? "BinarySI" : "DecimalSI";
  return formatQuantity(quantityOfMilli(milli, format));
}
