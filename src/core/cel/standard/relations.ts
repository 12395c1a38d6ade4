/** Equality, order and membership. Numbers of different types compare by value (Kubernetes 1.28). */
import {
  declare,
  free,
  listOf,
  mapOf,
  optionalOf,
  parameter,
  types,
  type Library,
  type LibraryOverload,
} from "../libraries/library.ts";
import { FunctionError } from "../libraries/limits.ts";
import {
  compareValues,
  equalValues,
  ListValue,
  MapValue,
  OpaqueValue,
  OptionalValue,
  stringForm,
  typeName,
  Uint,
  type Value,
} from "../libraries/values.ts";
import { ObjectValue } from "../object-value.ts";
import { noOverload } from "./arithmetic.ts";

const a = parameter("A");
const b = parameter("B");
const { bool, int, uint, double } = types;

function ordered(holds: (order: number) => boolean): (x: Value, y: Value) => Value {
  return (x, y) => {
    const order = compareValues(x, y);
    if (order !== undefined) return holds(order);
    if (isNumber(x) && isNumber(y)) return false; // NaN
    throw noOverload();
  };
}

function isNumber(value: Value): boolean {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** The overloads of `less` and similar, in upstream's order. */
function orderOverloads(name: string, holds: (order: number) => boolean): LibraryOverload[] {
  const compare = ordered(holds);
  const same = [
    ["bool", bool],
    ["int64", int],
    ["uint64", uint],
    ["double", double],
    ["string", types.string],
    ["bytes", types.bytes],
    ["timestamp", types.timestamp],
    ["duration", types.duration],
  ] as const;
  const mixed = [
    ["int64_double", int, double],
    ["int64_uint64", int, uint],
    ["uint64_double", uint, double],
    ["uint64_int64", uint, int],
    ["double_int64", double, int],
    ["double_uint64", double, uint],
  ] as const;
  return [
    ...same.map(([id, type]) => free(`${name}_${id}`, [type, type], bool, compare)),
    ...mixed.map(([id, left, right]) => free(`${name}_${id}`, [left, right], bool, compare)),
  ];
}

/** Quantities, addresses and similar values equal only values of their own type. */
function equal(x: Value, y: Value): boolean {
  const isOwnKind = x instanceof OpaqueValue && !(x instanceof ObjectValue);
  if (isOwnKind && y !== null && typeName(y) !== typeName(x)) throw noOverload();
  return equalValues(x, y);
}

function isIn(item: Value, container: Value): boolean {
  if (container instanceof MapValue) return container.has(item);
  if (container instanceof ObjectValue) return typeof item === "string" && container.has(item);
  if (container instanceof ListValue) return container.contains(item);
  throw noOverload();
}

/** `value[key]`. */
export function indexed(container: Value, key: Value): Value {
  const found = findElement(container, key);
  if (found !== undefined) return found;
  if (container instanceof ListValue) throw new FunctionError(`index out of bounds: ${show(key)}`);
  throw new FunctionError(`no such key: ${show(key)}`);
}

export function show(key: Value): string {
  if (typeof key === "string") return key;
  return stringForm(key) ?? typeName(key);
}

/** Undefined: the element does not exist. As cel-go, only a key of a wrong type is refused. */
export function findElement(container: Value, key: Value): Value | undefined {
  if (container instanceof MapValue) return container.get(key);
  if (container instanceof ObjectValue && typeof key === "string") return container.field(key);
  if (!(container instanceof ListValue)) return undefined;
  const at = indexOf(key);
  return at === undefined ? undefined : container.items[at];
}

function indexOf(key: Value): number | undefined {
  if (typeof key === "bigint") return toIndex(key);
  if (key instanceof Uint) return toIndex(key.value);
  if (typeof key === "number" && Number.isInteger(key)) return key < 0 ? undefined : key;
  const what = typeof key === "number" ? `value ${show(key)}` : `type '${typeName(key)}'`;
  throw new FunctionError(`unsupported index ${what} in list`);
}

function toIndex(value: bigint): number | undefined {
  return value < 0n || value > 2n ** 53n ? undefined : Number(value);
}

/** The element as an optional; for an optional container, the element of its value. */
export function foundOptional(container: Value, key: Value): Value {
  if (!(container instanceof OptionalValue)) return new OptionalValue(findElement(container, key));
  return container.inner === undefined ? container : foundOptional(container.inner, key);
}

const optionalIndex = [
  free("list_optindex_optional_int", [listOf(a), int], optionalOf(a), foundOptional),
  free(
    "optional_list_optindex_optional_int",
    [optionalOf(listOf(a)), int],
    optionalOf(a),
    foundOptional,
  ),
  free("map_optindex_optional_value", [mapOf(a, b), a], optionalOf(b), foundOptional),
  free(
    "optional_map_optindex_optional_value",
    [optionalOf(mapOf(a, b)), a],
    optionalOf(b),
    foundOptional,
  ),
];
const indexOptional = [
  free("optional_list_index_int", [optionalOf(listOf(a)), int], optionalOf(a), foundOptional),
  free("optional_map_index_value", [optionalOf(mapOf(a, b)), a], optionalOf(b), foundOptional),
];

export const relationsLibrary: Library = {
  name: "stdlib.relations",
  since: 0,
  functions: [
    declare("_==_", free("equals", [a, a], bool, equal)),
    declare(
      "_!=_",
      free("not_equals", [a, a], bool, (x, y) => !equalValues(x, y)),
    ),
    declare("_<_", ...orderOverloads("less", (order) => order < 0)),
    declare("_<=_", ...orderOverloads("less_equals", (order) => order <= 0)),
    declare("_>_", ...orderOverloads("greater", (order) => order > 0)),
    declare("_>=_", ...orderOverloads("greater_equals", (order) => order >= 0)),
    declare(
      "@in",
      free("in_list", [a, listOf(a)], bool, isIn),
      free("in_map", [a, mapOf(a, b)], bool, isIn),
    ),
    declare(
      "_[_]",
      free("index_list", [listOf(a), int], a, indexed),
      free("index_map", [mapOf(a, b), a], b, indexed),
      ...indexOptional,
    ),
    declare("_[?_]", ...optionalIndex),
    declare(
      "cel.@mapInsert",
      free("@mapInsert_map_key_value", [mapOf(a, b), a, b], mapOf(a, b), insert),
      free("@mapInsert_map_map", [mapOf(a, b), mapOf(a, b)], mapOf(a, b), insert),
    ),
  ],
};

/** The map with one more entry, or with the entries of another map. */
function insert(map: Value, keyOrMap: Value, value?: Value): Value {
  if (!(map instanceof MapValue)) throw noOverload();
  const added: readonly (readonly [Value, Value])[] =
    value !== undefined
      ? [[keyOrMap, value]]
      : keyOrMap instanceof MapValue
        ? keyOrMap.entries
        : [];
  for (const [key] of added) {
    if (map.get(key) !== undefined) {
      throw new FunctionError(`insert failed: key '${show(key)}' already exists`);
    }
  }
  return new MapValue([...map.entries, ...added]);
}
