/** Answers a question about a policy on a thread. */
import { parseExactJson } from "#base/exact-json.ts";
import { must } from "#base/assert.ts";
import type { AnyObject } from "#api/object.ts";
import type { AccessCheck, DecideAccess } from "#cel/libraries/authorizer-library.ts";
import type { MatchCondition } from "../matching/conditions.ts";
import { compileMutating, compileValidating } from "../policies/compile.ts";
import { makeMutation } from "../policies/made-mutation.ts";
import { matchConditions } from "../policies/match-conditions.ts";
import type { MutatingProgram } from "../policies/mutating-program.ts";
import { type PlainScope, scopesOf } from "../policies/plain-scope.ts";
import type { Compiled } from "../policies/policy-index.ts";
import { decide, type ValidatingProgram } from "../policies/validating-decision.ts";
import { compileConditions } from "../policies/compile-conditions.ts";
import type {
  KnownAccess,
  PolicyAnswer,
  PolicyAnswers,
  PolicyQuestion,
  PolicyTask,
} from "./policy-tasks.ts";

/** An expression needs a check of access whose answer the task does not contain. */
class AccessNeeded extends Error {
  readonly check: AccessCheck;

  constructor(check: AccessCheck) {
    super("the authorizer is to be asked");
    this.check = check;
  }
}

export function answerPolicy({ question, scope, known }: PolicyTask): PolicyAnswer {
  try {
    const seen = parseExactJson(scope) as PlainScope; // printed from one
    return { kind: "policy", answer: answer(question, seen, knownDecisions(known)) };
  } catch (error) {
    if (error instanceof AccessNeeded) return { kind: "access", check: error.check };
    throw error;
  }
}

function knownDecisions(known: readonly KnownAccess[]): DecideAccess {
  const byCheck = new Map(known.map(({ check, decision }) => [JSON.stringify(check), decision]));
  return (check) => {
    const decision = byCheck.get(JSON.stringify(check));
    if (decision === undefined) throw new AccessNeeded(check);
    return decision;
  };
}

function answer(
  question: PolicyQuestion,
  scope: PlainScope,
  access: DecideAccess,
): PolicyAnswers[keyof PolicyAnswers] {
  switch (question.what) {
    case "decision": {
      const { program, variables } = validating.of(question.policy);
      return decide(program, scopesOf(scope, access, variables));
    }
    case "match": {
      const { program, variables } = mutating.of(question.policy);
      const { conditions } = scopesOf(scope, access, variables);
      return matchConditions(program.conditions, conditions, program.failsClosed);
    }
    case "mutation": {
      const { program, variables } = mutating.of(question.policy);
      const mutation = must(program.mutations[question.at], "the mutation is the policy's");
      return makeMutation(mutation, scopesOf(scope, access, variables).full);
    }
    case "webhook":
      return matchConditions(webhook.of(question.conditions), scopesOf(scope, access, []).conditions, true); // prettier-ignore
    default:
      return question satisfies never;
  }
}

/** Remembers the last compiled value, because consecutive questions often have the same text. */
class Last<T> {
  readonly #compile: (data: unknown) => T;
  #known: { readonly text: string; readonly compiled: T } | undefined;

  constructor(compile: (data: unknown) => T) {
    this.#compile = compile;
  }

  of(text: string): T {
    if (this.#known?.text !== text) {
      this.#known = { text, compiled: this.#compile(parseExactJson(text)) };
    }
    return this.#known.compiled;
  }
}

const validating = new Last<Compiled<ValidatingProgram>>((data) =>
  compileValidating(data as AnyObject),
);
const mutating = new Last<Compiled<MutatingProgram>>((data) => compileMutating(data as AnyObject));
const webhook = new Last((data) => compileConditions(data as readonly MatchCondition[]));
