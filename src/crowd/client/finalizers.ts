/** Adds and removes finalizers by merge patches, which fail if the object has changed. */
import type { KubeObject } from "#api/object.ts";
import type { Client, ResourceRef } from "./client.ts";

export function hasFinalizer(object: KubeObject, name: string): boolean {
  return object.metadata?.finalizers?.includes(name) === true;
}

/** @returns the object with the finalizer. Sends no request when it already has it. */
export function addFinalizer<T extends KubeObject>(
  client: Client,
  ref: ResourceRef,
  object: T,
  name: string,
): Promise<T> {
  if (hasFinalizer(object, name)) return Promise.resolve(object);
  return patchFinalizers(client, ref, object, [...(object.metadata?.finalizers ?? []), name]);
}

/** The object may be gone afterwards. Sends no request when it does not have the finalizer. */
export function removeFinalizer<T extends KubeObject>(
  client: Client,
  ref: ResourceRef,
  object: T,
  name: string,
): Promise<T> {
  if (!hasFinalizer(object, name)) return Promise.resolve(object);
  const rest = (object.metadata?.finalizers ?? []).filter((each) => each !== name);
  return patchFinalizers(client, ref, object, rest);
}

/** A merge patch replaces the list, so it contains the resourceVersion it is based on. */
function patchFinalizers<T extends KubeObject>(
  client: Client,
  ref: ResourceRef,
  { metadata }: T,
  finalizers: readonly string[],
): Promise<T> {
  const patch = { metadata: { finalizers, resourceVersion: metadata?.resourceVersion } };
  return client.patch(ref, metadata?.namespace ?? "", metadata?.name ?? "", "merge", patch);
}
