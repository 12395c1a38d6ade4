/** Public interface of x-kubernetes-validations of custom objects. */
import type { AnyObject, JsonObject } from "#api/object.ts";
import type { Structural } from "#api/structural/structural.ts";
import { errorsOf, type ExpressionRunner } from "../../expressions/runner.ts";
import { evaluateRules } from "./evaluate.ts";
import type { RuleFindings, RulesOf } from "./rule-check.ts";
import { hasRules, type RuleLevel, ruleTree } from "./tree.ts";

/** Rules of a schema. Each level is compiled when an object first has a value there. */
export interface Rules {
  readonly check: (object: AnyObject, old: AnyObject | undefined) => RuleFindings;
}

export function rulesOf(structural: Structural): Rules {
  let tree: RuleLevel | undefined;
  return {
    check(object, old) {
      tree ??= ruleTree(structural, true);
      if (tree === undefined) return { errors: [], warnings: [] };
      return evaluateRules(tree, jsonOf(object), old === undefined ? undefined : jsonOf(old));
    },
  };
}

/** Makes checks of rules. Rules that take long are evaluated on another thread. */
export function rulesWith(runner: ExpressionRunner): RulesOf {
  return (structural) => {
    if (!hasRules(structural.schema)) return undefined;
    const rules = rulesOf(structural);
    let schema: string | undefined;
    return (object, old) => {
      const here = runner.tryHere(() => rules.check(object, old));
      if (here !== undefined) return here.result;
      schema ??= JSON.stringify(structural.schema);
      const before = old === undefined ? {} : { old: JSON.stringify(old) };
      const task = { kind: "rules", schema, next: JSON.stringify(object), ...before } as const;
      return runner.findings(task).then((answer) => ({ ...answer, errors: errorsOf(answer) }));
    };
  };
}

function jsonOf(object: AnyObject): JsonObject {
  return object as unknown as JsonObject; // objects are plain JSON data
}
