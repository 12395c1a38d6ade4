/** matchConditions of webhooks: the expressions of policies, without parameters and variables. */
import type { Authorizer } from "#auth/auth.ts";
import { dynValue, jsonValue } from "#cel/json-values.ts";
import { authorizerValue, requestResourceValue } from "#cel/libraries/authorizer-library.ts";
import type { Value } from "#cel/libraries/values.ts";
import { type Fields, isFields, part, text } from "#api/validation/fields.ts";
import type { CompiledConditions, ConditionEvaluator } from "../matching/conditions.ts";
import { PolicyCompiler, results } from "./compiler.ts";
import type { Scope } from "./expression.ts";
import { matchConditions } from "./match-conditions.ts";
import { requestNode } from "./request-variables.ts";
import { decisions } from "./variables.ts";

const declared = { hasParams: false, hasAuthorizer: true, hasVariables: false };

export function webhookConditionEvaluator(authorizer: Authorizer): ConditionEvaluator {
  return {
    compile(conditions) {
      const compiler = new PolicyCompiler();
      const compiled = conditions.map(({ expression }) =>
        compiler.compile(expression, declared, results.bool),
      );
      const errors = compiled.flatMap(({ compileError }, index) =>
        compileError === undefined ? [] : [{ index, message: compileError }],
      );
      if (errors.length > 0) return { kind: "errors", errors };
      return {
        kind: "compiled",
        conditions: {
          evaluate: (input) => matchConditions(compiled, scopeOf(authorizer, input), true),
        },
      };
    },
  };
}

type Input = Parameters<CompiledConditions["evaluate"]>[0];

function scopeOf(authorizer: Authorizer, { object, oldObject, request, user }: Input): Scope {
  const decide = decisions(authorizer, user);
  const fields: Fields = isFields(request) ? request : {};
  const asked = part(fields, "requestResource");
  const resource = {
    group: text(asked, "group"),
    resource: text(asked, "resource"),
    subresource: text(fields, "requestSubResource"),
    namespace: text(fields, "namespace"),
    name: text(fields, "name"),
  };
  const values = new Map<string, Value>()
    .set("object", dynValue(object ?? null))
    .set("oldObject", dynValue(oldObject ?? null))
    .set("request", jsonValue({ name: "", ...fields }, requestNode))
    .set("namespaceObject", null)
    .set("authorizer", authorizerValue(decide))
    .set("authorizer.requestResource", requestResourceValue(decide, resource));
  return values;
}
