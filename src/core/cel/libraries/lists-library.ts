/** kubernetes.lists: isSorted, sum, min, max, indexOf, lastIndexOf. */
import { spendEffort } from "../effort.ts";
import { FunctionError } from "./limits.ts";
import { declare, listOf, member, noSuchOverload, parameter, types } from "./library.ts";
import type { Library, LibraryOverload, LibraryType } from "./library.ts";
import { Duration, Uint, addValues, compareValues, equalValues, listItems } from "./values.ts";
import type { Value } from "./values.ts";

/** Type names in upstream's overload ids, with the types and zero values. */
const summable: readonly (readonly [string, LibraryType, Value])[] = [
  ["int", types.int, 0n],
  ["uint", types.uint, new Uint(0n)],
  ["double", types.double, 0],
  ["duration", types.duration, new Duration(0n)],
];
const comparable: readonly (readonly [string, LibraryType])[] = [
  ["int", types.int],
  ["uint", types.uint],
  ["double", types.double],
  ["bool", types.bool],
  ["duration", types.duration],
  ["timestamp", types.timestamp],
  ["string", types.string],
  ["bytes", types.bytes],
];
const element = parameter("A");

export const listsLibrary: Library = {
  name: "kubernetes.lists",
  since: 0,
  functions: [
    declare(
      "isSorted",
      ...comparable.map(([name, type]) =>
        member(`list_${name}_is_sorted_bool`, [listOf(type)], types.bool, isSorted),
      ),
    ),
    declare(
      "sum",
      ...summable.map(([name, type, zero]) =>
        member(`list_${name}_sum_${name}`, [listOf(type)], type, (list) =>
          itemsOf(list).reduce(addValues, zero),
        ),
      ),
    ),
    declare("max", ...extremes("max", -1)),
    declare("min", ...extremes("min", 1)),
    declare(
      "indexOf",
      member("list_a_index_of_int", [listOf(element), element], types.int, (list, item = null) =>
        BigInt(itemsOf(list).findIndex((own) => equalValues(own, item))),
      ),
    ),
    declare(
      "lastIndexOf",
      member(
        "list_a_last_index_of_int",
        [listOf(element), element],
        types.int,
        (list, item = null) => BigInt(itemsOf(list).findLastIndex((own) => equalValues(own, item))),
      ),
    ),
  ],
};

export function itemsOf(list: Value | undefined): readonly Value[] {
  const items = list === undefined ? undefined : listItems(list);
  if (items === undefined) throw noSuchOverload();
  spendEffort(items.length);
  return items;
}

function isSorted(list?: Value): boolean {
  const items = itemsOf(list);
  return items.every((item, at) => {
    const before = items[at - 1];
    return before === undefined || compareValues(before, item) !== 1;
  });
}

/** @param replaced order of best and next element at which the next one becomes the best. */
function extremes(name: string, replaced: 1 | -1): LibraryOverload[] {
  return comparable.map(([typeName, type]) =>
    member(`list_${typeName}_${name}_${typeName}`, [listOf(type)], type, (list) => {
      const [first, ...rest] = itemsOf(list);
      if (first === undefined) throw new FunctionError(`${name} called on empty list`);
      return rest.reduce(
        (best, next) => (compareValues(best, next) === replaced ? next : best),
        first,
      );
    }),
  );
}
