/** cel.lib.ext.sets: lists used as sets. */
import { declare, free, listOf, parameter, types } from "./library.ts";
import type { Library } from "./library.ts";
import { itemsOf } from "./lists-library.ts";
import { equalValues } from "./values.ts";
import type { Value } from "./values.ts";

const list = listOf(parameter("T"));
const two = [list, list];

export const setsLibrary: Library = {
  name: "cel.lib.ext.sets",
  since: 29,
  functions: [
    declare(
      "sets.contains",
      free("list_sets_contains_list", two, types.bool, (all, some) =>
        containsAll(itemsOf(all), itemsOf(some)),
      ),
    ),
    declare(
      "sets.equivalent",
      free("list_sets_equivalent_list", two, types.bool, (a, b) => {
        const [left, right] = [itemsOf(a), itemsOf(b)];
        return containsAll(left, right) && containsAll(right, left);
      }),
    ),
    declare(
      "sets.intersects",
      free("list_sets_intersects_list", two, types.bool, (a, b) => {
        const right = itemsOf(b);
        return itemsOf(a).some((item) => contains(right, item));
      }),
    ),
  ],
};

function containsAll(all: readonly Value[], some: readonly Value[]): boolean {
  return some.every((item) => contains(all, item));
}

function contains(items: readonly Value[], item: Value): boolean {
  return items.some((own) => equalValues(own, item));
}
