/** Limits what one run of a template or a query may spend. A run that exceeds its budget ends with a TemplateError. */

/** A fault in the text of a template or query, or in the data that it reads. Never a bug in Pilothouse. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

export interface BudgetLimits {
  /** Maximum number of evaluated nodes, range elements, and elements of lists made by functions. */
  readonly stepsMax: number;
  /** Maximum number of characters in the output and in all texts made by functions. */
  readonly charsMax: number;
}

export class Budget {
  readonly #limits: BudgetLimits;
  #steps = 0;
  #chars = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** Call it before the work is done, so that a large step is refused in advance. */
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
