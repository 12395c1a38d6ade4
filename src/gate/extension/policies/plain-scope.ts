/** Variables of a request for expressions: as data that can be sent to a thread, and as values. */
import type { JsonObject } from "#api/object.ts";
import { dynValue, jsonValue } from "#cel/json-values.ts";
import {
  authorizerValue,
  type DecideAccess,
  requestResourceValue,
} from "#cel/libraries/authorizer-library.ts";
import type { Value } from "#cel/libraries/values.ts";
import { LazyVariables } from "./lazy-variables.ts";
import type { NamedExpression } from "./policy-index.ts";
import { namespaceNode, requestNode } from "./request-variables.ts";
import type { Scopes } from "./validating-decision.ts";

/** JSON data. Null: there is no value. */
export interface PlainScope {
  readonly object: unknown;
  readonly oldObject: unknown;
  readonly params: unknown;
  readonly request: JsonObject;
  readonly namespaceObject: JsonObject | null;
  /** Resource of the request, to which `authorizer.requestResource` refers. */
  readonly resource: Parameters<typeof requestResourceValue>[1];
}

type Values = Map<string, Value>;

export function scopesOf(
  plain: PlainScope,
  decide: DecideAccess,
  variables: readonly NamedExpression[],
): Scopes {
  const base: Values = new Map([
    ["object", dynValue(plain.object)],
    ["oldObject", dynValue(plain.oldObject)],
    ["params", dynValue(plain.params)],
    ["request", jsonValue(plain.request, requestNode)],
    ["namespaceObject", jsonValue(plain.namespaceObject, namespaceNode)],
  ]);
  const authorized: Values = new Map(base)
    .set("authorizer", authorizerValue(decide))
    .set("authorizer.requestResource", requestResourceValue(decide, plain.resource));
  return {
    full: complete(new Map(authorized), variables),
    withoutAuthorizer: complete(base, variables),
    conditions: complete(authorized.set("namespaceObject", null), variables),
  };
}

function complete(
  values: Values,
  variables: readonly NamedExpression[],
): ReadonlyMap<string, Value> {
  return values.set("variables", new LazyVariables(variables, () => values));
}
