/**
 * Does a bound pod fit on its node? A kubelet asks again what the scheduler asked, because anybody may
 * bind a pod by `spec.nodeName`; a pod that does not fit is Failed with these reasons and messages.
 *
 * After  kubernetes pkg/kubelet/lifecycle/predicate.go. Absent: evicting others for a critical pod.
 */
import type { Node, Pod, Taint } from "#api/gen/types.ts";
import { labelsInclude, nodeSelectorMatches, tolerates } from "#api/selectors/node-match.ts";
import { isNativeResource } from "#api/validation/resources.ts";
import type { Demand, NodeUsage } from "./node-usage.ts";

export interface NodeView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** By resource name: amounts in billionths. */
  readonly allocatable: ReadonlyMap<string, bigint>;
}

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

const osLabel = "kubernetes.io/os";
const nodeOs = "linux";

/** Returns the first reason against the pod, in the kubelet's order. Undefined: the pod is admitted. */
export function rejectionOf(
  pod: Pod,
  demand: Demand,
  node: NodeView,
  usage: NodeUsage,
): Rejection | undefined {
  return (
    osRejection(pod) ??
    resourceRejection(demand, node, usage) ??
    affinityRejection(pod, node) ??
    portRejection(demand, usage) ??
    taintRejection(pod, node)
  );
}

function osRejection(pod: Pod): Rejection | undefined {
  const label = pod.metadata?.labels?.[osLabel];
  if (label !== undefined && label !== nodeOs) {
    const message = `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`;
    return { reason: "PodOSSelectorNodeLabelDoesNotMatch", message };
  }
  const os = pod.spec?.os?.name;
  if (os === undefined || os === nodeOs) return undefined;
  const message = "Failed to admit pod as the OS field doesn't match node OS";
  return { reason: "PodOSNotSupported", message };
}

function resourceRejection(
  { amounts }: Demand,
  { allocatable }: NodeView,
  usage: NodeUsage,
): Rejection | undefined {
  const podsMax = wholeOf("pods", allocatable.get("pods") ?? 0n);
  if (BigInt(usage.pods) + 1n > podsMax) return insufficient("pods", 1n, usage.pods, podsMax);
  for (const name of inOrder([...amounts.keys()])) {
    const wanted = amounts.get(name) ?? 0n;
    const capacity = allocatable.get(name);
    // A resource that the node does not list belongs to the whole cluster or to a resource claim.
    const isNative = isNativeResource(name) && !name.startsWith(classPrefix);
    if (wanted <= 0n || (capacity === undefined && !isNative)) continue;
    const used = usage.amount(name);
    if (wanted <= (capacity ?? 0n) - used) continue;
    const asWhole = (nanos: bigint): bigint => wholeOf(name, nanos);
    return insufficient(name, asWhole(wanted), asWhole(used), asWhole(capacity ?? 0n));
  }
  return undefined;
}

function insufficient(
  name: string,
  requested: bigint,
  used: bigint | number,
  capacity: bigint,
): Rejection {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  const message = `Node didn't have enough resource: ${name}, ${amounts}`;
  return { reason: `OutOf${name}`, message };
}

/** Prefix of extended resources that represent the devices of a class. */
const classPrefix = "deviceclass.resource.kubernetes.io/";
const first = ["cpu", "memory", "ephemeral-storage"];

function inOrder(names: readonly string[]): string[] {
  const others = names.filter((name) => !first.includes(name)).sort();
  return [...first.filter((name) => names.includes(name)), ...others];
}

/** Returns thousandths of a CPU, or whole units of other resources, rounded up as upstream. */
function wholeOf(name: string, nanos: bigint): bigint {
  const unit = name === "cpu" ? 1_000_000n : 1_000_000_000n;
  return nanos <= 0n ? 0n : (nanos + unit - 1n) / unit;
}

function affinityRejection(pod: Pod, { name, labels }: NodeView): Rejection | undefined {
  const { nodeSelector, affinity } = pod.spec ?? {};
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (nodeSelector === undefined && required === undefined) return undefined;
  const node: Node = { metadata: { name, labels } };
  const matches =
    labelsInclude(nodeSelector, labels) &&
    (required === undefined || nodeSelectorMatches(required, node));
  if (matches) return undefined;
  return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
}

function portRejection({ ports }: Demand, usage: NodeUsage): Rejection | undefined {
  if (!ports.some((port) => usage.isPortTaken(port))) return undefined;
  return predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports");
}

/** Rejects by taints; a kubelet considers only NoExecute taints. */
function taintRejection(pod: Pod, { taints }: NodeView): Rejection | undefined {
  const tolerations = pod.spec?.tolerations ?? [];
  const untolerated = taints.some(
    (taint) => taint.effect === "NoExecute" && !tolerates(tolerations, taint),
  );
  if (!untolerated) return undefined;
  return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

function predicate(reason: string, text: string): Rejection {
  return { reason, message: `Predicate ${reason} failed: ${text}` };
}
