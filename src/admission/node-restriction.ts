/**
 * NodeRestriction: what the node authorizer could not see before the body was read. A kubelet writes its
 * own node, lease and CSINode, mirror pods of its own, the status of its pods, and asks for tokens bound to
 * them.
 */
import { ownEntry } from "#base/own.ts";
import type { Lease, Node, Pod } from "#api/gen/types.ts";
import type { Lookup } from "#api/lookup.ts";
import type { AnyObject } from "#api/object.ts";
import { notFound } from "#api/status.ts";
import type { UserInfo } from "#platform/http.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { quote, refusal } from "./request.ts";

const userPrefix = "system:node:";
const nodesGroup = "system:nodes";
const mirrorAnnotation = "kubernetes.io/config.mirror";
const leaseNamespace = "kube-node-lease";
const restrictedNamespace = "node-restriction.kubernetes.io";

/** Labels of Kubernetes' own namespaces a kubelet may set on its node. */
const kubeletLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
]);
const kubeletLabelNamespaces = ["kubelet.kubernetes.io", "node.kubernetes.io"];

type Check = (request: AdmissionRequest, node: string, lookup: Lookup) => void;

const checks: Readonly<Record<string, Check>> = {
  "/pods": checkPod,
  "/nodes": checkNode,
  "/persistentvolumeclaims": checkClaim,
  "/serviceaccounts": checkToken,
  "coordination.k8s.io/leases": checkLease,
  "storage.k8s.io/csinodes": checkCsiNode,
};

export function nodeRestriction(deps: { readonly lookup: Lookup }): AdmissionPlugin {
  const check = (request: AdmissionRequest): void => {
    const node = nodeOf(request.user);
    if (node === undefined) return;
    if (node === "") {
      throw refusal(request, `could not determine node from user ${quote(request.user.name)}`);
    }
    ownEntry(checks, `${request.info.group}/${request.info.resource}`)?.(
      request,
      node,
      deps.lookup,
    );
  };
  return {
    name: "NodeRestriction",
    mutate(request: AdmissionRequest): AnyObject {
      check(request);
      return request.object ?? {};
    },
    // Deletions have no mutating pass.
    validate(request: AdmissionRequest): void {
      if (request.operation === "DELETE") check(request);
    },
  };
}

/** The node's name, "" when it has none, undefined when the user is no node. */
function nodeOf(user: UserInfo): string | undefined {
  const isNode = user.name.startsWith(userPrefix) && user.groups.includes(nodesGroup);
  return isNode ? user.name.slice(userPrefix.length) : undefined;
}

function podOf(lookup: Lookup, namespace: string, name: string): Pod {
  const pod = lookup.get({ group: "", resource: "pods" }, namespace, name);
  if (pod === undefined) throw notFound({ group: "", resource: "pods" }, name);
  return pod;
}

function checkPod(request: AdmissionRequest, node: string, lookup: Lookup): void {
  switch (request.subresource) {
    case "":
      checkMirrorPod(request, node, lookup);
      return;
    case "status":
      checkPodStatus(request, node);
      return;
    case "eviction":
      if (podOf(lookup, request.namespace, request.name).spec?.nodeName === node) return;
      throw refusal(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
    default:
      throw refusal(
        request,
        `unexpected pod subresource ${quote(request.subresource)}, only 'status' and 'eviction' are allowed`,
      );
  }
}

function checkMirrorPod(request: AdmissionRequest, node: string, lookup: Lookup): void {
  if (request.operation === "DELETE") {
    const pod = podOf(lookup, request.namespace, request.name);
    if (pod.spec?.nodeName === node) return;
    throw refusal(
      request,
      `node ${quote(node)} can only delete pods with spec.nodeName set to itself`,
    );
  }
  if (request.operation !== "CREATE") {
    throw refusal(
      request,
      `unexpected operation ${quote(request.operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  }
  const fault = mirrorFault(request.object as Pod, node, lookup);
  if (fault !== undefined) throw refusal(request, fault);
}

function mirrorFault(pod: Pod, node: string, lookup: Lookup): string | undefined {
  const who = `node ${quote(node)}`;
  if (pod.metadata?.annotations?.[mirrorAnnotation] === undefined) {
    return `pod does not have ${quote(mirrorAnnotation)} annotation, ${who} can only create mirror pods`;
  }
  if (pod.spec?.nodeName !== node) {
    return `${who} can only create pods with spec.nodeName set to itself`;
  }
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) {
    return `${who} can only create pods with a single owner reference set to itself`;
  }
  const own = owner?.apiVersion === "v1" && owner.kind === "Node" && owner.name === node;
  if (owner === undefined || !own) {
    return `${who} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `${who} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) {
    return `${who} must not set blockOwnerDeletion on an owner reference`;
  }
  const stored = lookup.get({ group: "", resource: "nodes" }, "", node);
  if (stored === undefined) throw notFound({ group: "", resource: "nodes" }, node);
  const uid = stored.metadata?.uid ?? "";
  return owner.uid === uid
    ? undefined
    : `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
}

function checkPodStatus(request: AdmissionRequest, node: string): void {
  const old = request.oldObject as Pod | undefined;
  const next = request.object as Pod | undefined;
  if (old?.spec?.nodeName !== node) {
    throw refusal(
      request,
      `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`,
    );
  }
  if (changedKeys(next?.metadata?.labels, old.metadata?.labels).length > 0) {
    throw refusal(request, `node ${quote(node)} cannot update labels through pod status`);
  }
}

function checkNode(request: AdmissionRequest, node: string): void {
  const name = request.name || (request.object?.metadata?.name ?? "");
  if (name !== node) {
    throw refusal(request, `node ${quote(node)} is not allowed to modify node ${quote(name)}`);
  }
  const next = request.object as Node | undefined;
  const old = request.oldObject as Node | undefined;
  if (request.operation === "CREATE") {
    const labels = forbiddenLabels(changedKeys(next?.metadata?.labels, undefined));
    if (labels.length === 0) return;
    const list = labels.join(", ");
    throw refusal(
      request,
      `node ${quote(node)} is not allowed to set the following labels: ${list}`,
    );
  }
  if (request.operation !== "UPDATE") return;
  if (!sameJson(next?.spec?.taints ?? [], old?.spec?.taints ?? [])) {
    throw refusal(request, `node ${quote(node)} is not allowed to modify taints`);
  }
  if (!sameJson(next?.metadata?.ownerReferences ?? [], old?.metadata?.ownerReferences ?? [])) {
    throw refusal(request, `node ${quote(node)} is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenLabels(changedKeys(next?.metadata?.labels, old?.metadata?.labels));
  if (labels.length === 0) return;
  throw refusal(request, `is not allowed to modify labels: ${labels.join(", ")}`);
}

type Texts = Readonly<Record<string, string>>;

function changedKeys(next: Texts = {}, old: Texts = {}): readonly string[] {
  const keys = new Set([...Object.keys(next), ...Object.keys(old)]);
  return [...keys].filter((key) => ownEntry(next, key) !== ownEntry(old, key));
}

function forbiddenLabels(keys: readonly string[]): readonly string[] {
  return keys.filter(isForbiddenLabel).toSorted();
}

function isForbiddenLabel(key: string): boolean {
  const namespace = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const within = (domain: string): boolean =>
    namespace === domain || namespace.endsWith(`.${domain}`);
  if (within(restrictedNamespace)) return true;
  if (!within("kubernetes.io") && !within("k8s.io")) return false;
  return !kubeletLabels.has(key) && !kubeletLabelNamespaces.some(within);
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function checkClaim(request: AdmissionRequest): void {
  if (request.subresource !== "status") throw refusal(request, "may only update PVC status");
}

interface TokenRequest {
  readonly spec?: {
    readonly boundObjectRef?: {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly name?: string;
      readonly uid?: string;
    };
  };
}

function checkToken(request: AdmissionRequest, node: string, lookup: Lookup): void {
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const ref = (request.object as TokenRequest | undefined)?.spec?.boundObjectRef;
  const name = ref?.name ?? "";
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || name === "") {
    throw refusal(request, "node requested token not bound to a pod");
  }
  const uid = ref.uid ?? "";
  if (uid === "") throw refusal(request, "node requested token with a pod binding without a uid");
  const pod = podOf(lookup, request.namespace, name);
  if (pod.metadata?.uid !== uid) {
    throw refusal(
      request,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec?.nodeName === node) return;
  throw refusal(request, "node requested token bound to a pod scheduled on a different node");
}

function checkLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== leaseNamespace) {
    throw refusal(request, `can only access leases in the "${leaseNamespace}" system namespace`);
  }
  const name = (request.object as Lease | undefined)?.metadata?.name ?? request.name;
  if (name === node) return;
  throw refusal(request, "can only access node lease with the same name as the requesting node");
}

function checkCsiNode(request: AdmissionRequest, node: string): void {
  const name = request.object?.metadata?.name ?? request.name;
  if (name === node) return;
  throw refusal(request, "can only access CSINode with the same name as the requesting node");
}
