/** managedFields after mutating webhooks: what they broke is put back, with upstream's warning. */
import type { AdmissionRequest } from "#admission/admission.ts";
import { isRecord } from "#api/json-value.ts";
import type { AnyObject } from "#api/object.ts";

const operations: ReadonlySet<unknown> = new Set(["Apply", "Update"]);

export function checkManagedFields(request: AdmissionRequest, object: AnyObject): AnyObject {
  const before = request.object?.metadata?.managedFields;
  const after: unknown = object.metadata?.managedFields;
  if (after === before) return object;
  const fault = faultOf(after);
  if (fault === undefined) return object;
  request.warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${fault}`,
  );
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  return {
    ...object,
    metadata: before === undefined ? metadata : { ...metadata, managedFields: before },
  };
}

function faultOf(entries: unknown): string | undefined {
  if (entries === undefined || entries === null) return undefined;
  if (!Array.isArray(entries)) return "managedFields is no list";
  for (const entry of entries as readonly unknown[]) {
    if (!isRecord(entry)) return "error decoding managed fields: an entry is no object";
    const { operation, fieldsType, fieldsV1 } = entry;
    if (!operations.has(operation)) {
      return `error decoding manager from managed fields entry: operation must be either \`Apply\` or \`Update\``;
    }
    if (fieldsType !== undefined && fieldsType !== "" && fieldsType !== "FieldsV1")
      return `error decoding FieldsV1: fieldsType must be \`FieldsV1\``;
    if (fieldsV1 !== undefined && fieldsV1 !== null && !isRecord(fieldsV1))
      return "error decoding FieldsV1: it is no object";
  }
  return undefined;
}
