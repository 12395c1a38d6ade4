/**
 * Nodes that are not there yet: what a group's template leaves for Pods once the DaemonSets' Pods are on it, and copies
 * of it under names of their own.
 */
import type { DaemonSet, Node, Pod, Taint, Toleration } from "#api/gen/types.ts";
import { cpuMilli, wholeUnits } from "#scheduler/amounts.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import type { Requests } from "#scheduler/requests.ts";
import type { Cluster } from "./cluster.ts";

const hostnameLabel = "kubernetes.io/hostname";
/** Taints of nodes that start, stop, or are being examined. They are temporary. */
const passingTaints = [
  "node.kubernetes.io/",
  "node.cloudprovider.kubernetes.io/",
  "startup-taint.cluster-autoscaler.kubernetes.io/",
  "ignore-taint.cluster-autoscaler.kubernetes.io/",
  "ToBeDeletedByClusterAutoscaler",
  "DeletionCandidateOfClusterAutoscaler",
];

/** Tolerations that the DaemonSet controller adds to its Pods. */
const daemonTolerations: readonly Toleration[] = [
  "not-ready",
  "unreachable",
  "disk-pressure",
  "memory-pressure",
  "pid-pressure",
  "unschedulable",
  "network-unavailable",
].map((name) => ({ key: `node.kubernetes.io/${name}`, operator: "Exists" }));

export interface Template {
  readonly node: Node;
  /** Resources of a fresh node, before the Pods of DaemonSets take their part. */
  readonly cpu: number;
  readonly memory: number;
}

/** `group`: id of the group, used in the names of node copies. */
export function templateOf(
  node: Node,
  group: string,
  { cluster, daemonSets, startupTaints }: TemplateDeps,
): Template {
  const taints = (node.spec?.taints ?? []).filter(({ key }) => !isPassing(key, startupTaints));
  const clean = { ...node, spec: withTaints(taints) };
  const allocatable = node.status?.allocatable ?? {};
  const whatIf = cluster.what();
  const first = copyOf(clean, copyName(group, "daemons"));
  const slot = whatIf.addNode(first);
  const taken: Requests[] = [];
  for (const set of daemonSets) {
    const info = podInfo(daemonPod(set));
    if (!cluster.algorithm.passes(info, slot)) continue;
    taken.push(info.requests);
    whatIf.assume(info, first.metadata?.name ?? "");
  }
  whatIf.undo();
  const status = { ...node.status, allocatable: less(allocatable, taken) };
  return {
    node: { ...clean, status },
    cpu: cpuMilli(allocatable["cpu"] ?? "0"),
    memory: wholeUnits(allocatable["memory"] ?? "0"),
  };
}

interface TemplateDeps {
  readonly cluster: Cluster;
  readonly daemonSets: readonly DaemonSet[];
  readonly startupTaints: readonly string[];
}

function withTaints(taints: readonly Taint[]): NonNullable<Node["spec"]> {
  return taints.length === 0 ? {} : { taints: [...taints] };
}

function isPassing(key: string, startupTaints: readonly string[]): boolean {
  return startupTaints.includes(key) || passingTaints.some((prefix) => key.startsWith(prefix));
}

/** No Node can have this name, and no two copies share one, whatever the group ids. Otherwise a what-if would replace a node. */
export function copyName(group: string, which: string | number): string {
  return `template-node-for/${group}/${which}`;
}

export function copyOf(node: Node, name: string): Node {
  const labels = { ...node.metadata?.labels, [hostnameLabel]: name };
  return { ...node, metadata: { name, labels } };
}

function daemonPod({ metadata = {}, spec }: DaemonSet): Pod {
  const { template } = spec ?? {};
  const name = `daemon-${metadata.namespace}-${metadata.name}`;
  const tolerations = [...(template?.spec?.tolerations ?? []), ...daemonTolerations];
  return {
    metadata: {
      ...template?.metadata,
      name,
      uid: name,
      namespace: metadata.namespace ?? "",
    },
    spec: { containers: [], ...template?.spec, tolerations },
  };
}

function less(
  allocatable: Readonly<Record<string, string>>,
  taken: readonly Requests[],
): Record<string, string> {
  if (taken.length === 0) return allocatable;
  const left = new Map(Object.entries(allocatable));
  const subtract = (name: string, amount: number): void => {
    const text = left.get(name);
    if (text === undefined || amount === 0) return;
    if (name === "cpu") left.set(name, `${Math.max(0, cpuMilli(text) - amount)}m`);
    else left.set(name, String(Math.max(0, wholeUnits(text) - amount)));
  };
  for (const { cpu, memory, ephemeral, scalars } of taken) {
    subtract("cpu", cpu);
    subtract("memory", memory);
    subtract("ephemeral-storage", ephemeral);
    subtract("pods", 1);
    for (const [name, amount] of scalars) subtract(name, amount);
  }
  return Object.fromEntries(left);
}
