/**
 * Lists the kinds that this server stores but does not act on. The answer to a write of such a kind has a Warning
 * header.
 *
 * Why    the change that implements a kind removes it from this table.
 */
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

interface UnservedKind {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  /** The rest of the sentence that begins with the kind. */
  readonly why: string;
  /** Absent: concerns every object of the kind. */
  readonly concerns?: (object: AnyObject) => boolean;
  /** No warning when this feature gate is on. */
  readonly gate?: string;
}

const unservedKinds: readonly UnservedKind[] = [
  {
    group: "certificates.k8s.io",
    resource: "podcertificaterequests",
    kind: "PodCertificateRequest",
    why: "is stored, but no signer of kubernetes.io runs here",
    concerns: (object) => signerOf(object).startsWith("kubernetes.io/"),
  },
  {
    group: "storagemigration.k8s.io",
    resource: "storageversionmigrations",
    kind: "StorageVersionMigration",
    why: "is stored, but no controller here rewrites objects",
  },
  {
    group: "resource.k8s.io",
    resource: "devicetaintrules",
    kind: "DeviceTaintRule",
    why: "is stored, but no controller here evicts pods by it",
  },
  ...["podgroups", "workloads"].map((resource): UnservedKind => {
    const kind = resource === "podgroups" ? "PodGroup" : "Workload";
    const gate = "GenericWorkload";
    const why = `is stored, but pods lose spec.schedulingGroup while the feature gate ${gate} is off`;
    return { group: "scheduling.k8s.io", resource, kind, why, gate };
  }),
];

const byResource = new Map(unservedKinds.map((row) => [`${row.group}/${row.resource}`, row]));

/** Runs before all other plugins. */
export const unservedKindsPlugin: AdmissionPlugin = {
  name: "UnservedKinds",
  mutate(request) {
    const { group, resource } = request.info;
    const row = byResource.get(`${group}/${resource}`);
    const object = request.object ?? {};
    if (row === undefined || row.concerns?.(object) === false || isLeaving(request)) return object;
    if (row.gate !== undefined && request.info.gates?.has(row.gate) === true) return object;
    if (request.subresource === "") request.warn(`${row.kind} ${row.why}`);
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
