/**
 * kubernetes.quantity: amounts with suffixes.
 *
 * Upstream holds a quantity as an int64 with a power of ten where it fits, else as a big decimal.
 * isInteger and asInteger tell the two apart (`1000m` is no integer there), so the small form is kept
 * beside the exact amount.
 */
import { ownEntry } from "#base/own.ts";
import { int64Max } from "#api/go/go-integer.ts";
import {
  QuantityError,
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityOf,
  subQuantities,
} from "#api/values/quantity.ts";
import type { Quantity } from "#api/values/quantity.ts";
import { FunctionError } from "./limits.ts";
import {
  accepts,
  declare,
  free,
  intOf,
  member,
  noSuchOverload,
  parsed,
  textOf,
  types,
} from "./library.ts";
import type { Library, LibraryFunction } from "./library.ts";
import { OpaqueValue } from "./values.ts";
import type { Value } from "./values.ts";

/** value × 10^scale, where value is an int64. */
interface SmallAmount {
  readonly value: bigint;
  readonly scale: number;
}

class QuantityValue extends OpaqueValue {
  readonly quantity: Quantity;
  /** Undefined where upstream uses a big decimal. */
  readonly small: SmallAmount | undefined;

  constructor(quantity: Quantity, small: SmallAmount | undefined) {
    super(types.quantity.name);
    this.quantity = quantity;
    this.small = small;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }

  override print(): string {
    return formatQuantity(this.quantity);
  }
}

/** From a field with a quantity. @throws FunctionError for other texts. */
export function quantityOfText(text: string): Value {
  return readQuantity(text);
}

function quantityValueOf(value: Value | undefined): QuantityValue {
  if (!(value instanceof QuantityValue)) throw noSuchOverload();
  return value;
}

const formatText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numericText = "unable to parse numeric part of quantity";

/** Upstream treats a missing number as 0: `Mi` and `+` are quantities. */
function readQuantity(text: string): QuantityValue {
  const [number = ""] = /^[+-]?[0-9]*(?:\.[0-9]*)?/.exec(text) ?? [];
  const suffix = text.slice(number.length);
  if (text === "" || !/^[eEinumkKMGTP]*[-+]?[0-9]*$/.test(suffix)) {
    throw new QuantityError(formatText);
  }
  const hasDigits = /[0-9]/.test(number);
  // Upstream parses these on its slow path, which requires a number.
  if (!hasDigits && /^([PE]i|[eE]-0*[1-9][0-9]+)$/.test(suffix)) {
    throw new QuantityError(numericText);
  }
  const sign = /^[+-]/.exec(number)?.[0] ?? "";
  const full = hasDigits ? text : `${sign}0${suffix}`;
  return new QuantityValue(parseQuantity(full), smallAmountOf(full));
}

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryExponents = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** @param text a valid quantity. */
function smallAmountOf(text: string): SmallAmount | undefined {
  const match = /^([+-]?)0*([0-9]*)\.?([0-9]*)(.*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign, digits = "", fraction = "", suffix = ""] = match;
  const whole = digits === "" ? "0" : digits;
  const binary = (binaryExponents.indexOf(suffix) + 1) * 10;
  if (binary > 0) return fraction === "" ? smallBinary(sign === "-", whole, binary) : undefined;
  const exponent = ownEntry(decimalExponents, suffix) ?? Number(suffix.slice(1));
  const scale = exponent - fraction.length;
  if (whole.length + fraction.length > 18 || scale < -9) return undefined;
  const value = BigInt(whole + fraction);
  return { value: sign === "-" ? -value : value, scale };
}

/** Upstream's estimate of the digits that a power of two adds. */
function smallBinary(negative: boolean, whole: string, exponent: number): SmallAmount | undefined {
  if (15 - whole.length - Math.trunc((exponent * 3) / 10) - 1 < 0) return undefined;
  const value = BigInt(whole) << BigInt(exponent);
  if (value > int64Max) return undefined;
  return { value: negative ? -value : value, scale: 0 };
}

function addSmall(a: SmallAmount | undefined, b: SmallAmount | undefined): SmallAmount | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (b.value === 0n) return a;
  if (a.value === 0n) return b;
  const scale = Math.min(a.scale, b.scale);
  const left = scaleUp(a.value, a.scale - scale);
  const right = scaleUp(b.value, b.scale - scale);
  if (left === undefined || right === undefined) return undefined;
  const value = left + right;
  return value === BigInt.asIntN(64, value) ? { value, scale } : undefined;
}

/** value × 10^power if it fits into an int64. */
function scaleUp(value: bigint, power: number): bigint | undefined {
  if (value === 0n) return 0n;
  if (power > 18) return undefined;
  const scaled = value * 10n ** BigInt(power);
  return scaled === BigInt.asIntN(64, scaled) ? scaled : undefined;
}

function integerOf(amount: SmallAmount | undefined): bigint | undefined {
  return amount === undefined || amount.scale < 0 ? undefined : scaleUp(amount.value, amount.scale);
}

function approximate(value: QuantityValue): number {
  const { small, quantity } = value;
  const { base, exponent } =
    small === undefined
      ? { base: quantity.nanos, exponent: -9 }
      : { base: small.value, exponent: small.scale };
  return exponent === 0 ? Number(base) : Number(base) * Number(`1e${exponent}`);
}

function sum(a: QuantityValue, b: QuantityValue): QuantityValue {
  return new QuantityValue(addQuantities(a.quantity, b.quantity), addSmall(a.small, b.small));
}

function difference(a: QuantityValue, b: QuantityValue): QuantityValue {
  const negated = b.small && { value: -b.small.value, scale: b.small.scale };
  return new QuantityValue(subQuantities(a.quantity, b.quantity), addSmall(a.small, negated));
}

function fromInt(value: bigint): QuantityValue {
  return new QuantityValue(quantityOf(value, "DecimalExponent"), { value, scale: 0 });
}

function order(a: Value | undefined, b: Value | undefined): number {
  return compareQuantities(quantityValueOf(a).quantity, quantityValueOf(b).quantity);
}

function signOf(quantity: Quantity): bigint {
  return quantity.nanos > 0n ? 1n : quantity.nanos < 0n ? -1n : 0n;
}

const two = [types.quantity, types.quantity];
const withInt = [types.quantity, types.int];

function arithmetic(
  name: string,
  id: string,
  combine: (a: QuantityValue, b: QuantityValue) => QuantityValue,
): LibraryFunction {
  return declare(
    name,
    member(id, two, types.quantity, (a, b) => combine(quantityValueOf(a), quantityValueOf(b))),
    member(`${id}_int`, withInt, types.quantity, (a, b) =>
      combine(quantityValueOf(a), fromInt(intOf(b))),
    ),
  );
}

export const quantityLibrary: Library = {
  name: "kubernetes.quantity",
  since: 28,
  functions: [
    declare(
      "quantity",
      free("string_to_quantity", [types.string], types.quantity, (text) =>
        parsed(QuantityError, () => readQuantity(textOf(text))),
      ),
    ),
    declare(
      "isQuantity",
      free("is_quantity_string", [types.string], types.bool, (text) =>
        accepts(QuantityError, () => readQuantity(textOf(text))),
      ),
    ),
    declare(
      "sign",
      free("quantity_sign", [types.quantity], types.int, (quantity) =>
        signOf(quantityValueOf(quantity).quantity),
      ),
    ),
    declare(
      "isGreaterThan",
      member("quantity_is_greater_than", two, types.bool, (a, b) => order(a, b) > 0),
    ),
    declare(
      "isLessThan",
      member("quantity_is_less_than", two, types.bool, (a, b) => order(a, b) < 0),
    ),
    declare(
      "compareTo",
      member("quantity_compare_to", two, types.int, (a, b) => BigInt(order(a, b))),
    ),
    declare(
      "asApproximateFloat",
      member("quantity_get_float", [types.quantity], types.double, (quantity) =>
        approximate(quantityValueOf(quantity)),
      ),
    ),
    declare("asInteger", member("quantity_get_int", [types.quantity], types.int, asInteger)),
    declare(
      "isInteger",
      member("quantity_is_integer", [types.quantity], types.bool, (quantity) => {
        return integerOf(quantityValueOf(quantity).small) !== undefined;
      }),
    ),
    arithmetic("add", "quantity_add", sum),
    arithmetic("sub", "quantity_sub", difference),
  ],
};

function asInteger(quantity: Value | undefined): bigint {
  const whole = integerOf(quantityValueOf(quantity).small);
  if (whole === undefined) throw new FunctionError("cannot convert value to integer");
  return whole;
}
