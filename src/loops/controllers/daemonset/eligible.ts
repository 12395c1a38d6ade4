/** Determines the nodes on which a DaemonSet wants a pod. Pure. */
import type { DaemonSet, Node, Pod, PodSpec, PodTemplateSpec, Toleration } from "#api/gen/types.ts";
import { labelsInclude, nodeSelectorMatches, tolerates } from "#api/selectors/node-match.ts";

/** Tolerations of every daemon pod, which keep it on nodes from which other pods are evicted. */
const always: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const onHostNetwork: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

interface Eligibility {
  /** Whether a node without a pod should get one. */
  readonly shouldRun: boolean;
  /** Whether an existing pod may stay on the node. */
  readonly shouldContinue: boolean;
}

export function eligibility(set: DaemonSet, node: Node): Eligibility {
  const spec = set.spec?.template?.spec;
  if (spec === undefined || !fitsNode(spec, node))
    return { shouldRun: false, shouldContinue: false };
  const tolerations = [...(spec.tolerations ?? []), ...daemonTolerations(spec)];
  const repels = (effects: readonly string[]): boolean =>
    (node.spec?.taints ?? []).some(
      (taint) => effects.includes(taint.effect) && !tolerates(tolerations, taint),
    );
  return {
    shouldRun: !repels(["NoSchedule", "NoExecute"]),
    shouldContinue: !repels(["NoExecute"]),
  };
}

function fitsNode(spec: PodSpec, node: Node): boolean {
  const name = node.metadata?.name ?? "";
  if ((spec.nodeName ?? "") !== "" && spec.nodeName !== name) return false;
  if (!labelsInclude(spec.nodeSelector, node.metadata?.labels)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || nodeSelectorMatches(required, node);
}

function daemonTolerations(spec: PodSpec): readonly Toleration[] {
  return spec.hostNetwork === true ? [...always, onHostNetwork] : always;
}

/**
 * The template with the tolerations added and an affinity that names the node; the scheduler binds
 * the pod. The name replaces the template's own node affinity, which `eligibility` has checked.
 */
export function templateFor(template: PodTemplateSpec, nodeName: string): PodTemplateSpec {
  const spec = template.spec ?? { containers: [] };
  const byName = { matchFields: [{ key: "metadata.name", operator: "In", values: [nodeName] }] };
  const nodeAffinity = {
    ...spec.affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [byName] },
  };
  const ours = daemonTolerations(spec);
  const others = (spec.tolerations ?? []).filter((has) => !ours.some((one) => isSame(one, has)));
  return {
    ...template,
    spec: {
      ...spec,
      affinity: { ...spec.affinity, nodeAffinity },
      tolerations: [...others, ...ours],
    },
  };
}

/** Equal except for tolerationSeconds, because daemon pods tolerate indefinitely. */
function isSame(a: Toleration, b: Toleration): boolean {
  const said = ({ key, effect, operator, value }: Toleration): string =>
    JSON.stringify([key ?? "", effect ?? "", operator ?? "", value ?? ""]);
  return said(a) === said(b);
}

/** The node of a daemon pod; while unbound, the node in its affinity. */
export function targetNode(pod: Pod): string {
  if ((pod.spec?.nodeName ?? "") !== "") return pod.spec?.nodeName ?? "";
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const term of required?.nodeSelectorTerms ?? []) {
    const field = term.matchFields?.find(
      ({ key, operator }) => key === "metadata.name" && operator === "In",
    );
    if (field?.values?.length === 1) return field.values[0] ?? "";
  }
  return "";
}
