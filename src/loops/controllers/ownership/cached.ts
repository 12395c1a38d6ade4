/** Ownership according to the caches: an owner's objects, and the orphans it may adopt. */
import type { KubeObject } from "#api/object.ts";
import type { Informer } from "#client/informer.ts";
import { commonIndexes } from "#client/indexer.ts";
import { claim, type Adopter } from "./adopt.ts";
import { orphanIndex, orphanNamespace } from "./orphans.ts";

const controllerIndex = "controllers.controllerUid";

/** Call in the constructor of every controller that uses `listControlled`. */
export function indexByController<T extends KubeObject>(informer: Informer<T>): void {
  informer.addIndex(controllerIndex, commonIndexes.controllerUid);
}

/** Call in the constructor of every controller that uses `claimCached`. */
export function indexForClaims<T extends KubeObject>(informer: Informer<T>): void {
  indexByController(informer);
  informer.addIndex(orphanIndex, orphanNamespace);
}

export function listControlled<T extends KubeObject>(
  informer: Informer<T>,
  ownerUid: string | undefined,
): readonly T[] {
  return informer.byIndex(controllerIndex, ownerUid ?? "");
}

/** Claims the owner's objects and the matching orphans of its namespace (adopt.ts). */
export function claimCached<T extends KubeObject>(
  informer: Informer<T>,
  adopter: Adopter<T>,
  isAdoptable: (object: T) => boolean = () => true,
): Promise<readonly T[]> {
  const { namespace = "", uid } = adopter.owner.metadata ?? {};
  const orphans = informer
    .byIndex(orphanIndex, namespace)
    .filter((object) => isAdoptable(object) && adopter.matches(object));
  return claim(adopter, [...listControlled(informer, uid), ...orphans]);
}
