/**
 * NodeRestriction: makes the checks for which the node authorizer would need the body. A kubelet may write its own
 * node, lease, CSINode and resource slices, its mirror pods, and the status of its pods and of their claims. It may
 * request tokens and certificates bound to its pods.
 *
 * After  upstream plugin/pkg/admission/noderestriction/admission.go, 1.36; the error texts must match.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { semanticEqual } from "#api/validation/equal.ts";
import type { Fields } from "#api/validation/fields.ts";
import { part, text, without } from "#api/validation/fields.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { ReadCertificateRequest } from "./certificate-reader.ts";
import {
  checkPodCertificateRequest,
  checkSigningRequest,
} from "./node-restriction-certificates.ts";
import { checkNode } from "./node-restriction-nodes.ts";
import { checkPod } from "./node-restriction-pods.ts";
import { checkToken } from "./node-restriction-tokens.ts";
import { quote, forbiddenError } from "./request.ts";

const userPrefix = "system:node:";
const nodesGroup = "system:nodes";
const leaseNamespace = "kube-node-lease";

interface NodeRestrictionDeps {
  readonly lookup: Lister;
  readonly access: Access;
  readonly readCertificateRequest: ReadCertificateRequest;
}

type Check = (
  request: AdmissionRequest,
  node: string,
  deps: NodeRestrictionDeps,
) => void | Promise<void>;

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["/pods", checkPod],
  ["/nodes", checkNode],
  ["/persistentvolumeclaims", checkClaim],
  ["/serviceaccounts", checkToken],
  ["certificates.k8s.io/certificatesigningrequests", checkSigningRequest],
  ["certificates.k8s.io/podcertificaterequests", checkPodCertificateRequest],
  ["coordination.k8s.io/leases", checkLease],
  ["resource.k8s.io/resourceslices", checkSlice],
  ["storage.k8s.io/csinodes", checkCsiNode],
]);

export function nodeRestriction(deps: NodeRestrictionDeps): AdmissionPlugin {
  const check = (request: AdmissionRequest): void | Promise<void> => {
    const node = nodeOf(request.user);
    if (node === undefined || request.operation === "CONNECT") return;
    if (node === "") {
      throw forbiddenError(
        request,
        `could not determine node from user ${quote(request.user.name)}`,
      );
    }
    return checks.get(`${request.info.group}/${request.info.resource}`)?.(request, node, deps);
  };
  return {
    name: "NodeRestriction",
    mutate(request: AdmissionRequest): AnyObject | Promise<AnyObject> {
      const object = request.object ?? {};
      return check(request)?.then(() => object) ?? object;
    },
    // Checks deletions, which have no mutating pass.
    validate(request: AdmissionRequest): void | Promise<void> {
      return request.operation === "DELETE" ? check(request) : undefined;
    },
  };
}

/** The node's name; "" when it has none; undefined when the user is not a node. */
function nodeOf(user: UserInfo): string | undefined {
  const isNode = user.name.startsWith(userPrefix) && user.groups.includes(nodesGroup);
  return isNode ? user.name.slice(userPrefix.length) : undefined;
}

/** The fields of a claim's status that a kubelet may write; it may write nothing else, especially not metadata. */
const claimReports = ["capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"];
const serverMetadata = ["resourceVersion", "managedFields"];

function checkClaim(request: AdmissionRequest, node: string): void {
  if (request.subresource !== "status") throw forbiddenError(request, "may only update PVC status");
  if (request.operation !== "UPDATE") throw unexpectedOperation(request);
  const next = withoutReports(request.object ?? {});
  const old = withoutReports(request.oldObject ?? {});
  if (semanticEqual(next, old)) return;
  const changed = Object.keys({ ...old, ...next }).filter(
    (field) => !semanticEqual(old[field], next[field]),
  );
  throw forbiddenError(
    request,
    `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions: ${changed.join(", ")}`,
  );
}

function withoutReports(claim: AnyObject): Fields {
  return {
    ...claim,
    metadata: without(part(claim, "metadata"), serverMetadata),
    status: without(part(claim, "status"), claimReports),
  };
}

function unexpectedOperation(request: AdmissionRequest) {
  return forbiddenError(request, `unexpected operation ${quote(request.operation)}`);
}

/** On create, the name is in the body. */
function nameOf(request: AdmissionRequest): string {
  return request.operation === "CREATE"
    ? (request.object?.metadata?.name ?? "")
    : request.name || (request.oldObject?.metadata?.name ?? "");
}

function checkLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== leaseNamespace) {
    throw forbiddenError(
      request,
      `can only access leases in the "${leaseNamespace}" system namespace`,
    );
  }
  if (nameOf(request) === node) return;
  throw forbiddenError(
    request,
    "can only access node lease with the same name as the requesting node",
  );
}

function checkCsiNode(request: AdmissionRequest, node: string): void {
  if (nameOf(request) === node) return;
  throw forbiddenError(
    request,
    "can only access CSINode with the same name as the requesting node",
  );
}

/** Also runs for each slice of a deletecollection, for which the authorizer sees only the selector. */
function checkSlice(request: AdmissionRequest, node: string): void {
  if (request.operation === "UPDATE") return;
  const isCreate = request.operation === "CREATE";
  const slice = (isCreate ? request.object : request.oldObject) ?? {};
  if (text(part(slice, "spec"), "nodeName") === node) return;
  const verb = isCreate ? "create" : "delete";
  throw forbiddenError(
    request,
    `can only ${verb} ResourceSlice with the same NodeName as the requesting node`,
  );
}
