/** Differences from stock that are meant, each with its reason; docs/contract.md tells them to users. */
import type { Difference } from "./compare.ts";

export interface Known {
  /** Found in `Difference.at`. */
  readonly at: RegExp;
  readonly reason: string;
}

export const known: readonly Known[] = [];

export function isKnown({ at }: Difference): boolean {
  return known.some((row) => row.at.test(at));
}
