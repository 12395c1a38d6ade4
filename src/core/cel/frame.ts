/** State of one evaluation: variables, local values, and the cost used. */
import { spendEffort } from "./effort.ts";
import type { FunctionError } from "./libraries/limits.ts";
import type { Value } from "./libraries/values.ts";

/** The cost budget of an evaluation is used up. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
    this.name = "CostExceeded";
  }
}

/** An error stored in place of a value until it is read: `@result` of a fold. */
export class Failed {
  readonly error: FunctionError;

  constructor(error: FunctionError) {
    this.error = error;
  }
}

/** One evaluation. */
export class Frame {
  readonly variables: ReadonlyMap<string, Value>;
  readonly limit: number;
  cost = 0;
  #iterations = 0;
  readonly locals: (Value | Failed | undefined)[] = [];

  constructor(variables: ReadonlyMap<string, Value>, limit: number) {
    this.variables = variables;
    this.limit = limit;
  }

  /** @throws CostExceeded, EffortExceeded. */
  spend(units: number): void {
    spendEffort(1);
    this.cost += units;
    // Written so that a NaN cost ends the evaluation too.
    if (!(this.cost <= this.limit)) throw new CostExceeded();
  }

  /**
   * Counts a step of a fold. Most cost something by what they do; `list.filter(x, false)` does not, here and upstream:
   * such steps have the same limit on their own.
   */
  count(): void {
    this.#iterations += 1;
    if (this.#iterations > this.limit) throw new CostExceeded();
  }
}

/** @throws FunctionError, CostExceeded. */
export type Step = (frame: Frame) => Value;
