/** The values that library functions take and return, with their operations. */
import { ownEntry } from "#base/own.ts";
import { spendEffort } from "../effort.ts";
import { FunctionError, elementsMax } from "./limits.ts";

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | ListValue
  | MapValue
  | OptionalValue
  | TypeValue
  | OpaqueValue;

export class Uint {
  /** In [0, 2^64). */
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  /** Nanoseconds, an int64. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Timestamp {
  /** Nanoseconds since 1970. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A value whose contents only functions can read. */
export abstract class OpaqueValue {
  readonly typeName: string;

  constructor(typeName: string) {
    this.typeName = typeName;
  }

  /** The result of size() where costs use it; otherwise 1. */
  get size(): number {
    return 1;
  }

  equals(other: OpaqueValue): boolean {
    return this === other;
  }

  /** For error texts and tests; not a conversion to a CEL string. */
  print(): string {
    return this.typeName;
  }
}

export class ListValue {
  readonly #items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.#items = items;
  }

  get items(): readonly Value[] {
    return this.#items;
  }

  get size(): number {
    return this.items.length;
  }

  /** This list is the left operand of `==`; its elements are the left operands of `equal`. */
  equals(other: ListValue, equal: (a: Value, b: Value) => boolean): boolean {
    const { items } = other;
    return (
      this.size === other.size && this.items.every((item, at) => equal(item, items[at] ?? null))
    );
  }

  contains(item: Value): boolean {
    return this.items.some((one) => equalValues(item, one));
  }

  /** `this + other`. */
  join(other: ListValue): ListValue {
    return new ListValue([...this.items, ...other.items]);
  }
}

export type MapEntries = readonly (readonly [Value, Value])[];

export class MapValue {
  readonly #entries: MapEntries;
  #index: Map<string, Value> | undefined;

  constructor(entries: MapEntries) {
    this.#entries = entries;
  }

  /** Keys are unique. */
  get entries(): MapEntries {
    return this.#entries;
  }

  get size(): number {
    return this.entries.length;
  }

  /** Equal numbers of different types are the same key. */
  get(key: Value): Value | undefined {
    this.#index ??= new Map(this.entries.map(([one, value]) => [keyText(one), value]));
    return this.#index.get(keyText(key));
  }

  /** The result of `in`. */
  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }
}

/** Two keys have the same text exactly if they are equal. */
export function keyText(key: Value): string {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "bigint") return `n${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === "number") return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
  return `o${stringForm(key) ?? typeName(key)}`;
}

export class OptionalValue {
  readonly inner: Value | undefined;

  constructor(inner: Value | undefined) {
    this.inner = inner;
  }
}

export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export function listValue(items: readonly Value[]): Value {
  return new ListValue(items);
}

export function mapValue(entries: readonly (readonly [Value, Value])[]): Value {
  return new MapValue(entries);
}

export function optionalValue(inner: Value | undefined): Value {
  return new OptionalValue(inner);
}

/** Undefined unless the value is a list. */
export function listItems(value: Value): readonly Value[] | undefined {
  return value instanceof ListValue ? value.items : undefined;
}

/** Undefined unless the value is a map. */
export function mapEntries(value: Value): readonly (readonly [Value, Value])[] | undefined {
  return value instanceof MapValue ? value.entries : undefined;
}

export function isNull(value: Value): boolean {
  return value === null;
}

const plainTypes: Readonly<Record<string, string>> = {
  boolean: "bool",
  bigint: "int",
  number: "double",
  string: "string",
};

export function typeName(value: Value): string {
  if (value === null) return "null_type";
  if (typeof value !== "object") return ownEntry(plainTypes, typeof value) ?? "dyn";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Uint) return "uint";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof ListValue) return "list";
  if (value instanceof MapValue) return "map";
  if (value instanceof OptionalValue) return "optional_type";
  return value instanceof TypeValue ? "type" : value.typeName;
}

/**
 * CEL's equality: numbers of different types by value, everything else by type.
 *
 * Lists may be shared, so two small values can be long to compare: after elementsMax steps it is refused.
 */
export function equalValues(a: Value, b: Value): boolean {
  return equalWithin(a, b, { left: elementsMax });
}

type Steps = { left: number };

function equalWithin(a: Value, b: Value, steps: Steps): boolean {
  spendEffort(1);
  steps.left -= 1;
  if (steps.left < 0) throw new FunctionError("values are too large to compare");
  const numbers = alike(numberOf(a), numberOf(b));
  if (numbers !== undefined) return numbers[0] === numbers[1];
  if (typeof a === "string" || typeof b === "string") return a === b;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
  if (typeName(a) !== typeName(b)) return false;
  if (a instanceof OpaqueValue && b instanceof OpaqueValue) return a.equals(b);
  if (a instanceof MapValue && b instanceof MapValue) return equalMaps(a, b, steps);
  if (a instanceof ListValue && b instanceof ListValue) {
    return a.equals(b, (x, y) => equalWithin(x, y, steps));
  }
  if (a instanceof OptionalValue && b instanceof OptionalValue) return equalOptionals(a, b, steps);
  if (a instanceof TypeValue && b instanceof TypeValue) return a.name === b.name;
  return compareValues(a, b) === 0;
}

function equalMaps(a: MapValue, b: MapValue, steps: Steps): boolean {
  spendEffort(a.size);
  if (a.entries.length !== b.entries.length) return false;
  return a.entries.every(([key, value]) => {
    const other = b.get(key);
    return other !== undefined && equalWithin(value, other, steps);
  });
}

function equalOptionals(a: OptionalValue, b: OptionalValue, steps: Steps): boolean {
  if (a.inner === undefined || b.inner === undefined) return a.inner === b.inner;
  return equalWithin(a.inner, b.inner, steps);
}

function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : undefined;
}

/** -1, 0 or 1; undefined when the values have no order (NaN, other types). */
export function compareValues(a: Value, b: Value): number | undefined {
  spendEffort(1);
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  const left = orderKey(a);
  const right = orderKey(b);
  if (left === undefined || right === undefined || typeName(a) !== typeName(b)) {
    return compareNumbers(a, b);
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : undefined;
}

function compareNumbers(a: Value, b: Value): number | undefined {
  const numbers = alike(numberOf(a), numberOf(b));
  if (numbers === undefined) return undefined;
  const [left, right] = numbers;
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : undefined;
}

type Pair = readonly [bigint, bigint] | readonly [number, number];

/** As cel-go, an integer is compared with a double as a double, which is inexact beyond 2^53. */
function alike(a: bigint | number | undefined, b: bigint | number | undefined): Pair | undefined {
  if (a === undefined || b === undefined) return undefined;
  return typeof a === "bigint" && typeof b === "bigint" ? [a, b] : [Number(a), Number(b)];
}

type OrderKey = boolean | bigint | number | string | Uint8Array | undefined;

function orderKey(value: Value): OrderKey {
  if (value === null) return undefined;
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  if (value instanceof Uint) return value.value;
  return value instanceof Duration || value instanceof Timestamp ? value.nanos : undefined;
}

/** Compares by code point, like Go's UTF-8; by UTF-16 unit, surrogates would precede U+E000. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return fixUp(a.charCodeAt(at)) < fixUp(b.charCodeAt(at)) ? -1 : 1;
}

/** Maps surrogates after all other units, and the end of a text (NaN) before them. */
function fixUp(unit: number): number {
  if (Number.isNaN(unit)) return -1;
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return Math.sign(a.length - b.length);
}

/** The sum of two numbers or durations. Throws FunctionError on overflow. */
export function addValues(a: Value, b: Value): Value {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (typeof a === "bigint" && typeof b === "bigint") return int64(a + b);
  if (a instanceof Duration && b instanceof Duration) return new Duration(int64(a.nanos + b.nanos));
  if (!(a instanceof Uint) || !(b instanceof Uint)) throw new FunctionError("no such overload");
  const sum = a.value + b.value;
  if (sum !== BigInt.asUintN(64, sum)) throw new FunctionError("unsigned integer overflow");
  return new Uint(sum);
}

function int64(value: bigint): bigint {
  if (value !== BigInt.asIntN(64, value)) throw new FunctionError("integer overflow");
  return value;
}

/** The result of string(); undefined for a value without one. */
export function stringForm(value: Value): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return value.toString();
  if (typeof value === "number") return doubleText(value);
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Uint8Array) return bytesText(value);
  if (value instanceof Duration) return durationText(value.nanos);
  if (value instanceof Timestamp) return timestampText(value.nanos);
  return value instanceof TypeValue ? value.name : undefined;
}

/** The shortest digits that parse to the same double, as strconv.FormatFloat with 'g'. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6)
    return value.toFixed(Math.max(0, fractionOf(digits) - exponent));
  const sign = exponent < 0 ? "-" : "+";
  return `${digits}e${sign}${Math.abs(exponent).toString().padStart(2, "0")}`;
}

function fractionOf(digits: string): number {
  return (digits.split(".")[1] ?? "").length;
}

function bytesText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const why = "invalid UTF-8 in bytes, cannot convert to string";
    throw new FunctionError(`could not convert argument "${why}" to string`);
  }
}

/** Seconds with as many digits as necessary. */
function durationText(nanos: bigint): string {
  const magnitude = nanos < 0n ? -nanos : nanos;
  const text = `${magnitude / 1_000_000_000n}${fractionText(magnitude % 1_000_000_000n)}s`;
  return nanos < 0n ? `-${text}` : text;
}

function timestampText(nanos: bigint): string {
  const part = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanos - part) / 1_000_000n));
  return `${date.toISOString().slice(0, 19)}${fractionText(part)}Z`;
}

function fractionText(nanos: bigint): string {
  return nanos === 0n ? "" : `.${nanos.toString().padStart(9, "0").replace(/0+$/, "")}`;
}

/** A value in the form for error texts. */
export function printValue(value: Value): string {
  if (value instanceof OpaqueValue) return value.print();
  return stringForm(value) ?? typeName(value);
}
