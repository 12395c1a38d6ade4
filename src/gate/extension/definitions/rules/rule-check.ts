/** Interface of x-kubernetes-validations for custom kinds: the rules of a schema are injected. */
import type { AnyObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import type { Structural } from "#api/structural/structural.ts";

export interface RuleFindings {
  readonly errors: readonly FieldError[];
  /** Findings that do not refuse the write. */
  readonly warnings: readonly string[];
}

/** Checks the rules. `old` is undefined for a new object. The result is a promise if the rules take long and run on another thread. */
export type RuleCheck = (
  object: AnyObject,
  old: AnyObject | undefined,
) => RuleFindings | Promise<RuleFindings>;

/** Returns the check of a schema's rules. Undefined: the schema has none. */
export type RulesOf = (structural: Structural) => RuleCheck | undefined;
