/** Checks the types of policies over the kinds that the server currently serves. */
import type { AnyObject } from "#api/object.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import type { Steps } from "#base/steps.ts";
import { kindNode } from "./kind-nodes.ts";
import { type ExpressionWarning, typeWarnings } from "./type-check.ts";

type Kinds = Pick<ResourceCatalog, "infos" | "definitions">;

export function policyTypeChecker(
  catalog: Kinds,
): (policy: AnyObject) => Steps<readonly ExpressionWarning[]> {
  return (policy) =>
    typeWarnings(policy, {
      served: () => catalog.infos(),
      nodeOf: (kind) => kindNode(catalog, kind),
    });
}
