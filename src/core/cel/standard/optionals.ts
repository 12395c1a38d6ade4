/** Optional values. `or` and `orValue` evaluate their argument only if it is needed (plan.ts). */
import {
  declare,
  free,
  listOf,
  member,
  optionalOf,
  parameter,
  types,
  type Library,
} from "../libraries/library.ts";
import { FunctionError } from "../libraries/limits.ts";
import {
  Duration,
  ListValue,
  MapValue,
  OptionalValue,
  Timestamp,
  Uint,
  type Value,
} from "../libraries/values.ts";
import { ObjectValue } from "../object-value.ts";
import { noOverload } from "./arithmetic.ts";

const a = parameter("A");
const optional = optionalOf(a);

function optionalValueOf(value?: Value): OptionalValue {
  if (!(value instanceof OptionalValue)) throw noOverload();
  return value;
}

function held(value?: Value): Value {
  const { inner } = optionalValueOf(value);
  if (inner === undefined) throw new FunctionError("optional.none() dereference");
  return inner;
}

/** Whether the value is the zero value of its type. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0n || value === 0) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.nanos === -62_135_596_800n * 1_000_000_000n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof OptionalValue) return value.inner === undefined || isZero(value.inner);
  const isContainer =
    value instanceof ListValue || value instanceof MapValue || value instanceof ObjectValue;
  return isContainer && value.size === 0;
}

function unwrap(list?: Value): Value {
  if (!(list instanceof ListValue)) throw noOverload();
  const values = list.items.flatMap((item) => {
    const { inner } = optionalValueOf(item);
    return inner === undefined ? [] : [inner];
  });
  return new ListValue(values);
}

function end(list: Value | undefined, at: number): Value {
  if (!(list instanceof ListValue)) throw noOverload();
  return new OptionalValue(at === 0 ? list.items[0] : list.items.at(-1));
}

function listOfOptionals(): ReturnType<typeof listOf> {
  return listOf(optional);
}

export const optionalLibrary: Library = {
  name: "optional",
  since: 28,
  functions: [
    declare(
      "optional.of",
      free("optional_of", [a], optional, (value) => new OptionalValue(value)),
    ),
    declare(
      "optional.ofNonZeroValue",
      free("optional_ofNonZeroValue", [a], optional, (value) => {
        return new OptionalValue(value === undefined || isZero(value) ? undefined : value);
      }),
    ),
    declare(
      "optional.none",
      free("optional_none", [], optional, () => new OptionalValue(undefined)),
    ),
    declare("value", member("optional_value", [optional], a, held)),
    declare(
      "hasValue",
      member(
        "optional_hasValue",
        [optional],
        types.bool,
        (value) => optionalValueOf(value).inner !== undefined,
      ),
    ),
    declare(
      "or",
      member("optional_or_optional", [optional, optional], optional, (value, other) =>
        optionalValueOf(value).inner === undefined ? optionalValueOf(other) : (value as Value),
      ),
    ),
    declare(
      "orValue",
      member("optional_orValue_value", [optional, a], a, (value, other) => {
        return optionalValueOf(value).inner ?? (other as Value);
      }),
    ),
    declare("optional.unwrap", free("optional_unwrap", [listOfOptionals()], listOf(a), unwrap)),
    declare("unwrapOpt", member("optional_unwrapOpt", [listOfOptionals()], listOf(a), unwrap)),
    declare(
      "first",
      member("list_first", [listOf(a)], optional, (list) => end(list, 0)),
    ),
    declare(
      "last",
      member("list_last", [listOf(a)], optional, (list) => end(list, -1)),
    ),
  ],
};
