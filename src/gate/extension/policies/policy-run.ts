/**
 * Evaluates policies for one request: short evaluations here, long ones on a thread. Between evaluations the event loop
 * serves other requests.
 *
 * Holds  a thread gives the same result as the first try: it has the recorded answers of `authorizer`, or asks for
 *        them.
 */
import { failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import { nextTurn } from "#platform/pace.ts";
import type { PolicyAnswers, PolicyQuestion } from "../expressions/policy-tasks.ts";
import { effortMax, type ExpressionRunner } from "../expressions/runner.ts";
import type { PlainScope } from "./plain-scope.ts";
import { AccessPending, type RecordedAccess } from "./recorded-access.ts";

/** Effort of a policy in addition to its expressions: matching, scopes, a sample of its time. */
const effortPerPolicy = 200;
/** Maximum number of access checks of a task. Each costs a third of an evaluation's budget. */
const roundsMax = 64;

interface RunDeps {
  readonly clock: Clock;
  readonly runner: ExpressionRunner;
}

interface Tried<T> {
  readonly result: T;
  readonly effort: number;
}

interface Asked<W> {
  readonly question: PolicyQuestion & { readonly what: W };
  readonly scope: PlainScope;
}

export class PolicyRun {
  readonly #deps: RunDeps;
  readonly #access: RecordedAccess;
  #effort = 0;

  constructor(deps: RunDeps, access: RecordedAccess) {
    this.#deps = deps;
    this.#access = access;
  }

  /** @param here the work on the loop. Undefined: it takes too long. @throws ApiError 429, 504. */
  async run<W extends keyof PolicyAnswers>(
    here: (() => PolicyAnswers[W]) | undefined,
    elsewhere: () => Asked<W>,
  ): Promise<PolicyAnswers[W]> {
    const tried = here === undefined ? undefined : await this.#tryHere(here);
    if (tried !== undefined) {
      await this.spend(tried.effort);
      return tried.result;
    }
    // The first try has blocked the loop, so other work runs first.
    await nextTurn(this.#deps.clock);
    this.#effort = 0;
    return this.#ask(elsewhere());
  }

  /** Tries on the loop. Retries with each answer that another server must give first. */
  async #tryHere<T>(here: () => T): Promise<Tried<T> | undefined> {
    for (let round = 0; round < roundsMax; round++) {
      try {
        return this.#deps.runner.tryHere(here);
      } catch (error) {
        if (!(error instanceof AccessPending)) throw error;
        await this.#access.learn(error.check);
      }
    }
    throw tooManyChecks();
  }

  /** Lets other work run if much effort was spent since the last time. */
  async spend(effort: number): Promise<void> {
    this.#effort += effort + effortPerPolicy;
    if (this.#effort < effortMax || !this.#deps.runner.hasThread) return;
    this.#effort = 0;
    await nextTurn(this.#deps.clock);
  }

  async #ask<W extends keyof PolicyAnswers>({
    question,
    scope,
  }: Asked<W>): Promise<PolicyAnswers[W]> {
    const data = JSON.stringify(scope);
    for (let round = 0; round < roundsMax; round++) {
      const { known } = this.#access;
      const task = { kind: "policy", question, scope: data, known } as const;
      const answer = await this.#deps.runner.askPolicy(task);
      if (answer.kind === "policy") return answer.answer as PolicyAnswers[W]; // of the question's kind
      await this.#access.learn(answer.check);
    }
    throw tooManyChecks();
  }
}

function tooManyChecks(): Error {
  return failure(504, "Timeout", "a policy asks for too many checks of access");
}
