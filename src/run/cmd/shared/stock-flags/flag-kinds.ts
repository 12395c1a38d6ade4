/** The kinds of values of stock flags, and the accepted values. */
import { InvalidArgumentError } from "commander";
import { boolean, milliseconds } from "../flag-values.ts";

export type FlagKind = "bool" | "string" | "strings" | "int" | "float" | "duration";

export interface StockFlag {
  /** Name without the dashes. */
  readonly name: string;
  readonly kind: FlagKind;
  /** Accepted values. Absent: any value is accepted. Empty: none is. */
  readonly values?: readonly string[];
  /** End of a sentence that begins with the flag: why it has no effect here, or what replaces it. */
  readonly why: string;
}

/** @throws InvalidArgumentError when the value is refused, or is not of its kind. */
export function checkStockFlag({ kind, values, why }: StockFlag, text: string): void {
  if (values?.length === 0) throw new InvalidArgumentError(`It is not taken: ${why}.`);
  if (kind === "bool") boolean(text);
  if (values === undefined || values.some((value) => sameValue(kind, value, text))) return;
  throw new InvalidArgumentError(`It can only be ${values.join(" or ")}: ${why}.`);
}

/** Whether two texts mean the same value: `60s` is `1m0s`, `01` is `1`, and lists may have any order. */
function sameValue(kind: FlagKind, one: string, other: string): boolean {
  return canonical(kind, one) === canonical(kind, other);
}

function canonical(kind: FlagKind, text: string): string {
  if (kind === "int" || kind === "float") return String(Number(text));
  if (kind === "duration")
    return String(/^0[a-zµ]*$/.test(text) ? 0 : (milliseconds(text) ?? text));
  if (kind === "strings") return text.split(",").toSorted().join(",");
  return text;
}
