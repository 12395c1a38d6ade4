/**
 * The order of a list after a strategic merge: elements of the patch keep the patch's order,
 * the server's own elements keep theirs, and between elements of both kinds the original decides.
 *
 * `key` is the merge key of a list of objects, undefined for a list of scalars.
 */
import { getField, isJsonObject } from "../json/json-value.ts";
import type { MutableJson } from "../json/json-value.ts";

type List = readonly MutableJson[];

/** The identity of an element: its merge key's value, or the element itself. */
function identity(element: MutableJson, key: string | undefined): MutableJson | undefined {
  if (key === undefined) return element;
  return isJsonObject(element) ? getField(element, key) : undefined;
}

type Places = ReadonlyMap<MutableJson | undefined, number>;

/** The first index of each identity in `list`. */
function placesOf(list: List, key: string | undefined): Places {
  const places = new Map<MutableJson | undefined, number>();
  list.forEach((element, at) => {
    const own = identity(element, key);
    if (!places.has(own)) places.set(own, at);
  });
  return places;
}

/** Splits `list` into the elements that `by` also contains, and the others. */
export function partition(
  list: List,
  by: List,
  key: string | undefined,
): { inside: MutableJson[]; outside: MutableJson[] } {
  const known = new Set(by.map((element) => identity(element, key)));
  const inside = list.filter((element) => known.has(identity(element, key)));
  const outside = list.filter((element) => !known.has(identity(element, key)));
  return { inside, outside };
}

/** Interleaves `inside`, in the order of `patchOrder`, with `outside`, in the order of `serverOrder`. */
export function mergeOrder(
  inside: List,
  outside: List,
  patchOrder: List,
  serverOrder: List,
  key: string | undefined,
): MutableJson[] {
  const serverPlaces = placesOf(serverOrder, key);
  const placeOf = (element: MutableJson): number => serverPlaces.get(identity(element, key)) ?? -1;
  const right = sortByOrder(inside, placesOf(patchOrder, key), key);
  const left = sortByOrder(outside, serverPlaces, key);
  const merged: MutableJson[] = [];
  let i = 0;
  for (const element of right) {
    const place = placeOf(element);
    for (; i < left.length && place >= 0; i += 1) {
      const own = left[i] ?? null;
      const ownPlace = placeOf(own);
      if (ownPlace < 0 || ownPlace > place) break;
      merged.push(own);
    }
    merged.push(element);
  }
  return [...merged, ...left.slice(i)];
}

/** Elements that are missing in `order` keep their position after their predecessors. */
function sortByOrder(list: List, order: Places, key: string | undefined): MutableJson[] {
  const places = list.map((element) => ({
    element,
    place: order.get(identity(element, key)) ?? -1,
  }));
  return places
    .sort((a, b) => (a.place < 0 || b.place < 0 ? 0 : a.place - b.place))
    .map(({ element }) => element);
}

/** Checks that the patch's elements appear in `order` in the same order. @returns the finding if not. */
export function checkElementOrder(
  patch: List,
  order: List,
  key: string | undefined,
  directive: string,
): string | undefined {
  if (order.length === 0 || patch.length === 0) return undefined;
  const kept = patch.filter((element) => !isJsonObject(element) || element["$patch"] !== "delete");
  let at = 0;
  for (const element of order) {
    const wanted = kept[at];
    if (wanted !== undefined && identity(wanted, key) === identity(element, key)) at += 1;
  }
  if (at >= kept.length) return undefined;
  const [shownPatch, shownOrder] = [JSON.stringify(patch), JSON.stringify(order)];
  return `The order in patch list:\n${shownPatch}\n doesn't match ${directive} list:\n${shownOrder}\n`;
}
