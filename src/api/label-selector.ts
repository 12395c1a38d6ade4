/** Label selectors: parse, print, match. Grammar and error texts as upstream (apimachinery pkg/labels). */

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";
  readonly values: readonly string[];
}

export interface LabelSelector {
  /** Empty: everything matches. All must hold. */
  readonly requirements: readonly LabelRequirement[];
}
