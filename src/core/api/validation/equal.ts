/**
 * Semantic equality, as upstream compares decoded structs: values that Go decodes to the same value are
 * equal. Absent, null, an empty list, "", 0 and false are equal for plain fields. Fields that are
 * pointers upstream distinguish absent from zero. An empty object is a value unless it is a map or a
 * plain struct. Used to decide on generation and immutability. Cost: linear in both values.
 */

/** Fields where zero differs from absent: Go pointers to scalars, by field name. */
const pointerScalars = new Set([
  "activeDeadlineSeconds",
  "allocateLoadBalancerNodePorts",
  "allowPrivilegeEscalation",
  "automountServiceAccountToken",
  "backoffLimit",
  "backoffLimitPerIndex",
  "blockOwnerDeletion",
  "completions",
  "controller",
  "defaultMode",
  "enableServiceLinks",
  "expirationSeconds",
  "fsGroup",
  "hostProcess",
  "hostUsers",
  "immutable",
  "lun",
  "maxFailedIndexes",
  "maxReplicas",
  "maxSurge",
  "maxUnavailable",
  "minAvailable",
  "minReplicas",
  "mode",
  "optional",
  "parallelism",
  "partition",
  "priority",
  "privileged",
  "progressDeadlineSeconds",
  "readOnlyRootFilesystem",
  "ready",
  "replicas",
  "revisionHistoryLimit",
  "runAsGroup",
  "runAsNonRoot",
  "runAsUser",
  "serving",
  "setHostnameAsFQDN",
  "shareProcessNamespace",
  "stabilizationWindowSeconds",
  "startingDeadlineSeconds",
  "storageClassName",
  "succeededCount",
  "suspend",
  "terminating",
  "terminationGracePeriodSeconds",
  "tolerationSeconds",
  "ttlSecondsAfterFinished",
  "volumeAttributesClassName",
]);

/** Fields where {} equals absent: maps and structs that are not pointers, by field name. */
const plainObjects = new Set([
  "allocatable",
  "allocatedResources",
  "annotations",
  "binaryData",
  "capacity",
  "data",
  "default",
  "defaultRequest",
  "hard",
  "labels",
  "limits",
  "matchLabels",
  "max",
  "metadata",
  "min",
  "nodeSelector",
  "options",
  "overhead",
  "parameters",
  "requests",
  "resources",
  "status",
  "strategy",
  "updateStrategy",
  "used",
  "volumeAttributes",
]);

export function semanticEqual(a: unknown, b: unknown): boolean {
  return equalAt("", a, b);
}

/** Two values have equal keys exactly if `semanticEqual` holds; for Sets and Maps. */
export function semanticKey(value: unknown): string {
  return keyAt("", value) ?? "";
}

/** Undefined for values that count as absent. */
function keyAt(field: string, value: unknown): string | undefined {
  if (isAbsent(field, value)) return undefined;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(keyOfItem).join(",")}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  const parts: string[] = [];
  for (const name of Object.keys(fields).sort()) {
    const key = keyAt(name, fields[name]);
    if (key !== undefined) parts.push(`${JSON.stringify(name)}:${key}`);
  }
  return `{${parts.join(",")}}`;
}

function keyOfItem(item: unknown): string {
  if (typeof item !== "object") return JSON.stringify(item);
  return keyAt("", item) ?? "";
}

function equalAt(field: string, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isAbsent(field, a)) return isAbsent(field, b);
  if (isAbsent(field, b)) return false;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return a === b;
  }
  if (Array.isArray(a) || Array.isArray(b)) return equalLists(a, b);
  return equalObjects(a as Record<string, unknown>, b as Record<string, unknown>);
}

function isAbsent(field: string, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === "object") {
    if (Array.isArray(value)) return value.length === 0;
    return plainObjects.has(field) && Object.keys(value).length === 0;
  }
  return (value === "" || value === 0 || value === false) && !pointerScalars.has(field);
}

function equalLists(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, at) => item === b[at] || equalItems(item, b[at]));
}

/** Items of a list are never absent, so "" and 0 count. */
function equalItems(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  return equalAt("", a, b);
}

function equalObjects(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const field in a) {
    if (!equalAt(field, a[field], b[field])) return false;
  }
  for (const field in b) {
    if (!Object.hasOwn(a, field) && !isAbsent(field, b[field])) return false;
  }
  return true;
}
