/**
 * Server-side apply of a Scale. The owners of the object's replicas field are shown as owners of the Scale's field
 * (`#api/apply/scale-managers.ts`). Their other fields of the object are not part of the merge.
 */
import { applyPatch } from "#api/apply/field-manager.ts";
import { managersAfterScale, type ReplicasPath, scaleManagers } from "#api/apply/scale-managers.ts";
import type { AnyObject, ManagedFieldsEntry } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { RequestContext } from "#server/context.ts";
import { checkKind, typesOfKind } from "./builtin-kind.ts";
import { conversionFault } from "./apply.ts";
import { managerOf } from "./managed.ts";
import type { StoredKind } from "./stored-kind.ts";
import type { WriteQuery } from "./write-options.ts";

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };
const scaleTypes = typesOfKind(scaleKind);
const replicasPath = ["spec", "replicas"];

type Entries = readonly ManagedFieldsEntry[] | undefined;

interface ScaleToApply {
  /** The stored object. */
  readonly current: AnyObject;
  /** Scale of the stored object. */
  readonly before: AnyObject;
  readonly configuration: AnyObject;
}

/** Returns the new Scale and the managedFields of its object. @throws ApiError 400, 409, 500. */
export function applyToScale(
  context: RequestContext,
  query: WriteQuery,
  kind: StoredKind,
  { current, before, configuration }: ScaleToApply,
): { readonly scale: AnyObject; readonly managedFields: Entries } {
  const pathOf = replicasPathOf(kind);
  const entries = current.metadata?.managedFields;
  const { object } = applyPatch(
    { types: scaleTypes, apiVersion: "autoscaling/v1", subresource: "scale", resetFields: [] },
    {
      live: withManagedFields(before, scaleManagers(entries, pathOf)),
      applied: configuration,
      manager: managerOf(context, query),
      force: query.force ?? false,
      nowMs: context.nowMs,
    },
  );
  const scaleEntries = object.metadata?.managedFields;
  const { apiVersion } = kind;
  return {
    scale: decoded(object, configuration),
    managedFields: managersAfterScale({ entries, scaleEntries, pathOf, apiVersion }),
  };
}

function decoded(merged: AnyObject, configuration: AnyObject): AnyObject {
  try {
    return checkKind(scaleKind, merged, undefined).object;
  } catch (error) {
    throw error instanceof ApiError ? conversionFault(error, configuration, scaleKind) : error;
  }
}

/** Path of the replicas by version. In built-in kinds it is the same in all versions of the group. */
function replicasPathOf({ custom, resource }: StoredKind): ReplicasPath {
  if (custom?.scale !== undefined) return custom.scale.pathOf;
  const { group } = resource;
  const groupOf = (apiVersion: string): string =>
    apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return (apiVersion) => (groupOf(apiVersion) === group ? replicasPath : undefined);
}

export function withManagedFields(object: AnyObject, managedFields: Entries): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  return {
    ...object,
    metadata: managedFields === undefined ? metadata : { ...metadata, managedFields },
  };
}
