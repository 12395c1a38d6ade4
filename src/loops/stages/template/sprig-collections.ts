/** Sprig's functions for lists and maps. Their results are new values: an object of the API is never changed. */
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { counted, integer, list, map, mapOf, text } from "./arguments.ts";
import { type Budget, TemplateError } from "./budget.ts";
import type { TemplateFunction } from "./run.ts";
import { sizeOf, textOf } from "./values.ts";

export const collectionFunctions: Readonly<Record<string, TemplateFunction>> = {
  list: (args) => args,
  tuple: (args) => args,
  first: ([items]) => list(items)[0],
  last: ([items]) => list(items).at(-1),
  rest: ([items]) => list(items).slice(1),
  initial: ([items]) => list(items).slice(0, -1),
  append: ([items, item]) => [...list(items), item],
  prepend: ([items, item]) => [item, ...list(items)],
  concat: (args, budget) => {
    budget.step(args.reduce<number>((sum, items) => sum + list(items).length, 0));
    return args.flatMap(list);
  },
  reverse: ([items]) => list(items).toReversed(),
  uniq: ([items], budget) => {
    const all = list(items);
    budget.step(all.length * all.length);
    return all.filter((one, at) => all.findIndex((other) => jsonEqual(one, other)) === at);
  },
  without: ([items, ...not]) =>
    list(items).filter((one) => !not.some((other) => jsonEqual(one, other))),
  has: ([item, items]) => list(items).some((one) => jsonEqual(one, item)),
  compact: ([items]) => list(items).filter((one) => one !== "" && one !== undefined),
  sortAlpha: ([items]) => list(items).map(text).toSorted(),
  until: ([to], budget) => numbers(0, integer(to), 1, budget),
  untilStep: ([from, to, step], budget) =>
    numbers(integer(from), integer(to), integer(step), budget),
  dict(args) {
    const entries: [string, unknown][] = [];
    for (let at = 0; at < args.length; at += 2) entries.push([text(args[at]), args[at + 1] ?? ""]);
    return mapOf(entries);
  },
  get: ([from, name]) => ownEntry(map(from), text(name)) ?? "",
  hasKey: ([from, name]) => Object.hasOwn(map(from), text(name)),
  keys: (args) => args.flatMap((one) => Object.keys(map(one))),
  values: ([from]) => Object.values(map(from)),
  set(args) {
    counted(args, 3);
    const [from, name, value] = args;
    return mapOf([...Object.entries(map(from)), [text(name), value]]);
  },
  unset: ([from, name]) => mapOf(Object.entries(map(from)).filter(([key]) => key !== name)),
  pick: ([from, ...names]) =>
    mapOf(Object.entries(map(from)).filter(([key]) => names.includes(key))),
  omit: ([from, ...names]) =>
    mapOf(Object.entries(map(from)).filter(([key]) => !names.includes(key))),
  merge: (args) => mapOf(args.toReversed().flatMap((one) => Object.entries(map(one)))),
  toJson: ([value], budget) => json(value, budget, undefined),
  toPrettyJson: ([value], budget) => json(value, budget, 2),
  fromJson: ([value], budget) => fromJson(text(value), budget),
};

function numbers(from: number, to: number, step: number, budget: Budget): number[] {
  const stride = step === 0 || Math.sign(step) !== Math.sign(to - from) ? 0 : step;
  const count = stride === 0 ? 0 : Math.ceil((to - from) / stride);
  budget.step(count);
  return Array.from({ length: count }, (_, at) => from + at * stride);
}

/** A constructed list may contain the same list many times, so its size is charged before it is written. */
function json(value: unknown, budget: Budget, indent: number | undefined): string {
  budget.chars(sizeOf(value));
  return JSON.stringify(value ?? null, undefined, indent);
}

function fromJson(body: string, budget: Budget): unknown {
  budget.step(body.length);
  try {
    return JSON.parse(body);
  } catch {
    throw new TemplateError(`no JSON: ${textOf(body.slice(0, 100))}`);
  }
}
