/** x-kubernetes-validations as custom kinds see them: the rules of a schema, injected. */
import type { AnyObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import type { Structural } from "#api/structural/structural.ts";

export interface RuleFindings {
  readonly errors: readonly FieldError[];
  /** Findings that do not refuse the write. */
  readonly warnings: readonly string[];
}

/** `old` undefined: the object is new. A promise: the rules take long and are evaluated on another thread. */
export type RuleCheck = (
  object: AnyObject,
  old: AnyObject | undefined,
) => RuleFindings | Promise<RuleFindings>;

/** Undefined: the schema has no rules. */
export type RulesOf = (structural: Structural) => RuleCheck | undefined;
