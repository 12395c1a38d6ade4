/** Pods that wait until drivers have made their devices ready (binding conditions). */
import type { Clock } from "#platform/clock.ts";

/** Upstream's BindingTimeout. */
export const bindingTimeoutMs = 600_000;

interface Waiter {
  readonly isDone: () => boolean;
  readonly end: (error?: unknown) => void;
}

export class ClaimWaiters {
  readonly #clock: Pick<Clock, "after">;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Checks all waiting Pods; to be called after claims changed. */
  ask(): void {
    for (const { isDone, end } of this.#waiters) {
      try {
        if (isDone()) end();
      } catch (error) {
        end(error);
      }
    }
  }

  /** Resolves when `isDone` is true; rejects when it throws, when `signal` aborts, and after the timeout. */
  until(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error?: unknown): void => {
        this.#waiters.delete(waiter);
        timer.cancel();
        signal.removeEventListener("abort", abort);
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error("waiting failed", { cause: error }));
      };
      const waiter: Waiter = { isDone, end };
      const abort = (): void => end(new Error("context canceled"));
      const timer = this.#clock.after("scheduler.backoff", bindingTimeoutMs, () =>
        end(new Error("device binding timeout: context deadline exceeded")),
      );
      this.#waiters.add(waiter);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      this.ask();
    });
  }
}
