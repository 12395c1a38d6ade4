/**
 * Runs short expressions at once, and long ones on another thread (docs/adr/0026).
 *
 * Holds  no call holds the event loop for more than `effortMax` units of effort. Above that its work is dropped and
 *        repeated by the thread, without this limit. Expressions have no side effects, so the first try is not visible.
 * Limits those of the thread: 429 when too many tasks wait for it, 504 when a task exceeds its time limit.
 */
import { EffortExceeded, withEffort } from "#cel/effort.ts";
import { failure, tooManyRequests } from "#api/status.ts";
import type { Offload } from "#platform/offload.ts";
import type { ConditionErrors, MatchCondition } from "../matching/conditions.ts";
import type { PolicyAnswer, PolicyTask } from "./policy-tasks.ts";
import type { ExpressionAnswer, ExpressionTask, FindingAnswer, FindingTask } from "./tasks.ts";

type ConditionLists = readonly (readonly MatchCondition[])[];

/** Maximum effort on the loop: some 5 ms, or 20 ms before the code is compiled. */
export const effortMax = 25_000;

export type ExpressionThread = Offload<ExpressionTask, ExpressionAnswer>;

export class ExpressionRunner {
  readonly #thread: ExpressionThread | undefined;

  /** @param thread undefined: all work runs on the loop at once (tests, tools). */
  constructor(thread: ExpressionThread | undefined) {
    this.#thread = thread;
  }

  get hasThread(): boolean {
    return this.#thread !== undefined;
  }

  /** @returns undefined if the work takes longer than it may block the loop. */
  tryHere<T>(
    run: () => T,
    effort = effortMax,
  ): { readonly result: T; readonly effort: number } | undefined {
    if (this.#thread === undefined) return { result: run(), effort: 0 };
    try {
      return withEffort(effort, run);
    } catch (error) {
      if (error instanceof EffortExceeded) return undefined;
      throw error;
    }
  }

  /** @throws ApiError 429, 504. */
  async findings(task: FindingTask): Promise<FindingAnswer> {
    return (await this.#run(task)) as FindingAnswer; // as its thread answers such a task
  }

  /** @throws ApiError 429, 504. */
  async askPolicy(task: PolicyTask): Promise<PolicyAnswer> {
    return (await this.#run(task)) as PolicyAnswer; // as its thread answers such a task
  }

  /** @throws ApiError 429, 504. */
  async conditionErrors(lists: ConditionLists): Promise<ConditionErrors> {
    const task = { kind: "conditions", lists: JSON.stringify(lists) } as const;
    return (await this.#run(task)) as ConditionErrors; // as its thread answers such a task
  }

  async #run(task: ExpressionTask): Promise<unknown> {
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

/** Returns as many errors as the thread has counted. Only the first ones are shown. */
export function errorsOf({ errors, more }: FindingAnswer): FindingAnswer["errors"] {
  const last = errors.at(-1);
  return last === undefined ? errors : [...errors, ...Array.from({ length: more }, () => last)];
}
