/** What values of stock flags are, and which of them are taken. */
import { InvalidArgumentError } from "commander";
import { boolean, milliseconds } from "../flag-values.ts";

export type FlagKind = "bool" | "string" | "strings" | "int" | "float" | "duration";

export interface StockFlag {
  /** Without the dashes. */
  readonly name: string;
  readonly kind: FlagKind;
  /** Given with another value than one of these it is refused; absent: any value is taken; empty: none is. */
  readonly values?: readonly string[];
  /** Ends a sentence that begins with the flag: why it has nothing to do here, or what serves instead. */
  readonly why: string;
}

/** @throws InvalidArgumentError when this value is refused, or is none of its kind. */
export function checkStockFlag({ kind, values, why }: StockFlag, text: string): void {
  if (values?.length === 0) throw new InvalidArgumentError(`It is not taken: ${why}.`);
  if (kind === "bool") boolean(text);
  if (values === undefined || values.some((value) => sameValue(kind, value, text))) return;
  throw new InvalidArgumentError(`It can only be ${values.join(" or ")}: ${why}.`);
}

/** Whether two texts are the same value: `60s` is `1m0s`, `01` is `1`, lists may stand in any order. */
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
