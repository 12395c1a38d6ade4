/**
 * Conversions between types: `int("3")`, `string(1.5)`, `timestamp(...)`, `type(x)`.
 *
 * Source: the language definition of cel-spec, "Type Conversions"; texts as cel-go's common/types.
 */
import { declare, free, parameter, types, type Library } from "../libraries/library.ts";
import { FunctionError } from "../libraries/limits.ts";
import {
  Duration,
  stringForm,
  Timestamp,
  TypeValue,
  Uint,
  typeName,
  type Value,
} from "../libraries/values.ts";
import { dynType, typeType } from "../type.ts";
import { noOverload, toDuration, toInt, toTimestamp, toUint } from "./arithmetic.ts";
import { parseDuration, parseTimestamp } from "./time-text.ts";

const { bool, bytes, double, duration, int, string, timestamp, uint } = types;
const a = parameter("A");
const second = 1_000_000_000n;

const boolTexts: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

function toBool(value: Value): Value {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") throw noOverload();
  const found = boolTexts.get(value);
  if (found === undefined) throw cannotConvert(value, "bool");
  return found;
}

function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string") throw noOverload();
  return new TextEncoder().encode(value);
}

function toDouble(value: Value): Value {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== "string") throw noOverload();
  const isNumber = /^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)$/.test(value);
  const special = /^[+-]?(?:inf|infinity)$/i.test(value) ? infinity(value) : undefined;
  if (special !== undefined) return special;
  if (/^nan$/i.test(value)) return Number.NaN;
  if (!isNumber) throw cannotConvert(value, "double");
  return Number(value);
}

function infinity(text: string): number {
  return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function toInteger(value: Value): Value {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return toInt(value.value);
  if (typeof value === "number") return intOfDouble(value);
  if (value instanceof Timestamp) return floorSeconds(value.nanos);
  if (value instanceof Duration) return value.nanos;
  if (typeof value !== "string" || !/^[+-]?\d+$/.test(value)) throw refusedNumber(value, "int");
  return toInt(BigInt(value.replace(/^\+/, "")));
}

function refusedNumber(value: Value, type: string): FunctionError {
  return typeof value === "string" ? cannotConvert(value, type) : noOverload();
}

function floorSeconds(nanos: bigint): bigint {
  const rest = ((nanos % second) + second) % second;
  return (nanos - rest) / second;
}

/** Doubles at the limits are refused, because they round to values outside int64. */
function intOfDouble(value: number): bigint {
  const isInside = value > -(2 ** 63) && value < 2 ** 63;
  if (!isInside) throw new FunctionError("integer overflow");
  return BigInt(Math.trunc(value));
}

function toUnsigned(value: Value): Value {
  if (value instanceof Uint) return value;
  if (typeof value === "bigint") return toUint(value);
  if (typeof value === "number") {
    if (!(value >= 0 && value < 2 ** 64)) {
      throw new FunctionError("unsigned integer overflow");
    }
    return toUint(BigInt(Math.trunc(value)));
  }
  if (typeof value !== "string" || !/^\d+$/.test(value)) throw refusedNumber(value, "uint");
  return toUint(BigInt(value));
}

function toText(value: Value): Value {
  const text = stringForm(value);
  if (text === undefined) throw noOverload();
  return text;
}

function asDuration(value: Value): Value {
  if (value instanceof Duration) return value;
  if (typeof value === "bigint") return toDuration(value);
  if (typeof value !== "string") throw noOverload();
  const nanos = parseDuration(value);
  if (nanos === undefined) throw cannotConvert(value, "google.protobuf.Duration");
  return toDuration(nanos);
}

function asTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value;
  if (typeof value === "bigint") return toTimestamp(value * second);
  if (typeof value !== "string") throw noOverload();
  const nanos = parseTimestamp(value);
  if (nanos === undefined) throw cannotConvert(value, "google.protobuf.Timestamp");
  return toTimestamp(nanos);
}

function cannotConvert(value: string, type: string): FunctionError {
  return new FunctionError(`type conversion error from 'string' to '${type}'`);
}

export const conversionLibrary: Library = {
  name: "stdlib.conversions",
  since: 0,
  functions: [
    declare(
      "bool",
      free("bool_to_bool", [bool], bool, toBool),
      free("string_to_bool", [string], bool, toBool),
    ),
    declare(
      "bytes",
      free("bytes_to_bytes", [bytes], bytes, toBytes),
      free("string_to_bytes", [string], bytes, toBytes),
    ),
    declare(
      "double",
      free("double_to_double", [double], double, toDouble),
      free("int64_to_double", [int], double, toDouble),
      free("string_to_double", [string], double, toDouble),
      free("uint64_to_double", [uint], double, toDouble),
    ),
    declare(
      "duration",
      free("duration_to_duration", [duration], duration, asDuration),
      free("int64_to_duration", [int], duration, asDuration),
      free("string_to_duration", [string], duration, asDuration),
    ),
    declare(
      "dyn",
      free("to_dyn", [a], dynType, (value) => value),
    ),
    declare(
      "int",
      free("int64_to_int64", [int], int, toInteger),
      free("double_to_int64", [double], int, toInteger),
      free("duration_to_int64", [duration], int, toInteger),
      free("string_to_int64", [string], int, toInteger),
      free("timestamp_to_int64", [timestamp], int, toInteger),
      free("uint64_to_int64", [uint], int, toInteger),
    ),
    declare(
      "string",
      free("string_to_string", [string], string, toText),
      free("bool_to_string", [bool], string, toText),
      free("bytes_to_string", [bytes], string, toText),
      free("double_to_string", [double], string, toText),
      free("duration_to_string", [duration], string, toText),
      free("int64_to_string", [int], string, toText),
      free("timestamp_to_string", [timestamp], string, toText),
      free("uint64_to_string", [uint], string, toText),
    ),
    declare(
      "timestamp",
      free("timestamp_to_timestamp", [timestamp], timestamp, asTimestamp),
      free("int64_to_timestamp", [int], timestamp, asTimestamp),
      free("string_to_timestamp", [string], timestamp, asTimestamp),
    ),
    declare(
      "type",
      free("type", [a], typeType(a), (value) => new TypeValue(typeName(value))),
    ),
    declare(
      "uint",
      free("uint64_to_uint64", [uint], uint, toUnsigned),
      free("double_to_uint64", [double], uint, toUnsigned),
      free("int64_to_uint64", [int], uint, toUnsigned),
      free("string_to_uint64", [string], uint, toUnsigned),
    ),
  ],
};
