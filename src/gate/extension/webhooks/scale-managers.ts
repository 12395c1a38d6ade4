/**
 * managedFields of a Scale as a mutating webhook sees it: the managers of the object's replicas.
 * After  apimachinery pkg/util/managedfields/scalehandler.go.
 */
import { getField, isJsonObject } from "#api/json/json-value.ts";
import type { AnyObject, ManagedFieldsEntry } from "#api/object.ts";

/** Adds the managers of the replicas. `path`: path of the replicas in `object`, to which the scale belongs. */
export function withScaleManagers(
  scale: AnyObject,
  { metadata = {} }: AnyObject,
  path: readonly string[],
): AnyObject {
  const owning = (metadata.managedFields ?? []).filter((entry) => ownsPath(entry, path));
  if (owning.length === 0) return scale;
  const managedFields = owning.map((entry) => ({ ...entry, ...scaleFields }));
  return { ...scale, metadata: { ...scale.metadata, managedFields } };
}

const scaleFields = {
  apiVersion: "autoscaling/v1",
  fieldsV1: { "f:spec": { "f:replicas": {} } },
};

function ownsPath({ fieldsV1 }: ManagedFieldsEntry, path: readonly string[]): boolean {
  const found = path.reduce<unknown>(
    (fields, name) => (isJsonObject(fields) ? getField(fields, `f:${name}`) : undefined),
    fieldsV1,
  );
  return found !== undefined;
}
