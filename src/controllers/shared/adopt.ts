/**
 * Adoption and release, as upstream's ControllerRefManager: an orphan that matches the selector gets
 * us as its controller; one of ours that no longer matches is let go. Both by patches that name the
 * uid, so a namesake made meanwhile is never touched.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { controllerOf } from "./owner.ts";

export interface Adopter<T extends KubeObject> {
  readonly client: Client;
  readonly ref: ResourceRef;
  readonly owner: KubeObject;
  readonly reference: OwnerReference;
  readonly matches: (object: T) => boolean;
}

/** The objects of `candidates` that the owner controls after this call. */
export async function claim<T extends KubeObject>(
  adopter: Adopter<T>,
  candidates: readonly T[],
): Promise<readonly T[]> {
  const claimed = await Promise.all(candidates.map((object) => claimOne(adopter, object)));
  return claimed.filter((object) => object !== undefined);
}

async function claimOne<T extends KubeObject>(
  adopter: Adopter<T>,
  object: T,
): Promise<T | undefined> {
  const controller = controllerOf(object);
  const deleting = adopter.owner.metadata?.deletionTimestamp !== undefined;
  if (controller !== undefined) {
    if (controller.uid !== adopter.reference.uid) return undefined;
    if (adopter.matches(object)) return object;
    if (!deleting) await release(adopter, object);
    return undefined;
  }
  const free = object.metadata?.deletionTimestamp === undefined;
  return !deleting && free && adopter.matches(object) ? adopt(adopter, object) : undefined;
}

async function adopt<T extends KubeObject>(adopter: Adopter<T>, object: T): Promise<T | undefined> {
  const ownerReferences = [...(object.metadata?.ownerReferences ?? []), adopter.reference];
  return patchOwners(adopter, object, ownerReferences);
}

async function release<T extends KubeObject>(adopter: Adopter<T>, object: T): Promise<void> {
  const owners = object.metadata?.ownerReferences ?? [];
  const rest = owners.filter((owner) => owner.uid !== adopter.reference.uid);
  await patchOwners(adopter, object, rest);
}

async function patchOwners<T extends KubeObject>(
  adopter: Adopter<T>,
  object: T,
  ownerReferences: readonly OwnerReference[],
): Promise<T | undefined> {
  const { namespace = "", name = "", uid, resourceVersion } = object.metadata ?? {};
  const patch = { metadata: { uid, resourceVersion, ownerReferences } };
  try {
    return await adopter.client.patch<T>(adopter.ref, namespace, name, "merge", patch);
  } catch (error) {
    // Gone, or another object by now: not ours to claim. A conflict is retried by its next event.
    if (error instanceof ApiError && [404, 409, 422].includes(error.code)) return undefined;
    throw error;
  }
}
