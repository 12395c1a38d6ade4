/**
 * The second mutating pass: when a webhook or a policy has changed the object, all mutating plugins run once more, so
 * that their values fit the changed object (upstream: admission/reinvocation.go).
 *
 * Holds  at most one additional pass per attempt at a write.
 */
export class Reinvocation {
  #isSecond = false;
  #isWanted = false;
  readonly #states = new Map<string, unknown>();

  /** Whether this is the second pass. */
  get isSecond(): boolean {
    return this.#isSecond;
  }

  /** Requests a second pass; no effect during the second pass. */
  want(): void {
    this.#isWanted = true;
  }

  /** State that plugin `name` keeps from the first pass for the second. */
  stateOf<T>(name: string, make: () => T): T {
    const known = this.#states.get(name) as T | undefined; // only the plugin of this name puts it there
    const state = known ?? make();
    this.#states.set(name, state);
    return state;
  }

  /** Begins the second pass if one was requested. @returns whether it was. */
  begin(): boolean {
    if (this.#isSecond || !this.#isWanted) return false;
    this.#isSecond = true;
    return true;
  }
}
