/** Open watches by user, each up to a limit. Holds an entry per user that has one. */
export class UserWatches {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  /** Infinity: nothing is counted. */
  constructor(max: number) {
    this.#max = max;
  }

  /** @returns false when it would be one too many; then nothing is counted. */
  add(user: string): boolean {
    if (this.#max === Number.POSITIVE_INFINITY) return true;
    const count = this.#counts.get(user) ?? 0;
    if (count >= this.#max) return false;
    this.#counts.set(user, count + 1);
    return true;
  }

  delete(user: string): void {
    const count = this.#counts.get(user);
    if (count === undefined) return;
    if (count > 1) this.#counts.set(user, count - 1);
    else this.#counts.delete(user);
  }
}
