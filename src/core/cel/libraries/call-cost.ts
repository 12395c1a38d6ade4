/**
 * What a call costs at run time, as upstream's library/cost.go and the trackers of cel-go's list and set
 * extensions count it.
 *
 * The cost follows from the arguments alone, so that the caller can refuse a call before its work is
 * done; upstream counts after it. Undefined: the language's own rule holds (one unit, or a tenth of a
 * unit for each character that `format` and `strings.quote` read).
 */
import { ownEntry } from "#base/own.ts";
import { spendEffort } from "../effort.ts";
import { FormatValue } from "./format-library.ts";
import { costMax } from "./limits.ts";
import { textBytes, textLength } from "./text-functions.ts";
import { OpaqueValue, Uint, listItems, mapEntries } from "./values.ts";
import type { Value } from "./values.ts";

export const characterCost = 0.1;
/** Cost per character of the pattern and per ten characters of the text. */
export const patternCost = 0.25;
export const listCost = 10;
/** Allows at most two access checks within the budget of a call. */
export const accessCheckCost = 350_000;

type Cost = (args: readonly Value[], overload: string) => number | undefined;

const one: Cost = () => 1;

function perCharacter(factor: number): Cost {
  return ([text]) => Math.ceil(sizeOf(text) * factor);
}

/** By function, as upstream: overloads share a rule unless it depends on the overload's id. */
const byFunction: Readonly<Record<string, Cost>> = {
  check: () => accessCheckCost,
  ...named(
    ["serviceAccount", "path", "group", "resource", "subresource", "namespace", "name"],
    one,
  ),
  ...named(["allowed", "reason", "error", "errored"], one),
  ...named(["fieldSelector", "labelSelector"], ([, text]) => selectorCost(sizeOf(text))),
  ...named(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], ([list]) =>
    traversalCost(list),
  ),
  ...named(
    ["url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"],
    perCharacter(characterCost),
  ),
  ...named(["replace", "split"], perCharacter(2 * characterCost)),
  join: ([list, separator]) => Math.ceil(joinedSize(list, separator) * 2 * characterCost),
  ...named(["find", "findAll"], ([text, pattern]) => matchCost(sizeOf(text), sizeOf(pattern))),
  ...named(["cidr", "isIP", "isCIDR"], perCharacter(characterCost)),
  ip: ([text], overload) => (overload === "cidr_ip" ? 1 : Math.ceil(sizeOf(text) * characterCost)),
  "ip.isCanonical": perCharacter(2 * characterCost),
  ...named(["masked", "prefixLength", "family", "isUnspecified", "isLoopback"], one),
  ...named(["isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"], one),
  containsIP: ([cidr, other], overload) => {
    const compared = Math.ceil(2 * sizeOf(cidr) * characterCost);
    return compared + (overload === "cidr_contains_ip_string" ? parseCost(other) : 0);
  },
  containsCIDR: ([cidr, other], overload) => {
    const size = sizeOf(cidr);
    const compared = Math.ceil(2 * size * characterCost) + Math.ceil(size * characterCost) + 1;
    return compared + (overload === "cidr_contains_cidr_string" ? parseCost(other) : 0);
  },
  ...named(["quantity", "isQuantity", "semver", "isSemver"], perCharacter(characterCost)),
  validate: ([format, text]) =>
    format instanceof FormatValue
      ? matchCost(sizeOf(text), format.format.patternLength)
      : undefined,
  "format.named": one,
  ...named(["sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan"], one),
  ...named(["isLessThan", "compareTo", "add", "sub", "major", "minor", "patch"], one),
  ...named(["getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"], one),
};

/** By overload; checked before the rules by function. */
const byOverload: Readonly<Record<string, Cost>> = {
  list_slice: ([list, start, end]) => allocationCost(1, sliceSize(list, start, end)),
  list_flatten: ([list]) => allocationCost(1, sizeOf(list)),
  list_flatten_int: ([list, depth]) => allocationCost(countOf(depth), sizeOf(list)),
  lists_range: ([end]) => allocationCost(1, Math.max(0, countOf(end))),
  list_reverse: ([list]) => allocationCost(1, sizeOf(list)),
  list_distinct: ([list]) => selfCompareCost(list),
  list_sets_contains_list: ([a, b]) => 1 + sizeOf(a) * sizeOf(b),
  list_sets_intersects_list: ([a, b]) => 1 + sizeOf(a) * sizeOf(b),
  list_sets_equivalent_list: ([a, b]) => 1 + 2 * sizeOf(a) * sizeOf(b),
};

function named(names: readonly string[], cost: Cost): Record<string, Cost> {
  return Object.fromEntries(names.map((name) => [name, cost]));
}

/** @param args including the receiver, which is first. */
export function callCost(
  name: string,
  overload: string,
  args: readonly Value[],
): number | undefined {
  if (overload.startsWith("list_") && overload.endsWith("_sort")) return selfCompareCost(args[0]);
  if (overload.endsWith("_sortByAssociatedKeys")) return selfCompareCost(args[1]);
  if (name === "_==_") return args[0] instanceof OpaqueValue ? 1 : undefined;
  return (ownEntry(byOverload, overload) ?? ownEntry(byFunction, name))?.(args, overload);
}

/** The result of size(); 1 for values without size. */
export function sizeOf(value: Value | undefined): number {
  if (typeof value === "string") return textLength(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof OpaqueValue) return value.size;
  if (value === undefined) return 1;
  return listItems(value)?.length ?? mapEntries(value)?.length ?? 1;
}

/** Anything but a number is refused by the function itself, after its cost. */
function countOf(value: Value | undefined): number {
  return typeof value === "bigint" ? Number(value) : 1;
}

function parseCost(text: Value | undefined): number {
  return Math.ceil(sizeOf(text) * characterCost);
}

/** RE2 is linear in text and pattern; one step of a pattern is assumed per four characters. */
export function matchCost(textSize: number, patternSize: number): number {
  return Math.ceil((1 + textSize) * characterCost) * Math.ceil(patternSize * patternCost);
}

/** Cost of a list, of reading the text, and of a struct and a list per two characters. */
function selectorCost(size: number): number {
  return listCost + Math.ceil(size * characterCost) + Math.ceil(Math.ceil(size * 0.5) * 50);
}

/**
 * One unit for each element, a tenth for each byte of a text, at any depth. Lists may be shared, so that
 * a small value is long to walk: after costMax steps the cost is costMax, whatever else there is.
 */
function traversalCost(value: Value | undefined): number {
  const walk = { cost: 0, steps: 0 };
  if (value !== undefined) traverse(value, walk);
  return walk.steps > costMax ? costMax : Math.min(walk.cost, costMax);
}

function traverse(value: Value, walk: { cost: number; steps: number }): void {
  spendEffort(1);
  walk.steps += 1;
  if (walk.steps > costMax) return;
  if (typeof value === "string") walk.cost += Math.floor(textBytes(value) * characterCost);
  else if (value instanceof Uint8Array) walk.cost += Math.floor(value.length * characterCost);
  else if (value instanceof Uint || typeof value !== "object" || value === null) walk.cost += 1;
  else traverseContainer(value, walk);
}

function traverseContainer(value: Value, walk: { cost: number; steps: number }): void {
  const items = listItems(value) ?? mapEntries(value)?.flat();
  if (items === undefined) walk.cost += 1;
  else for (const item of items) traverse(item, walk);
}

function joinedSize(list: Value | undefined, separator: Value | undefined): number {
  const items = list === undefined ? [] : (listItems(list) ?? []);
  const between = separator === undefined ? 0 : Math.max(0, items.length - 1) * sizeOf(separator);
  return items.reduce<number>((sum, item) => sum + sizeOf(item), between);
}

function sliceSize(list?: Value, start?: Value, end?: Value): number {
  const size = Number(end) - Number(start);
  return size >= 0 && Number(start) >= 0 && Number(end) <= sizeOf(list) ? size : 1;
}

function selfCompareCost(list: Value | undefined): number {
  const first = list === undefined ? undefined : listItems(list)?.[0];
  const isText = typeof first === "string" || first instanceof Uint8Array;
  const size = sizeOf(list);
  return allocationCost(isText ? 2 + characterCost : 2, size * size);
}

function allocationCost(factor: number, size: number): number {
  return Math.trunc(size * factor) + 1 + listCost;
}
