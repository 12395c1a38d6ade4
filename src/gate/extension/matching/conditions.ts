/** matchConditions: CEL expressions that must all be true for a request. The evaluator is injected. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { AnyObject } from "#api/object.ts";

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Variables of an expression, in the version that the rule names. */
export interface ConditionInput {
  readonly object: AnyObject | undefined;
  readonly oldObject: AnyObject | undefined;
  /** An AdmissionRequest of admission.k8s.io/v1 without object and oldObject. */
  readonly request: object;
  /** User of the request, whose access `authorizer` checks. */
  readonly user: AdmissionRequest["user"];
}

type ConditionResult =
  | { readonly kind: "match" }
  | { readonly kind: "no-match" }
  /** A condition failed and none was false. The request is refused. */
  | { readonly kind: "error"; readonly message: string };

export interface CompiledConditions {
  evaluate(input: ConditionInput): ConditionResult | Promise<ConditionResult>;
}

export interface ConditionEvaluator {
  /** Returns the errors of conditions by webhook and index, in upstream's words. */
  errors(lists: readonly (readonly MatchCondition[])[]): ConditionErrors | Promise<ConditionErrors>;
  /** Compiles the conditions. One that does not compile is an error when it is evaluated. */
  open(conditions: readonly MatchCondition[]): CompiledConditions;
}

export type ConditionErrors = readonly (readonly ConditionError[])[];

export interface ConditionError {
  readonly index: number;
  readonly message: string;
}
