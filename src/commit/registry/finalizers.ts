/**
 * The finalizers that delay the removal of an object: metadata.finalizers, and for namespaces spec.finalizers too;
 * and the effect of a delete's propagation policy on them.
 */
import { isNamespaceResource, type AnyObject, type ObjectMeta } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { DeleteOptions } from "./resource-store.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

/** spec.finalizers of a namespace, which its `finalize` subresource empties. */
export function namespaceFinalizers(namespace: AnyObject): readonly unknown[] {
  const spec = namespace["spec"] as { readonly finalizers?: readonly unknown[] } | undefined;
  return spec?.finalizers ?? [];
}

/** Whether any finalizer is left. */
export function isHeld(info: ResourceInfo, object: AnyObject): boolean {
  if ((object.metadata?.finalizers ?? []).length > 0) return true;
  return isNamespaceResource(info) && namespaceFinalizers(object).length > 0;
}

/**
 * Returns the finalizers after a delete with `options`: the client's choice overrides an existing
 * finalizer, which overrides the kind's default.
 */
export function finalizersForDelete(
  metadata: ObjectMeta,
  options: DeleteOptions,
  defaultPropagation: "Background" | "Orphan",
): readonly string[] {
  const before = metadata.finalizers ?? [];
  const kept = before.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const policy = propagation(before, options, defaultPropagation);
  if (policy === "Orphan") kept.push(orphanFinalizer);
  if (policy === "Foreground") kept.push(foregroundFinalizer);
  const same = kept.length === before.length && kept.every((name) => before.includes(name));
  return same ? before : kept;
}

function propagation(
  finalizers: readonly string[],
  options: DeleteOptions,
  defaultPropagation: "Background" | "Orphan",
): "Orphan" | "Background" | "Foreground" {
  if (options.orphanDependents !== undefined) {
    return options.orphanDependents ? "Orphan" : "Background";
  }
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  for (const name of finalizers) {
    if (name === orphanFinalizer) return "Orphan";
    if (name === foregroundFinalizer) return "Foreground";
  }
  return defaultPropagation;
}
