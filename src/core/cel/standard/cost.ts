/** Run-time costs of CEL's own functions. Source: cel-go interpreter/runtimecost.go. */
import { characterCost, matchCost, sizeOf } from "../libraries/call-cost.ts";
import type { Value } from "../libraries/values.ts";

const reading: ReadonlySet<string> = new Set([
  "starts_with_string",
  "ends_with_string",
  "string_to_bytes",
  "bytes_to_string",
  "strings_quote",
  "string_format",
]);
const comparing: ReadonlySet<string> = new Set([
  "equals",
  "not_equals",
  ...["less", "less_equals", "greater", "greater_equals"].flatMap((name) => [
    `${name}_string`,
    `${name}_bytes`,
  ]),
]);

/** @param id "" when several overloads match, for which upstream counts one unit. */
export function standardCost(id: string, args: readonly Value[]): number {
  const [a, b] = args;
  if (comparing.has(id)) return scaled(Math.min(sizeOf(a), sizeOf(b)));
  if (reading.has(id)) return scaled(sizeOf(a));
  switch (id) {
    case "in_list":
      return sizeOf(b);
    case "add_string":
    case "add_bytes":
      return scaled(sizeOf(a) + sizeOf(b));
    case "matches_string":
    case "matches":
      return matchCost(sizeOf(a), sizeOf(b));
    case "contains_string":
      return scaled(sizeOf(a)) * scaled(sizeOf(b));
    default:
      return 1;
  }
}

function scaled(size: number): number {
  return Math.ceil(size * characterCost);
}
