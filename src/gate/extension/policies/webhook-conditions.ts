/** Evaluates matchConditions of webhooks as expressions of policies, without parameters and variables. */
import type { Clock } from "#platform/clock.ts";
import { type Fields, isFields, part, text } from "#api/validation/fields.ts";
import type { JsonObject } from "#api/object.ts";
import type { Authorizer } from "#auth/auth.ts";
import { conditionErrors } from "../expressions/condition-errors.ts";
import type { ExpressionRunner } from "../expressions/runner.ts";
import type {
  CompiledConditions,
  ConditionEvaluator,
  ConditionInput,
  MatchCondition,
} from "../matching/conditions.ts";
import { compileConditions } from "./compile-conditions.ts";
import type { Expression } from "./expression.ts";
import { matchConditions } from "./match-conditions.ts";
import { type PlainScope, scopesOf } from "./plain-scope.ts";
import { PolicyRun } from "./policy-run.ts";
import { RecordedAccess } from "./recorded-access.ts";

interface EvaluatorDeps {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly runner: ExpressionRunner;
}

export function webhookConditionEvaluator(deps: EvaluatorDeps): ConditionEvaluator {
  const { runner } = deps;
  return {
    errors(lists) {
      const here = runner.tryHere(() => conditionErrors(lists));
      return here?.result ?? runner.conditionErrors(lists);
    },
    open: (conditions) => openConditions(deps, conditions),
  };
}

/** Returns the conditions, which are compiled when they are first evaluated. */
function openConditions(
  { authorizer, ...run }: EvaluatorDeps,
  conditions: readonly MatchCondition[],
): CompiledConditions {
  let compiled: readonly Expression[] | undefined;
  return {
    evaluate(input) {
      const scope = scopeOf(input);
      const access = new RecordedAccess(authorizer, input.user);
      return new PolicyRun(run, access).run<"webhook">(
        () => {
          compiled ??= compileConditions(conditions);
          return matchConditions(compiled, scopesOf(scope, access.decide, []).conditions, true);
        },
        () => ({ question: { what: "webhook", conditions: JSON.stringify(conditions) }, scope }),
      );
    },
  };
}

function scopeOf({ object, oldObject, request }: ConditionInput): PlainScope {
  const fields: Fields = isFields(request) ? request : {};
  const asked = part(fields, "requestResource");
  return {
    object: object ?? null,
    oldObject: oldObject ?? null,
    params: null,
    request: { name: "", ...fields } as JsonObject, // plain JSON data
    namespaceObject: null,
    resource: {
      group: text(asked, "group"),
      resource: text(asked, "resource"),
      subresource: text(fields, "requestSubResource"),
      namespace: text(fields, "namespace"),
      name: text(fields, "name"),
    },
  };
}
