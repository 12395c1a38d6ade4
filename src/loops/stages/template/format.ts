/** `printf` of templates: Go's verbs for JSON values. */
import { Budget, TemplateError } from "./budget.ts";
import type { Args } from "./arguments.ts";
import { number } from "./arguments.ts";
import { kindOf, textOf } from "./values.ts";

const widthMax = 1_000;

export function formatText(format: string, args: Args, budget: Budget): string {
  let next = 0;
  const verbs = /%([-+ 0#]*)([0-9]*)(?:\.([0-9]*))?(.)/gsu;
  const made = format.replace(verbs, (_all, ...found: (string | undefined)[]) => {
    const [flags = "", width = "", precision, verb = ""] = found;
    if (verb === "%") return "%";
    if (next >= args.length) return `%!${verb}(MISSING)`;
    budget.step();
    return padded(one(verb, args[next++], precision), flags, Number(width));
  });
  const rest = args.slice(next).map((value) => `${kindOf(value)}=${textOf(value)}`);
  return rest.length === 0 ? made : `${made}%!(EXTRA ${rest.join(", ")})`;
}

function padded(text: string, flags: string, width: number): string {
  if (width > widthMax) throw new TemplateError(`a width of ${width}; the most is ${widthMax}`);
  if (flags.includes("-")) return text.padEnd(width);
  const isNumber = /^-?[0-9.]+$/.test(text);
  if (!flags.includes("0") || !isNumber) return text.padStart(width);
  const sign = text.startsWith("-") ? "-" : "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}

function one(verb: string, value: unknown, precision: string | undefined): string {
  const digits = Math.min(100, Number(precision ?? 6));
  switch (verb) {
    case "v":
    case "s":
      return precision === undefined ? textOf(value) : textOf(value).slice(0, digits);
    case "q":
      return JSON.stringify(textOf(value));
    case "d":
      return String(Math.trunc(number(value)));
    case "x":
      return Math.trunc(number(value)).toString(16);
    case "f":
      return number(value).toFixed(digits);
    case "t":
      return String(value === true);
    case "T":
      return kindOf(value);
    default:
      return `%!${verb}(${kindOf(value)}=${textOf(value)})`;
  }
}
