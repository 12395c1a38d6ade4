/**
 * Data types for evaluation tasks of one policy or of a webhook's conditions, and for their results.
 *
 * Policies, conditions and their input are JSON texts, as in `tasks.ts`.
 */
import type { AccessCheck, AccessDecision } from "#cel/libraries/authorizer-library.ts";
import type { MatchResult } from "../policies/match-conditions.ts";
import type { MadeMutation } from "../policies/made-mutation.ts";
import type { Decision } from "../policies/validating-decision.ts";

export type PolicyQuestion =
  | { readonly what: "decision"; readonly policy: string }
  | { readonly what: "match"; readonly policy: string }
  /** `at`: position of the mutation in the policy. */
  | { readonly what: "mutation"; readonly policy: string; readonly at: number }
  | { readonly what: "webhook"; readonly conditions: string };

/** A known answer of `authorizer`, which a thread cannot call itself. */
export interface KnownAccess {
  readonly check: AccessCheck;
  readonly decision: AccessDecision;
}

export interface PolicyTask {
  readonly kind: "policy";
  readonly question: PolicyQuestion;
  /** JSON of the policies' `PlainScope`. */
  readonly scope: string;
  readonly known: readonly KnownAccess[];
}

export interface PolicyAnswers {
  readonly decision: Decision;
  readonly match: MatchResult;
  readonly mutation: MadeMutation;
  readonly webhook: MatchResult;
}

export type PolicyAnswer =
  | { readonly kind: "policy"; readonly answer: PolicyAnswers[keyof PolicyAnswers] }
  /** The task must be repeated with the answer to `check`. */
  | { readonly kind: "access"; readonly check: AccessCheck };
