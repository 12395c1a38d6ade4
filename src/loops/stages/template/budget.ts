/** What one run of a template or a query may spend. A run ends with a TemplateError when it has spent it. */

/** A fault of a template's or a query's text, or of the data it met. Never a bug of ours. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

export interface BudgetLimits {
  /** Nodes evaluated, elements ranged over, elements of lists that functions make. */
  readonly stepsMax: number;
  /** Characters written, and of all texts that functions make. */
  readonly charsMax: number;
}

export class Budget {
  readonly #limits: BudgetLimits;
  #steps = 0;
  #chars = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** Before the work is done, so that a large step is refused, not noticed. */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps <= this.#limits.stepsMax) return;
    throw new TemplateError(`more than ${this.#limits.stepsMax} steps`);
  }

  chars(count: number): void {
    this.#chars += count;
    if (this.#chars <= this.#limits.charsMax) return;
    throw new TemplateError(`more than ${this.#limits.charsMax} characters`);
  }
}
