/**
 * Kinds that this server stores but does not act on. What a user writes to deny something is refused,
 * because an object that silently denies nothing is a hole; what merely waits for a controller gets a
 * Warning header.
 *
 * Holds  no write puts one of the refused kinds in place or changes it, dry runs included. Objects of
 *        an older data directory can be read and deleted; one that is being deleted can be changed, so
 *        that its finalizers can go.
 * Why    a kind leaves this table in the change that makes it work.
 */
import type { AnyObject } from "#api/object.ts";
import { type ApiError, failure } from "#api/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

interface UnservedKind {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly onWrite: "refuse" | "warn";
  /** The rest of the sentence "KIND ...". */
  readonly why: string;
  /** Absent: every object of the kind. */
  readonly concerns?: (object: AnyObject) => boolean;
}

export const unservedKinds: readonly UnservedKind[] = [
  {
    group: "networking.k8s.io",
    resource: "servicecidrs",
    kind: "ServiceCIDR",
    onWrite: "warn",
    why: "is stored, but services get addresses of the server's own range only",
  },
  {
    group: "certificates.k8s.io",
    resource: "podcertificaterequests",
    kind: "PodCertificateRequest",
    onWrite: "warn",
    why: "is stored, but no signer of kubernetes.io runs here",
    concerns: (object) => signerOf(object).startsWith("kubernetes.io/"),
  },
  {
    group: "storagemigration.k8s.io",
    resource: "storageversionmigrations",
    kind: "StorageVersionMigration",
    onWrite: "warn",
    why: "is stored, but no controller here rewrites objects",
  },
  {
    group: "resource.k8s.io",
    resource: "devicetaintrules",
    kind: "DeviceTaintRule",
    onWrite: "warn",
    why: "is stored, but no controller here evicts pods by it",
  },
  ...["podgroups", "workloads"].map((resource): UnservedKind => {
    const kind = resource === "podgroups" ? "PodGroup" : "Workload";
    const why = "is stored, but this scheduler places pods one by one, not in groups";
    return { group: "scheduling.k8s.io", resource, kind, onWrite: "warn", why };
  }),
];

const byResource = new Map(unservedKinds.map((row) => [`${row.group}/${row.resource}`, row]));

/** The row of a resource, whatever its version; undefined for what works. */
export function unservedKind(info: {
  readonly group: string;
  readonly resource: string;
}): UnservedKind | undefined {
  return byResource.get(`${info.group}/${info.resource}`);
}

/** A sentence without a stop: `ValidatingAdmissionPolicy is not supported: ...`. */
export function unservedText({ kind, why }: UnservedKind): string {
  return `${kind} ${why}`;
}

/** First of all plugins: nothing else need judge what is not taken. */
export const unservedKindsPlugin: AdmissionPlugin = {
  name: "UnservedKinds",
  mutate(request) {
    const row = unservedKind(request.info);
    const object = request.object ?? {};
    if (row === undefined || row.concerns?.(object) === false || isLeaving(request)) return object;
    if (row.onWrite === "refuse") throw notImplemented(row, request);
    if (request.subresource === "") request.warn(unservedText(row));
    return object;
  },
};

function isLeaving({ oldObject }: AdmissionRequest): boolean {
  return oldObject?.metadata?.deletionTimestamp !== undefined;
}

function signerOf(object: AnyObject): string {
  const { signerName } = (object["spec"] ?? {}) as { readonly signerName?: unknown };
  return typeof signerName === "string" ? signerName : "";
}

/** HTTP's 501, which upstream has no reason for: kubectl prints reason and message as they are. */
function notImplemented(row: UnservedKind, request: AdmissionRequest): ApiError {
  const { group, resource } = row;
  const name = request.name === "" ? {} : { name: request.name };
  return failure(501, "NotImplemented", unservedText(row), { ...name, group, kind: resource });
}
