/** A mistake that the operator can correct: one sentence, exit code 1, no stack. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
  }
}
