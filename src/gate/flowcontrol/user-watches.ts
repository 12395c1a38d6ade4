/** Number of open watches by user, each up to a limit. Contains an entry for each user with an open watch. */
export class UserWatches {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  /** @param max maximum number per user. Infinity: watches are not counted. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a watch. @returns false if the user is at the limit; then it is not counted. */
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
