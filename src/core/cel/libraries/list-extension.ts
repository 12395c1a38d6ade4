/**
 * cel.lib.ext.lists version 3: slice, flatten, sort, sortBy's helper, lists.range, reverse, distinct.
 *
 * `e.sortBy(x, key)` is a macro: it binds `@__sortBy_input__` to e and calls
 * `@sortByAssociatedKeys(@__sortBy_input__.map(x, key))` on it. The parser expands it.
 */
import { spendEffort } from "../effort.ts";
import { FunctionError, checkElements, elementsMax } from "./limits.ts";
import { declare, free, intOf, listOf, member, parameter, types } from "./library.ts";
import type { Library, LibraryType } from "./library.ts";
import { itemsOf } from "./lists-library.ts";
import { compareValues, equalValues, listItems, listValue, typeName } from "./values.ts";
import type { Value } from "./values.ts";

const element = parameter("T");
const list = listOf(element);
const comparable: readonly LibraryType[] = [
  types.int,
  types.uint,
  types.double,
  types.bool,
  types.duration,
  types.timestamp,
  types.string,
  types.bytes,
];

export const listExtension: Library = {
  name: "cel.lib.ext.lists",
  since: 34,
  functions: [
    declare("slice", member("list_slice", [list, types.int, types.int], list, slice)),
    declare(
      "flatten",
      member("list_flatten", [listOf(list)], list, (nested) => flatten(nested, 1n)),
      member(
        "list_flatten_int",
        [listOf(types.dyn), types.int],
        listOf(types.dyn),
        (nested, depth) => flatten(nested, intOf(depth)),
      ),
    ),
    declare(
      "sort",
      ...comparable.map((type) =>
        member(`list_${type.name}_sort`, [listOf(type)], listOf(type), (items) =>
          sortByKeys(items, items),
        ),
      ),
    ),
    declare(
      "@sortByAssociatedKeys",
      ...comparable.map((type) =>
        member(`list_${type.name}_sortByAssociatedKeys`, [list, listOf(type)], list, sortByKeys),
      ),
    ),
    declare("lists.range", free("lists_range", [types.int], listOf(types.int), range)),
    declare(
      "reverse",
      member("list_reverse", [list], list, (items) => listValue(itemsOf(items).toReversed())),
    ),
    declare(
      "distinct",
      member("list_distinct", [list], list, (items) => listValue(distinct(itemsOf(items)))),
    ),
  ],
};

function slice(items?: Value, startValue?: Value, endValue?: Value): Value {
  const own = itemsOf(items);
  const start = intOf(startValue);
  const end = intOf(endValue);
  const why = findSliceFault(start, end, own.length);
  if (why !== undefined) throw new FunctionError(`cannot slice(${start}, ${end}), ${why}`);
  return listValue(own.slice(Number(start), Number(end)));
}

function findSliceFault(start: bigint, end: bigint, length: number): string | undefined {
  if (start < 0n || end < 0n) return "negative indexes not supported";
  if (start > end) return "start index must be less than or equal to end index";
  return end > BigInt(length) ? `list is length ${length}` : undefined;
}

function flatten(nested: Value | undefined, depth: bigint): Value {
  const items = itemsOf(nested);
  if (depth < 0n) throw new FunctionError("level must be non-negative");
  const out: Value[] = [];
  flattenInto(out, items, depth, { left: elementsMax });
  return listValue(out);
}

/**
 * Lists may be shared, so what a list of lists holds is not bounded by its size: `steps` counts every
 * element that is visited, at any depth. CEL has no recursion, so the depth is bounded by the expression.
 */
function flattenInto(
  out: Value[],
  items: readonly Value[],
  depth: bigint,
  steps: { left: number },
): void {
  for (const item of items) {
    spendEffort(1);
    steps.left -= 1;
    if (steps.left < 0) checkElements("flatten", elementsMax + 1);
    const inner = depth === 0n ? undefined : listItems(item);
    if (inner === undefined) out.push(item);
    else flattenInto(out, inner, depth - 1n, steps);
  }
}

function sortByKeys(items?: Value, keyList?: Value): Value {
  const own = itemsOf(items);
  const keys = itemsOf(keyList);
  if (own.length !== keys.length) {
    throw new FunctionError(
      "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
        `${own.length} and ${keys.length} elements respectively`,
    );
  }
  const [first] = keys;
  if (first === undefined) return listValue(own);
  if (compareValues(first, first) === undefined && !Number.isNaN(first)) {
    throw new FunctionError("list elements must be comparable");
  }
  const type = typeName(first);
  if (keys.length > 1 && keys.some((key) => typeName(key) !== type)) {
    throw new FunctionError("list elements must have the same type");
  }
  const order = keys.map((key, at) => ({ key, at }));
  order.sort((a, b) => compareValues(a.key, b.key) ?? 0);
  return listValue(order.map(({ at }) => own[at] ?? null));
}

function range(end?: Value): Value {
  const count = intOf(end);
  if (count > BigInt(elementsMax)) checkElements("lists.range", elementsMax + 1);
  spendEffort(Math.max(0, Number(count)) / 4);
  return listValue(Array.from({ length: Math.max(0, Number(count)) }, (_, at) => BigInt(at)));
}

/** Of equal elements the first remains. Compares each element with each one kept, as the cost assumes. */
function distinct(items: readonly Value[]): Value[] {
  const kept: Value[] = [];
  for (const item of items) {
    if (!kept.some((other) => equalValues(item, other))) kept.push(item);
  }
  return kept;
}
