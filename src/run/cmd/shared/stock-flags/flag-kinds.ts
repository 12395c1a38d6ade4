/** What values of stock flags are, as far as two of them must be compared. */
import { milliseconds } from "../flag-values.ts";

export type FlagKind = "bool" | "string" | "strings" | "int" | "float" | "duration";

/** Whether two texts are the same value: `60s` is `1m0s`, `01` is `1`, lists may stand in any order. */
export function sameValue(kind: FlagKind, one: string, other: string): boolean {
  return canonical(kind, one) === canonical(kind, other);
}

function canonical(kind: FlagKind, text: string): string {
  if (kind === "int" || kind === "float") return String(Number(text));
  if (kind === "duration")
    return String(/^0[a-zµ]*$/.test(text) ? 0 : (milliseconds(text) ?? text));
  if (kind === "strings") return text.split(",").toSorted().join(",");
  return text;
}
