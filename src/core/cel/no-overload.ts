/**
 * What a value of another type than an operation takes is answered with, in cel-go's words.
 *
 * Operators and `size` name themselves where the value cannot do it at all; other functions have no overload for
 * the types and name these too. Only values without a declared type (dyn) come here: the type check refuses others.
 */
import { ownEntry } from "#base/own.ts";
import { FunctionError } from "./libraries/limits.ts";
import {
  Duration,
  ListValue,
  MapValue,
  OptionalValue,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from "./libraries/values.ts";

const plain = "no such overload";

/** Types that define an operator but refuse some operands on its other side. */
const holders: Readonly<Record<string, string>> = {
  "_+_": "int uint double string bytes list google.protobuf.Duration google.protobuf.Timestamp",
  "_-_": "int uint double google.protobuf.Duration google.protobuf.Timestamp string",
  "_*_": "int uint double string google.protobuf.Duration google.protobuf.Timestamp",
  "_/_": "int uint double string google.protobuf.Duration google.protobuf.Timestamp",
  "_%_": "int uint string google.protobuf.Duration google.protobuf.Timestamp",
  "_<_": "int uint double string bytes bool google.protobuf.Duration google.protobuf.Timestamp",
  "-_": "int double string bool google.protobuf.Duration google.protobuf.Timestamp",
  size: "string bytes list map google.protobuf.Duration google.protobuf.Timestamp",
  sort: "string list google.protobuf.Duration google.protobuf.Timestamp",
};
const orders: ReadonlySet<string> = new Set(["_<=_", "_>_", "_>=_"]);
/** Types whose errors do not name them. */
const nameless: ReadonlySet<string> = new Set(
  "@in !_ _==_ _!=_ contains endsWith find findAll matches startsWith".split(" "),
);

export function isNoOverload(error: unknown): boolean {
  return error instanceof FunctionError && error.message === plain;
}

export function noOverloadOf(name: string, args: readonly Value[]): FunctionError {
  if (nameless.has(name)) return new FunctionError(plain);
  const types = args.map(typeName);
  const able = ownEntry(holders, orders.has(name) ? "_<_" : name)?.split(" ");
  if (able !== undefined) {
    return new FunctionError(able.includes(types[0] ?? "") ? plain : `${plain}: ${name}`);
  }
  const call = name === "flatten" ? `${types[0] ?? ""}.flatten()` : `${name}(${types.join(", ")})`;
  return new FunctionError(`${plain}: ${call}`);
}

/** `isPair`: for a comprehension with two variables. */
export function notIterable(value: Value, isPair: boolean): string {
  const type = goTypeName(value);
  if (isPair) return `unsupported comprehension range type: ${type}`;
  return `got '${type}', expected iterable type`;
}

const goTypes: Readonly<Record<string, string>> = {
  boolean: "types.Bool",
  bigint: "types.Int",
  number: "types.Double",
  string: "types.String",
};

/** Throws if `key` cannot be the key of any map. */
export function checkKey(key: Value): void {
  if (["string", "bigint", "number", "boolean"].includes(typeof key) || key instanceof Uint) return;
  throw new FunctionError(`invalid qualifier type: ${goTypeName(key)}`);
}

function goTypeName(value: Value): string {
  if (value === null) return "types.Null";
  if (typeof value !== "object") return ownEntry(goTypes, typeof value) ?? "types.Null";
  if (value instanceof Uint8Array) return "types.Bytes";
  if (value instanceof Uint) return "types.Uint";
  if (value instanceof Duration) return "types.Duration";
  if (value instanceof Timestamp) return "types.Timestamp";
  if (value instanceof ListValue) return "*types.baseList";
  if (value instanceof MapValue) return "*types.baseMap";
  if (value instanceof OptionalValue) return "*types.Optional";
  if (value instanceof TypeValue) return "*types.Type";
  return `cel.${typeName(value).split(".").at(-1) ?? ""}`;
}
