/**
 * Expressions run at once while that is short, else on another thread (docs/adr/0026).
 *
 * Holds  no call holds the loop for longer than `effortMax` units of effort take: beyond them its work is dropped and
 *        done again by the thread, without such a limit. Expressions change nothing, so nobody sees the first try.
 * Limits those of the thread: 429 when too many tasks wait for it, 504 when one takes longer than it may.
 */
import { EffortExceeded, withEffort } from "#cel/effort.ts";
import { failure, tooManyRequests } from "#api/status.ts";
import type { Offload } from "#platform/offload.ts";
import type { ExpressionAnswer, ExpressionTask } from "./tasks.ts";

/** Some 5 ms; 20 before the code is compiled. */
const effortMax = 25_000;

export type ExpressionThread = Offload<ExpressionTask, ExpressionAnswer>;

export class ExpressionRunner {
  readonly #thread: ExpressionThread | undefined;

  /** @param thread undefined: everything runs at once (tests, tools). */
  constructor(thread: ExpressionThread | undefined) {
    this.#thread = thread;
  }

  get hasThread(): boolean {
    return this.#thread !== undefined;
  }

  /** @returns undefined: it takes longer than the loop may be held. */
  tryHere<T>(run: () => T): { readonly result: T } | undefined {
    if (this.#thread === undefined) return { result: run() };
    try {
      return { result: withEffort(effortMax, run) };
    } catch (error) {
      if (error instanceof EffortExceeded) return undefined;
      throw error;
    }
  }

  /** @throws ApiError 429, 504. */
  async onThread(task: ExpressionTask): Promise<ExpressionAnswer> {
    if (this.#thread === undefined) throw new Error("there is no thread for expressions");
    const ran = await this.#thread.run(task);
    switch (ran.kind) {
      case "done":
        return ran.output;
      case "busy":
        throw tooManyRequests("too many requests wait for their expressions", 1);
      case "exceeded":
        throw failure(504, "Timeout", "the expressions about the object take too long");
      default:
        return ran satisfies never;
    }
  }
}

/** A finding for each that the thread counted: only the first are shown. */
export function errorsOf({ errors, more }: ExpressionAnswer): ExpressionAnswer["errors"] {
  const last = errors.at(-1);
  return last === undefined ? errors : [...errors, ...Array.from({ length: more }, () => last)];
}
