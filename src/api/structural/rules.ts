/** Where a schema has CEL rules; evaluating them is another room's. */
import type { JsonObject } from "../object.ts";
import type { Structural } from "./structural.ts";

export interface RulePlace {
  /** From the root: property names, "*" for items and additionalProperties. */
  readonly path: readonly string[];
  readonly structural: Structural;
  /** `x-kubernetes-validations` as written. */
  readonly rules: readonly JsonObject[];
}

/** Parents before children, properties by name. Empty for a schema without rules (kept: asked once). */
export function listRules(_structural: Structural): readonly RulePlace[] {
  throw new Error("not yet");
}
