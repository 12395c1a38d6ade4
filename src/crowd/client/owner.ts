/** Owner references: the controller of an object, and the reference that a controller writes. */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { apiVersionOf, type GroupVersionKind } from "#api/object.ts";
import { keyOf } from "./indexer.ts";
import type { Informer } from "./informer.ts";

/** The reference that makes `owner` the controller of the objects it creates. */
export function controllerReference(gvk: GroupVersionKind, owner: KubeObject): OwnerReference {
  return {
    apiVersion: apiVersionOf(gvk),
    kind: gvk.kind,
    name: owner.metadata?.name ?? "",
    uid: owner.metadata?.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((owner) => owner.controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata?.uid;
}

/** `namespace/name` of the object's controller when it is of `kind` in `group`, else undefined. */
export function controllerKey(
  object: KubeObject,
  gvk: { readonly group: string; readonly kind: string },
): string | undefined {
  const owner = controllerOf(object);
  if (owner === undefined || owner.kind !== gvk.kind) return undefined;
  const group = owner.apiVersion.includes("/") ? (owner.apiVersion.split("/")[0] ?? "") : "";
  return group === gvk.group ? `${object.metadata?.namespace ?? ""}/${owner.name}` : undefined;
}

/**
 * Returns a function from an object to the keys of the `owners` that it wakes: its controller, if that is of their
 * kind. An object without a controller wakes all owners of its namespace that would adopt it.
 */
export function ownerKeys<O extends KubeObject, T extends KubeObject>(
  owners: Pick<Informer<O>, "list">,
  gvk: { readonly group: string; readonly kind: string },
  selects: (owner: O, object: T) => boolean,
): (object: T) => readonly string[] {
  return (object) => {
    if (controllerOf(object) !== undefined) {
      const key = controllerKey(object, gvk);
      return key === undefined ? [] : [key];
    }
    const inNamespace = owners.list(object.metadata?.namespace);
    return inNamespace.filter((owner) => selects(owner, object)).map(keyOf);
  };
}
