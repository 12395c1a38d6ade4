/**
 * Lists the fields that a write through an endpoint cannot change, because the strategy copies them from the stored
 * object. A writer does not become an owner of them. Source: `GetResetFields` of the strategies in pkg/registry, 1.36.
 */
import type { ServedKind } from "./kind.ts";

type Paths = readonly (readonly string[])[];

const status: Paths = [["status"]];
const spec: Paths = [["spec"]];
const specAndMetadata: Paths = [["spec"], ["metadata"]];

/** Endpoints other than `status` for the object and `spec` for its status. By key: `resource/subresource.group`. */
const special: ReadonlyMap<string, Paths> = new Map(
  Object.entries({
    "namespaces/finalize": status,
    "pods/status": [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]],
    "apiservices/status.apiregistration.k8s.io": specAndMetadata,
    "deployments/status.apps": [["spec"], ["metadata", "labels"]],
    "certificatesigningrequests.certificates.k8s.io": [["spec"], ["status"]],
    "certificatesigningrequests/status.certificates.k8s.io": [["spec"], ["status", "conditions"]],
    "certificatesigningrequests/approval.certificates.k8s.io": [
      ["spec"],
      ["status", "certificate"],
    ],
    "podcertificaterequests.certificates.k8s.io": [],
    "servicecidrs/status.networking.k8s.io": specAndMetadata,
    "volumeattachments/status.storage.k8s.io": specAndMetadata,
  }),
);

/** Groups whose status endpoints leave the metadata unchanged. */
const metadataKept: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "internal.apiserver.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storagemigration.k8s.io",
]);

/** Paths of the fields that a write to an endpoint resets. */
export function listResetFields({ resource }: ServedKind, subresource: string): Paths {
  const { group } = resource;
  if (resource.isCustom === true && subresource !== "") {
    return subresource === "status" ? specAndMetadata : [];
  }
  const endpoint = subresource === "" ? resource.resource : `${resource.resource}/${subresource}`;
  const known = special.get(group === "" ? endpoint : `${endpoint}.${group}`);
  if (known !== undefined) return known;
  if (subresource === "status") return metadataKept.has(group) ? specAndMetadata : spec;
  const hasStatus = resource.subresources.some(({ name }) => name === "status");
  return subresource === "" && hasStatus ? status : [];
}
