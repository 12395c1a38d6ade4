/**
 * Adoption and release, as upstream's ControllerRefManager: an orphan that matches the selector is adopted;
 * a dependent that no longer matches is released. Both patches name the uid and the resourceVersion, so
 * a namesake or a newer owner is never overwritten.
 *
 * Safe  before the first adoption the owner is read live: an owner that was deleted with its dependents
 *       orphaned must not adopt them again because of a stale cache.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";
import { controllerOf } from "#client/owner.ts";

export interface Adopter<T extends KubeObject> {
  readonly client: Client;
  /** Resource of the objects to adopt. */
  readonly ref: ResourceRef;
  readonly owner: KubeObject;
  readonly ownerRef: ResourceRef;
  readonly reference: OwnerReference;
  readonly matches: (object: T) => boolean;
  /** Finalizer added by adoption and removed by release. */
  readonly finalizer?: string;
  /** Called with each object written, so that the caller can wait until its cache contains it. */
  readonly onWrite?: (object: T) => void;
}

/**
 * Returns the objects of `candidates` that the owner controls after this call. Throws when an orphan could not be
 * adopted: if it did not count, one pod too many would be created.
 */
export async function claim<T extends KubeObject>(
  adopter: Adopter<T>,
  candidates: readonly T[],
): Promise<readonly T[]> {
  let live: Promise<boolean> | undefined;
  const mayAdopt = (): Promise<boolean> => (live ??= isLive(adopter));
  const claimed = await Promise.all(candidates.map((one) => claimOne(adopter, one, mayAdopt)));
  return claimed.filter((object) => object !== undefined);
}

async function isLive<T extends KubeObject>(adopter: Adopter<T>): Promise<boolean> {
  const { namespace = "", name = "", uid } = adopter.owner.metadata ?? {};
  try {
    const fresh = await adopter.client.get(adopter.ownerRef, namespace, name);
    return fresh.metadata?.uid === uid && fresh.metadata?.deletionTimestamp === undefined;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function claimOne<T extends KubeObject>(
  adopter: Adopter<T>,
  object: T,
  mayAdopt: () => Promise<boolean>,
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
  if (deleting || !free || !adopter.matches(object)) return undefined;
  return (await mayAdopt()) ? adopt(adopter, object) : undefined;
}

async function adopt<T extends KubeObject>(adopter: Adopter<T>, object: T): Promise<T | undefined> {
  const ownerReferences = [...(object.metadata?.ownerReferences ?? []), adopter.reference];
  const finalizers = new Set(object.metadata?.finalizers ?? []);
  if (adopter.finalizer !== undefined) finalizers.add(adopter.finalizer);
  return patchOwners(adopter, object, ownerReferences, [...finalizers]);
}

async function release<T extends KubeObject>(adopter: Adopter<T>, object: T): Promise<void> {
  const owners = object.metadata?.ownerReferences ?? [];
  const rest = owners.filter((owner) => owner.uid !== adopter.reference.uid);
  const finalizers = object.metadata?.finalizers ?? [];
  const kept = finalizers.filter((name) => name !== adopter.finalizer);
  await patchOwners(adopter, object, rest, kept);
}

async function patchOwners<T extends KubeObject>(
  adopter: Adopter<T>,
  object: T,
  ownerReferences: readonly OwnerReference[],
  finalizers: readonly string[],
): Promise<T | undefined> {
  const { namespace = "", name = "", uid, resourceVersion } = object.metadata ?? {};
  const marked = adopter.finalizer === undefined ? {} : { finalizers };
  const patch = { metadata: { uid, resourceVersion, ownerReferences, ...marked } };
  try {
    const written = await adopter.client.patch<T>(adopter.ref, namespace, name, "merge", patch);
    adopter.onWrite?.(written);
    return written;
  } catch (error) {
    // The object is gone or cannot be changed, so it cannot be claimed.
    if (error instanceof ApiError && (error.code === 404 || error.code === 422)) return undefined;
    throw error;
  }
}
