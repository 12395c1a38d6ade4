/** Objects without a controller: the candidates for adoption, found by namespace. */
import type { KubeObject } from "#api/object.ts";
import { controllerOf } from "#client/owner.ts";

export const orphanIndex = "controllers.orphan";

/** The index function of `orphanIndex`. */
export function orphanNamespace(object: KubeObject): readonly string[] {
  return controllerOf(object) === undefined ? [object.metadata?.namespace ?? ""] : [];
}
