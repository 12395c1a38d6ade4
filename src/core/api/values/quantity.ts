/**
 * Quantities (`100m`, `1.5Gi`, `2e3`): exact numbers with a suffix, as upstream's resource.Quantity.
 *
 * Held as whole billionths (the finest unit, `n`; finer input is rounded up, away from zero) plus
 * the format of the source text, which decides how the number prints. Canonical form: no
 * fraction digits, the largest suffix that keeps it exact. Binary amounts are capped at 2^63-1.
 * Cost: one bigint per quantity; callers on hot paths keep `milliValue` and drop the quantity.
 */
import { int64Max } from "../go/go-integer.ts";

type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

export interface Quantity {
  /** The amount in billionths. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** The text is not a quantity; the message is upstream's. */
export class QuantityError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "QuantityError";
  }
}

export const zeroQuantity: Quantity = { nanos: 0n, format: "DecimalSI" };

const nano = 1_000_000_000n;
const binaryMaxNanos = int64Max * nano;
/** Decimal exponents beyond ± this are refused, or round up to 1n, which keeps integers small. */
const exponentMax = 100;
/** Maximum digits before and after the point. */
const digitsMax = 200;

const formatText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixText = "unable to parse quantity's suffix";
const numericText = "unable to parse numeric part of quantity";

const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"] as const;
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

interface Suffix {
  readonly format: QuantityFormat;
  readonly base: 2n | 10n;
  readonly exponent: number;
}

const suffixes: ReadonlyMap<string, Suffix> = new Map([
  ...decimalSuffixes.map((text, index): [string, Suffix] => [
    text,
    { format: "DecimalSI", base: 10n, exponent: 3 * index - 9 },
  ]),
  ...binarySuffixes
    .slice(1)
    .map((text, index): [string, Suffix] => [
      text,
      { format: "BinarySI", base: 2n, exponent: 10 * (index + 1) },
    ]),
]);

/** A suffix must not begin with a digit, because ambiguous digits would be tried in every split. */
const quantityRegex = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/;

/** Parses a text, or a number as JSON may carry one. Throws QuantityError. */
export function parseQuantity(input: string | number): Quantity {
  const text = String(input).trim();
  if (text === "" || text.length > digitsMax) throw new QuantityError(formatText);
  const match = quantityRegex.exec(text);
  if (match === null) throw new QuantityError(formatText);
  const [, sign, whole = "", fraction = "", suffixPart = ""] = match;
  if (whole === "" && fraction === "") throw new QuantityError(numericText);
  const suffix = parseSuffix(suffixPart);
  const digits = BigInt(whole + fraction);
  const unsigned = capToMax(scaleDigits(digits, fraction.length, suffix), suffix.format);
  const nanos = sign === "-" ? -unsigned : unsigned;
  const small = suffix.format === "BinarySI" && unsigned > 0n && unsigned < nano;
  return { nanos, format: small ? "DecimalSI" : suffix.format };
}

/** The quantity, or undefined for an invalid text. */
export function tryParseQuantity(input: string | number): Quantity | undefined {
  try {
    return parseQuantity(input);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

function parseSuffix(text: string): Suffix {
  const known = suffixes.get(text);
  if (known !== undefined) return known;
  if (!/^[eE][-+]?[0-9]+$/.test(text)) throw new QuantityError(suffixText);
  const exponent = Number(text.slice(1));
  if (exponent > exponentMax) throw new QuantityError(suffixText);
  return {
    format: "DecimalExponent",
    base: 10n,
    exponent: Math.max(exponent, -exponentMax - digitsMax),
  };
}

/** digits / 10^fractionDigits * base^exponent in billionths, rounded up. */
function scaleDigits(digits: bigint, fractionDigits: number, suffix: Suffix): bigint {
  const exponent = BigInt(Math.abs(suffix.exponent));
  const factor = suffix.base ** exponent;
  const numerator = digits * nano * (suffix.exponent >= 0 ? factor : 1n);
  const denominator = 10n ** BigInt(fractionDigits) * (suffix.exponent >= 0 ? 1n : factor);
  return divideUp(numerator, denominator);
}

function capToMax(nanos: bigint, format: QuantityFormat): bigint {
  return format === "BinarySI" && nanos > binaryMaxNanos ? binaryMaxNanos : nanos;
}

/** Rounds away from zero. */
function divideUp(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  if (quotient * denominator === numerator) return quotient;
  return numerator < 0n ? quotient - 1n : quotient + 1n;
}

export function quantityOf(value: number | bigint, format: QuantityFormat): Quantity {
  return { nanos: BigInt(value) * nano, format };
}

export function quantityOfMilli(milli: number | bigint, format: QuantityFormat): Quantity {
  return { nanos: BigInt(milli) * 1_000_000n, format };
}

/** Negative, 0 or positive. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

/** The sum has the format of `a`, unless `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

export function subQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** Whole units, rounded up (away from zero). Exact below 2^53. */
export function value(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, nano));
}

/** Thousandths, rounded up (away from zero). Exact below 2^53. */
export function milliValue(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, 1_000_000n));
}

/** The canonical text: `1000m` prints as `1`, `0.5Gi` as `512Mi`. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return "0";
  if (format !== "BinarySI") return formatDecimal(nanos, format);
  const magnitude = nanos < 0n ? -nanos : nanos;
  const whole = nanos % nano === 0n;
  if (magnitude < 1024n * nano || !whole) return formatDecimal(nanos, "DecimalSI");
  return formatBinary(nanos / nano);
}

function formatDecimal(nanos: bigint, format: QuantityFormat): string {
  let number = nanos;
  let exponent = -9;
  const highest = format === "DecimalSI" ? 18 : Number.POSITIVE_INFINITY;
  while (number % 1000n === 0n && exponent < highest) {
    number /= 1000n;
    exponent += 3;
  }
  if (format === "DecimalSI") return `${number}${decimalSuffixes[exponent / 3 + 3] ?? ""}`;
  return exponent === 0 ? number.toString() : `${number}e${exponent}`;
}

function formatBinary(whole: bigint): string {
  let number = whole;
  let index = 0;
  while (number % 1024n === 0n && index < binarySuffixes.length - 1) {
    number /= 1024n;
    index += 1;
  }
  return `${number}${binarySuffixes[index] ?? ""}`;
}

/** The canonical form of a text, as the server returns it. Throws QuantityError. */
export function canonicalQuantity(input: string | number): string {
  return formatQuantity(parseQuantity(input));
}
