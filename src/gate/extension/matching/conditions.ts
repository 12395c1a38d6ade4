/** matchConditions: CEL expressions that all must be true of a request. The evaluator is injected. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { AnyObject } from "#api/object.ts";

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** The variables of an expression, in the version that the rule names. */
export interface ConditionInput {
  readonly object: AnyObject | undefined;
  readonly oldObject: AnyObject | undefined;
  /** An AdmissionRequest of admission.k8s.io/v1 without object and oldObject. */
  readonly request: object;
  /** Of the request: what `authorizer` checks. */
  readonly user: AdmissionRequest["user"];
}

type ConditionResult =
  | { readonly kind: "match" }
  | { readonly kind: "no-match" }
  /** One failed and none was false: the request is refused. */
  | { readonly kind: "error"; readonly message: string };

export interface CompiledConditions {
  evaluate(input: ConditionInput): ConditionResult | Promise<ConditionResult>;
}

export interface ConditionEvaluator {
  /** Errors of conditions by webhook and index, in upstream's words. */
  errors(lists: readonly (readonly MatchCondition[])[]): ConditionErrors | Promise<ConditionErrors>;
  /** One that does not compile is an error of the evaluation. */
  open(conditions: readonly MatchCondition[]): CompiledConditions;
}

export type ConditionErrors = readonly (readonly ConditionError[])[];

export interface ConditionError {
  readonly index: number;
  readonly message: string;
}
