/**
 * Arithmetic of the language: 64-bit integers with overflow as an error, doubles, durations and timestamps.
 *
 * Source: the language definition of cel-spec, "Operators"; error texts as cel-go's common/types.
 */
import { spendEffort } from "../effort.ts";
import { declare, free, listOf, parameter, types, type Library } from "../libraries/library.ts";
import { FunctionError, checkCharacters, checkElements } from "../libraries/limits.ts";
import { Duration, ListValue, Timestamp, Uint, type Value } from "../libraries/values.ts";

const intMax = 2n ** 63n;
const uintMax = 2n ** 64n;
/** Nanoseconds of 0001-01-01T00:00:00Z and of 9999-12-31T23:59:59.999999999Z. */
const timestampMin = -62_135_596_800n * 1_000_000_000n;
const timestampMax = 253_402_300_800n * 1_000_000_000n;

export function toInt(value: bigint): bigint {
  if (value < -intMax || value >= intMax) throw new FunctionError("integer overflow");
  return value;
}

export function toUint(value: bigint): Uint {
  if (value < 0n || value >= uintMax) throw new FunctionError("unsigned integer overflow");
  return new Uint(value);
}

export function toDuration(nanos: bigint): Duration {
  if (nanos < -intMax || nanos >= intMax) throw new FunctionError("duration overflow");
  return new Duration(nanos);
}

export function toTimestamp(nanos: bigint): Timestamp {
  if (nanos < timestampMin || nanos >= timestampMax) throw new FunctionError("timestamp overflow");
  return new Timestamp(nanos);
}

export function noOverload(): FunctionError {
  return new FunctionError("no such overload");
}

interface Operation {
  readonly int: (a: bigint, b: bigint) => bigint;
  readonly double?: (a: number, b: number) => number;
}

function arithmetic(a: Value, b: Value, { int, double }: Operation): Value {
  if (typeof a === "bigint" && typeof b === "bigint") return toInt(int(a, b));
  if (typeof a === "number" && typeof b === "number" && double !== undefined) return double(a, b);
  if (a instanceof Uint && b instanceof Uint) return toUint(int(a.value, b.value));
  throw noOverload();
}

function add(a: Value, b: Value): Value {
  if (typeof a === "string" && typeof b === "string") return joinTexts(a, b);
  if (a instanceof ListValue && b instanceof ListValue) return joinLists(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return joinBytes(a, b);
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanos + b.nanos);
  if (a instanceof Timestamp && b instanceof Duration) return toTimestamp(a.nanos + b.nanos);
  if (a instanceof Duration && b instanceof Timestamp) return toTimestamp(a.nanos + b.nanos);
  return arithmetic(a, b, { int: (x, y) => x + y, double: (x, y) => x + y });
}

function joinTexts(a: string, b: string): string {
  checkCharacters("_+_", a.length + b.length);
  return a + b;
}

function joinLists(a: ListValue, b: ListValue): ListValue {
  spendEffort((a.size + b.size) / 4);
  checkElements("_+_", a.size + b.size);
  return a.join(b);
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  checkCharacters("_+_", a.length + b.length);
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

function subtract(a: Value, b: Value): Value {
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanos - b.nanos);
  if (a instanceof Timestamp && b instanceof Timestamp) return toDuration(a.nanos - b.nanos);
  if (a instanceof Timestamp && b instanceof Duration) return toTimestamp(a.nanos - b.nanos);
  return arithmetic(a, b, { int: (x, y) => x - y, double: (x, y) => x - y });
}

function multiply(a: Value, b: Value): Value {
  return arithmetic(a, b, { int: (x, y) => x * y, double: (x, y) => x * y });
}

function divide(a: Value, b: Value): Value {
  if (isZero(b)) throw new FunctionError("division by zero");
  return arithmetic(a, b, { int: (x, y) => x / y, double: (x, y) => x / y });
}

function modulo(a: Value, b: Value): Value {
  if (isZero(b)) throw new FunctionError("modulus by zero");
  // The smallest integer has no positive counterpart; upstream refuses even its remainder.
  if (a === -intMax && b === -1n) throw new FunctionError("integer overflow");
  return arithmetic(a, b, { int: (x, y) => x % y });
}

function isZero(value: Value): boolean {
  return value === 0n || (value instanceof Uint && value.value === 0n);
}

function negate(value: Value): Value {
  if (typeof value === "bigint") return toInt(-value);
  if (typeof value === "number") return -value;
  if (value instanceof Duration) return toDuration(-value.nanos);
  throw noOverload();
}

const { int, uint, double, string, bytes, duration, timestamp } = types;
const anyList = listOf(parameter("A"));

export const arithmeticLibrary: Library = {
  name: "stdlib.arithmetic",
  since: 0,
  functions: [
    declare(
      "_+_",
      free("add_bytes", [bytes, bytes], bytes, add),
      free("add_double", [double, double], double, add),
      free("add_duration_duration", [duration, duration], duration, add),
      free("add_duration_timestamp", [duration, timestamp], timestamp, add),
      free("add_timestamp_duration", [timestamp, duration], timestamp, add),
      free("add_int64", [int, int], int, add),
      free("add_list", [anyList, anyList], anyList, add),
      free("add_string", [string, string], string, add),
      free("add_uint64", [uint, uint], uint, add),
    ),
    declare(
      "_-_",
      free("subtract_double", [double, double], double, subtract),
      free("subtract_duration_duration", [duration, duration], duration, subtract),
      free("subtract_int64", [int, int], int, subtract),
      free("subtract_timestamp_duration", [timestamp, duration], timestamp, subtract),
      free("subtract_timestamp_timestamp", [timestamp, timestamp], duration, subtract),
      free("subtract_uint64", [uint, uint], uint, subtract),
    ),
    declare(
      "_*_",
      free("multiply_double", [double, double], double, multiply),
      free("multiply_int64", [int, int], int, multiply),
      free("multiply_uint64", [uint, uint], uint, multiply),
    ),
    declare(
      "_/_",
      free("divide_double", [double, double], double, divide),
      free("divide_int64", [int, int], int, divide),
      free("divide_uint64", [uint, uint], uint, divide),
    ),
    declare(
      "_%_",
      free("modulo_int64", [int, int], int, modulo),
      free("modulo_uint64", [uint, uint], uint, modulo),
    ),
    declare(
      "-_",
      free("negate_double", [double], double, negate),
      free("negate_int64", [int], int, negate),
    ),
  ],
};
