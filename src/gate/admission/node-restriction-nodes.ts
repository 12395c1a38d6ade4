/** NodeRestriction for Node objects: a kubelet may write its own Node, except what attracts workloads. */
import type { Node } from "#api/gen/types.ts";
import { semanticEqual } from "#api/validation/equal.ts";
import type { AdmissionRequest } from "./admission.ts";
import { quote, forbiddenError } from "./request.ts";

const restrictedNamespace = "node-restriction.kubernetes.io";

/** Labels in Kubernetes' own namespaces that a kubelet may set on its node. */
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

export function checkNode(request: AdmissionRequest, node: string): void {
  const name = request.name || (request.object?.metadata?.name ?? "");
  if (name !== node) {
    throw forbiddenError(
      request,
      `node ${quote(node)} is not allowed to modify node ${quote(name)}`,
    );
  }
  const fault = checkNodeFault(request, node);
  if (fault !== undefined) throw forbiddenError(request, fault);
}

function checkNodeFault(request: AdmissionRequest, node: string): string | undefined {
  const next = (request.object ?? {}) as Partial<Node>;
  if (request.operation === "CREATE") return createFault(next, node);
  if (request.operation !== "UPDATE") return undefined;
  return updateFault(next, (request.oldObject ?? {}) as Partial<Node>, node);
}

function createFault(next: Partial<Node>, node: string): string | undefined {
  if (next.spec?.configSource !== undefined) {
    // Upstream's text says pods.
    return `node ${quote(node)} is not allowed to create pods with a non-nil configSource`;
  }
  const labels = forbiddenLabels(next.metadata?.labels, undefined);
  if (labels.length === 0) return undefined;
  return `node ${quote(node)} is not allowed to set the following labels: ${labels.join(", ")}`;
}

function updateFault(next: Partial<Node>, old: Partial<Node>, node: string): string | undefined {
  const { configSource } = next.spec ?? {};
  if (configSource !== undefined && !semanticEqual(configSource, old.spec?.configSource)) {
    return `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!semanticEqual(next.spec?.taints ?? [], old.spec?.taints ?? [])) {
    return `node ${quote(node)} is not allowed to modify taints`;
  }
  if (!semanticEqual(next.metadata?.ownerReferences ?? [], old.metadata?.ownerReferences ?? [])) {
    return `node ${quote(node)} is not allowed to modify ownerReferences`;
  }
  const labels = forbiddenLabels(next.metadata?.labels, old.metadata?.labels);
  return labels.length === 0 ? undefined : `is not allowed to modify labels: ${labels.join(", ")}`;
}

type Texts = Readonly<Record<string, string>>;

export function changedKeys(next: Texts = {}, old: Texts = {}): readonly string[] {
  const before = new Map(Object.entries(old));
  const after = new Map(Object.entries(next));
  const keys = new Set([...after.keys(), ...before.keys()]);
  return [...keys].filter((key) => after.get(key) !== before.get(key));
}

function forbiddenLabels(next: Texts | undefined, old: Texts | undefined): readonly string[] {
  return changedKeys(next, old).filter(isForbiddenLabel).toSorted();
}

function isForbiddenLabel(key: string): boolean {
  const namespace = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const within = (domain: string): boolean =>
    namespace === domain || namespace.endsWith(`.${domain}`);
  if (within(restrictedNamespace)) return true;
  if (!within("kubernetes.io") && !within("k8s.io")) return false;
  return !kubeletLabels.has(key) && !kubeletLabelNamespaces.some(within);
}
