/** Sprig's functions for texts, numbers and kinds, except those that read the clock, randomness or the environment. */
import { encodeBase64Text } from "#api/defaults/base64.ts";
import { type Args, counted, integer, list, number, text } from "./arguments.ts";
import { type Budget, TemplateError } from "./budget.ts";
import type { TemplateFunction } from "./run.ts";
import { kindOf, isTrue, textOf } from "./values.ts";

const padOf = (args: Args, budget: Budget): string => {
  counted(args, 2);
  const [width, body] = [integer(args[0]), text(args[1])];
  const lines = body.split("\n").length;
  budget.chars(Math.max(0, width) * lines);
  const pad = " ".repeat(Math.max(0, width));
  return pad + body.replaceAll("\n", `\n${pad}`);
};

function replaced(args: Args, budget: Budget): string {
  counted(args, 3);
  const [from, to, body] = args.map(text) as [string, string, string]; // Counted above.
  const places = from === "" ? body.length + 1 : body.split(from).length - 1;
  budget.step(places);
  budget.chars(places * to.length);
  return body.replaceAll(from, () => to);
}

function repeated(args: Args, budget: Budget): string {
  counted(args, 2);
  const [times, body] = [Math.max(0, integer(args[0])), text(args[1])];
  budget.chars(times * body.length);
  return body.repeat(times);
}

export const textFunctions: Readonly<Record<string, TemplateFunction>> = {
  quote: (args) =>
    args
      .filter(isThere)
      .map((one) => JSON.stringify(textOf(one)))
      .join(" "),
  squote: (args) =>
    args
      .filter(isThere)
      .map((one) => `'${textOf(one)}'`)
      .join(" "),
  upper: ([body]) => text(body).toUpperCase(),
  lower: ([body]) => text(body).toLowerCase(),
  title: ([body]) => text(body).replace(/(^|\s)\p{L}/gu, (c) => c.toUpperCase()),
  trim: ([body]) => text(body).trim(),
  trimAll: ([cut, body]) => trimmed(text(body), text(cut)),
  trimPrefix: ([prefix, body]) => withoutPrefix(text(body), text(prefix)),
  trimSuffix: ([suffix, body]) => withoutSuffix(text(body), text(suffix)),
  trunc: ([count, body]) => truncated(text(body), integer(count)),
  substr: ([from, to, body]) => text(body).slice(integer(from), integer(to)),
  replace: replaced,
  repeat: repeated,
  nospace: ([body]) => text(body).replace(/\s+/g, ""),
  contains: ([part, body]) => text(body).includes(text(part)),
  hasPrefix: ([prefix, body]) => text(body).startsWith(text(prefix)),
  hasSuffix: ([suffix, body]) => text(body).endsWith(text(suffix)),
  cat: (args) => args.filter(isThere).map(textOf).join(" "),
  indent: padOf,
  nindent: (args, budget) => `\n${padOf(args, budget)}`,
  join: ([between, items], budget) => {
    const all = list(items).map(text);
    budget.chars(all.length * text(between).length);
    return all.join(text(between));
  },
  splitList: ([between, body], budget) => {
    budget.step(text(body).length);
    return text(body).split(text(between));
  },
  toString: (args: Args) => text(args[0]),
  toStrings: ([value]) => list(value).map(text),
  kindOf: ([value]) => kindOf(value),
  typeOf: ([value]) => kindOf(value),
  kindIs: ([kind, value]) => kindOf(value) === kind,
  typeIs: ([kind, value]) => kindOf(value) === kind,
  fail: ([message]) => {
    throw new TemplateError(text(message));
  },
  b64enc: ([body]) => encodeBase64Text(text(body)),
  b64dec: ([body]) => fromBase64(text(body)),
  int: ([value]) => integer(value),
  int64: ([value]) => integer(value),
  atoi: ([value]) => integer(value),
  float64: ([value]) => number(value),
  add: (args) => args.map(integer).reduce((a, b) => a + b, 0),
  add1: ([value]) => integer(value) + 1,
  sub: ([a, b]) => integer(a) - integer(b),
  mul: (args) => args.map(integer).reduce((a, b) => a * b, 1),
  div: ([a, b]) => Math.trunc(integer(a) / divisor(b)),
  mod: ([a, b]) => integer(a) % divisor(b),
  max: (args) => Math.max(...args.map(integer)),
  min: (args) => Math.min(...args.map(integer)),
  floor: ([value]) => Math.floor(number(value)),
  ceil: ([value]) => Math.ceil(number(value)),
  default: ([fallback, value]) => (isTrue(value) ? value : fallback),
  empty: ([value]) => !isTrue(value),
  coalesce: (args) => args.find(isTrue),
  ternary: ([yes, no, test]) => (test === true ? yes : no),
};

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function divisor(value: unknown): number {
  const divided = integer(value);
  if (divided === 0) throw new TemplateError("division by zero");
  return divided;
}

function trimmed(body: string, cut: string): string {
  let [from, to] = [0, body.length];
  while (from < to && cut.includes(body.charAt(from))) from++;
  while (to > from && cut.includes(body.charAt(to - 1))) to--;
  return body.slice(from, to);
}

function withoutPrefix(body: string, prefix: string): string {
  return body.startsWith(prefix) ? body.slice(prefix.length) : body;
}

function withoutSuffix(body: string, suffix: string): string {
  return suffix !== "" && body.endsWith(suffix) ? body.slice(0, -suffix.length) : body;
}

function truncated(body: string, count: number): string {
  return count < 0 ? body.slice(count) : body.slice(0, count);
}

function fromBase64(body: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(body), (c) => c.charCodeAt(0)));
  } catch {
    throw new TemplateError("illegal base64 data");
  }
}
