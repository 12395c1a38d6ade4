/**
 * The caches' revision, and waiting until they reach a given one.
 *
 * A read that names a revision the caches have not reached waits up to `waitMs`, then is refused with 504 and the
 * cause that clients look for. A write waits for its own revision without limit: the store has it, so the
 * caches will get it. In one process both usually have it already, and there is no wait.
 */
import type { Clock } from "#platform/clock.ts";
import { failure } from "#api/status.ts";
import type { ApiError } from "#api/status.ts";
import type { Store } from "#store/store.ts";

interface Waiter {
  readonly revision: number;
  /** False when the registry was closed first. */
  readonly done: (reached: boolean) => void;
}

export class Freshness {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #waiters = new Set<Waiter>();
  #revision: number;

  constructor(deps: { clock: Clock }, options: { revision: number; waitMs: number }) {
    this.#clock = deps.clock;
    this.#waitMs = options.waitMs;
    this.#revision = options.revision;
  }

  /** The caches contain every revision up to this one. */
  get revision(): number {
    return this.#revision;
  }

  advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    for (const waiter of this.#waiters) {
      if (waiter.revision <= this.#revision) waiter.done(true);
    }
  }

  /** For reads: resolves when `revision` is reached. Rejects with 504 ResourceVersionTooLarge. */
  async atLeast(revision: number): Promise<void> {
    if (revision <= this.#revision) return;
    if (!(await this.#wait(revision, this.#waitMs))) throw this.#tooLarge(revision);
  }

  /**
   * Resolves once the caches hold everything that any writer of the storage had committed when this was called. Rejects
   * with 504 when that takes too long. Undefined: the storage has no other writers, so the caches hold it already.
   */
  latest(store: Store): Promise<void> | undefined {
    return store.latest?.().then((revision) => this.atLeast(revision));
  }

  /** For writes: resolves when the caches contain the committed `revision`. */
  async applied(revision: number): Promise<void> {
    if (revision > this.#revision) await this.#wait(revision, undefined);
  }

  /** Ends all waits. */
  close(): void {
    for (const waiter of this.#waiters) waiter.done(false);
  }

  #wait(revision: number, waitMs: number | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const timer =
        waitMs === undefined
          ? undefined
          : this.#clock.after("registry.wait", waitMs, () => waiter.done(false));
      const waiter: Waiter = {
        revision,
        done: (reached) => {
          timer?.cancel();
          this.#waiters.delete(waiter);
          resolve(reached);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  #tooLarge(revision: number): ApiError {
    const text = `Timeout: Too large resource version: ${revision}, current: ${this.#revision}`;
    return failure(504, "Timeout", text, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    });
  }
}
