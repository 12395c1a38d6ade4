/** The door to x-kubernetes-validations: of custom objects, and of the definitions that hold them. */
import type { AnyObject, JsonObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { strategyFor } from "#api/strategies.ts";
import type { Strategy } from "#api/strategy-types.ts";
import type { RulesOf } from "../custom-kind.ts";
import { definitionsResource } from "../definition.ts";
import { withRuleChecks } from "./definition-rules.ts";
import { evaluateRules } from "./evaluate.ts";
import { ruleTree } from "./tree.ts";

/** Compiled level by level, when an object first has a value there. */
export const rulesOf: RulesOf = (structural) => {
  const tree = ruleTree(structural, true);
  if (tree === undefined) return undefined;
  return (object, old) =>
    evaluateRules(tree, jsonOf(object), old === undefined ? undefined : jsonOf(old));
};

function jsonOf(object: AnyObject): JsonObject {
  return object as unknown as JsonObject; // objects are plain JSON data
}

const { group, resource } = definitionsResource;
const ofDefinitions = withRuleChecks(strategyFor(group, resource));

/** Strategies of built-in resources. Those of `api` cannot compile the rules of a definition: this one does. */
export function strategyWithRules(info: ResourceInfo): Strategy {
  const at = info.storage ?? info;
  const isDefinition = at.group === group && at.resource === resource;
  return isDefinition ? ofDefinitions : strategyFor(at.group, at.resource);
}
