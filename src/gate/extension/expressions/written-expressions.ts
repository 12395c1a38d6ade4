/**
 * Checks the expressions of definitions and policies when these are written: extends their strategies, and checks large
 * objects on another thread.
 */
import { patternSteps } from "#base/pattern-steps.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { FieldError } from "#api/status.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import type { Strategy } from "#api/strategies/strategy-types.ts";
import { hasValues } from "#api/json/value-count.ts";
import { definitionsResource } from "../definitions/definition.ts";
import { definitionRuleErrors } from "../definitions/rules/definition-rules.ts";
import { expressionFindings } from "../policies/expression-findings.ts";
import { errorsOf, type ExpressionRunner } from "./runner.ts";
import type { FindingTask } from "./tasks.ts";

type Find = (
  next: AnyObject,
  old: AnyObject | undefined,
  found: readonly FieldError[],
) => readonly FieldError[];

/** A definition of 2,000 values is validated in some 5 ms, 15 while the code is cold. */
const largeValuesMin = 2_000;

/**
 * Maximum effort for a definition that is validated on the loop. Definitions are written rarely, and a failed try
 * here is repeated on the thread.
 */
const triedEffort = 8_000;

/** Patterns with this number of steps compile in some 5 ms. */
const largeStepsMin = 4_000;

/** Returns the steps of all fields called `pattern` in a definition's schemas. The limits of requests bound the depth. */
function patternStepsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let steps = 0;
  for (const [name, member] of Object.entries(value)) {
    steps +=
      name === "pattern" && typeof member === "string"
        ? patternSteps(member)
        : patternStepsOf(member);
  }
  return steps;
}

function finderOf({ group, resource }: GroupResource): Find | undefined {
  const isDefinition =
    group === definitionsResource.group && resource === definitionsResource.resource;
  return isDefinition ? definitionRuleErrors : expressionFindings({ group, resource });
}

/** Returns the errors of an object's expressions. `isWhole`: preceded by the errors of all its other fields. */
export function findingsOf(
  at: GroupResource,
  next: AnyObject,
  old: AnyObject | undefined,
  isWhole: boolean,
): readonly FieldError[] {
  const found = ownFindings(strategyFor(at.group, at.resource), next, old);
  const further = finderOf(at)?.(next, old, found) ?? [];
  return isWhole ? [...found, ...further] : further;
}

function ownFindings(
  strategy: Strategy,
  next: AnyObject,
  old: AnyObject | undefined,
): readonly FieldError[] {
  return old === undefined ? strategy.validate(next) : strategy.validateUpdate(next, old);
}

/** Returns strategies of built-in resources that compile expressions, which those of `api` cannot. */
export function strategiesWithExpressions(
  runner: ExpressionRunner,
): (info: ResourceInfo) => Strategy {
  return (info) => {
    // The request's own group counts: events.k8s.io is stricter with the events that it shares with the core group.
    const { group, resource, gates } = info;
    const base = strategyFor(group, resource, gates);
    const find = finderOf({ group, resource });
    return find === undefined ? base : withFinder(runner, base, find, { group, resource });
  };
}

function withFinder(
  runner: ExpressionRunner,
  base: Strategy,
  find: Find,
  resource: GroupResource,
): Strategy {
  const isLarge = (object: AnyObject): boolean =>
    runner.hasThread &&
    (hasValues(object, largeValuesMin) || patternStepsOf(object) > largeStepsMin);
  return {
    ...base,
    validate: (object) => (isLarge(object) ? [] : base.validate(object)),
    validateUpdate: (next, old) =>
      isLarge(next) || isLarge(old) ? [] : base.validateUpdate(next, old),
    findFurther(next, old, found) {
      const isWhole = isLarge(next) || (old !== undefined && isLarge(old));
      const here = isWhole ? undefined : runner.tryHere(() => find(next, old, found), triedEffort);
      if (here !== undefined) return here.result;
      return runner.findings(taskOf({ resource, isWhole }, next, old)).then(errorsOf);
    },
  };
}

function taskOf(
  task: { readonly resource: GroupResource; readonly isWhole: boolean },
  next: AnyObject,
  old: AnyObject | undefined,
): FindingTask {
  const before = old === undefined ? {} : { old: JSON.stringify(old) };
  return { kind: "findings", ...task, next: JSON.stringify(next), ...before };
}
