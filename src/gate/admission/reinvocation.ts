/**
 * The second mutating pass: when a webhook or a policy changed the object, all mutating plugins run once
 * more, so that what they fill in fits the changed object (upstream: admission/reinvocation.go).
 *
 * Holds  at most one further pass per attempt at a write.
 */
export class Reinvocation {
  #isSecond = false;
  #isWanted = false;
  readonly #states = new Map<string, unknown>();

  /** This pass is the second one. */
  get isSecond(): boolean {
    return this.#isSecond;
  }

  /** Asks for a second pass; in the second one it changes nothing. */
  want(): void {
    this.#isWanted = true;
  }

  /** What plugin `name` remembers from the first pass for the second. */
  stateOf<T>(name: string, make: () => T): T {
    const known = this.#states.get(name) as T | undefined; // only the plugin of this name puts it there
    const state = known ?? make();
    this.#states.set(name, state);
    return state;
  }

  /** @returns whether a second pass is to run; from then on it has begun. */
  begin(): boolean {
    if (this.#isSecond || !this.#isWanted) return false;
    this.#isSecond = true;
    return true;
  }
}
