/**
 * Bounds that hold even where no budget is set: no function makes a larger text or list than these.
 *
 * A call may cost 1,000,000 units; a character costs a tenth of a unit and an element at least one, so
 * no expression within its budget works with more. Upstream has no such bounds: there the budget is
 * looked at after the work.
 */
import { spendEffort } from "../effort.ts";

export const charactersMax = 10_000_000;
export const elementsMax = 1_000_000;
/**
 * A cost is counted no further than this: above the budget of a call (1,000,000) and of match conditions
 * (2,500,000), and walked in some 50 ms.
 */
export const costMax = 4_000_000;

/** A function refuses its arguments; the message becomes the error of the evaluation. */
export class FunctionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FunctionError";
  }
}

export function checkCharacters(name: string, count: number): void {
  spendEffort(count / 16);
  if (count <= charactersMax) return;
  throw new FunctionError(`${name}: the result is longer than ${charactersMax} characters`);
}

export function checkElements(name: string, count: number): void {
  if (count <= elementsMax) return;
  throw new FunctionError(`${name}: the result has more than ${elementsMax} elements`);
}
