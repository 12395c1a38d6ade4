/**
 * NodeRestriction on pods: a kubelet may create mirror pods of its static pods, delete and evict its own pods, and
 * update their status. A mirror pod must not name other objects: a node may read the objects that its pods name, and
 * the node itself writes the mirror pod.
 */
import type { Pod } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { apiReferenceOf } from "#api/pods/pod-references.ts";
import { notFound } from "#api/status.ts";
import { semanticEqual } from "#api/validation/equal.ts";
import type { AdmissionRequest } from "./admission.ts";
import { changedKeys } from "./node-restriction-nodes.ts";
import { quote, forbiddenError } from "./request.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";

interface Deps {
  readonly lookup: Lister;
}

export function checkPod(request: AdmissionRequest, node: string, deps: Deps): void {
  switch (request.subresource) {
    case "":
      checkMirrorPod(request, node, deps.lookup);
      return;
    case "status":
      checkPodStatus(request, node);
      return;
    case "eviction":
      checkEviction(request, node, deps.lookup);
      return;
    default:
      throw forbiddenError(
        request,
        `unexpected pod subresource ${quote(request.subresource)}, only 'status' and 'eviction' are allowed`,
      );
  }
}

/** @throws ApiError 404 with the text of upstream's lister, which says `pod`. */
export function findPod(lookup: Lister, namespace: string, name: string): Pod {
  const pod = lookup.get({ group: "", resource: "pods" }, namespace, name);
  if (pod === undefined) throw notFound({ group: "", resource: "pod" }, name);
  return pod;
}

function checkMirrorPod(request: AdmissionRequest, node: string, lookup: Lister): void {
  if (request.operation === "DELETE") {
    const pod =
      (request.oldObject as Pod | undefined) ?? findPod(lookup, request.namespace, request.name);
    if (pod.spec?.nodeName === node) return;
    throw forbiddenError(
      request,
      `node ${quote(node)} can only delete pods with spec.nodeName set to itself`,
    );
  }
  if (request.operation !== "CREATE") {
    throw forbiddenError(
      request,
      `unexpected operation ${quote(request.operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  }
  const pod = request.object as Pod;
  const fault = ownerFault(pod, node, lookup) ?? referenceFault(pod, node);
  if (fault !== undefined) throw forbiddenError(request, fault);
}

function ownerFault(pod: Pod, node: string, lookup: Lister): string | undefined {
  const subject = `node ${quote(node)}`;
  if (pod.metadata?.annotations?.[mirrorAnnotation] === undefined) {
    return `pod does not have ${quote(mirrorAnnotation)} annotation, ${subject} can only create mirror pods`;
  }
  if (pod.spec?.nodeName !== node) {
    return `${subject} can only create pods with spec.nodeName set to itself`;
  }
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) {
    return `${subject} can only create pods with a single owner reference set to itself`;
  }
  const own = owner?.apiVersion === "v1" && owner.kind === "Node" && owner.name === node;
  if (owner === undefined || !own) {
    return `${subject} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `${subject} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) {
    return `${subject} must not set blockOwnerDeletion on an owner reference`;
  }
  return uidFault(owner.uid, node, lookup);
}

function uidFault(uid: string, node: string, lookup: Lister): string | undefined {
  const stored = lookup.get({ group: "", resource: "nodes" }, "", node);
  if (stored === undefined) throw notFound({ group: "", resource: "node" }, node);
  const actual = stored.metadata?.uid ?? "";
  return uid === actual ? undefined : `node ${node} UID mismatch: expected ${uid} got ${actual}`;
}

function referenceFault(pod: Pod, node: string): string | undefined {
  const found = apiReferenceOf(pod as AnyObject);
  switch (found.kind) {
    case "none":
      return undefined;
    case "reference":
      return `node ${quote(node)} can not create pods that reference ${found.resource}`;
    case "unknown":
      return `error checking mirror pod for API references: ${found.fault}`;
  }
}

function checkPodStatus(request: AdmissionRequest, node: string): void {
  if (request.operation !== "UPDATE") {
    throw forbiddenError(request, `unexpected operation ${quote(request.operation)}`);
  }
  const fault = statusFault(request.object as Pod, request.oldObject as Pod | undefined, node);
  if (fault !== undefined) throw forbiddenError(request, fault);
}

function statusFault(next: Pod, old: Pod | undefined, node: string): string | undefined {
  const subject = `node ${quote(node)}`;
  if (old?.spec?.nodeName !== node) {
    return `${subject} can only update pod status for pods with spec.nodeName set to itself`;
  }
  if (changedKeys(next.metadata?.labels, old.metadata?.labels).length > 0) {
    return `${subject} cannot update labels through pod status`;
  }
  // Names of claims in the status determine the claims that the node may read.
  if (
    !semanticEqual(
      next.status?.resourceClaimStatuses ?? [],
      old.status?.resourceClaimStatuses ?? [],
    )
  ) {
    return `${subject} cannot update resource claim statues`;
  }
  if (
    !semanticEqual(
      next.status?.extendedResourceClaimStatus,
      old.status?.extendedResourceClaimStatus,
    )
  ) {
    return `${subject} cannot update extended resource claim status`;
  }
  return undefined;
}

function checkEviction(request: AdmissionRequest, node: string, lookup: Lister): void {
  if (request.operation !== "CREATE") {
    throw forbiddenError(request, `unexpected operation ${request.operation}`);
  }
  const name = request.name || (request.object?.metadata?.name ?? "");
  if (name === "") throw forbiddenError(request, "could not determine pod from request data");
  if (findPod(lookup, request.namespace, name).spec?.nodeName === node) return;
  throw forbiddenError(
    request,
    `node ${node} can only evict pods with spec.nodeName set to itself`,
  );
}
