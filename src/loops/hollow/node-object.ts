/** The Node object and Lease of a hollow node, as a kubelet on containerd would register them. */
import type { Lease, Node, NodeCondition } from "#api/gen/types.ts";
import { formatMicroTime, formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import { hexId } from "./hex-id.ts";
import type { HollowOptions } from "./options.ts";

export const hollowMark = "pilothouse.dev/hollow";
/** Annotation of a node whose kubelet endpoint is served. */
const kubeletMark = "pilothouse.dev/hollow-kubelet";
export const leaseNamespace = "kube-node-lease";
const kubeletVersion = "v1.36.0";
export const kubeletPort = 10_250;

export interface NodeFacts {
  readonly name: string;
  readonly index: number;
  readonly address: string;
  readonly podCidr: string;
}

export function nodeObject(facts: NodeFacts, options: HollowOptions, nowMs: number): Node {
  const { name } = facts;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: nodeLabels(facts, options),
      annotations: {
        [hollowMark]: "true",
        "node.alpha.kubernetes.io/ttl": "0",
        ...(options.kubelet === undefined ? {} : kubeletAnnotations(name)),
      },
    },
    spec: {
      podCIDR: facts.podCidr,
      podCIDRs: [facts.podCidr],
      providerID: `hollow://${name}`,
      ...(options.taints.length === 0 ? {} : { taints: options.taints }),
    },
    status: nodeStatus(facts, options, nowMs),
  };
}

/** One port serves the kubelets of all nodes: this annotation gives metrics-server the path of the node. */
function kubeletAnnotations(name: string): Record<string, string> {
  return {
    [kubeletMark]: "true",
    "metrics.k8s.io/resource-metrics-path": `/nodes/${name}/metrics/resource`,
  };
}

export function nodeLabels(facts: NodeFacts, options: HollowOptions): Record<string, string> {
  return {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": facts.name,
    "kubernetes.io/os": "linux",
    "node.kubernetes.io/instance-type": "hollow",
    "topology.kubernetes.io/region": "hollow",
    "topology.kubernetes.io/zone": zoneOf(facts.index, options),
    [hollowMark]: "true",
    ...options.labels,
  };
}

export function zoneOf(index: number, { zones }: Pick<HollowOptions, "zones">): string {
  return `zone-${index % Math.max(1, zones)}`;
}

export function nodeCapacity(options: HollowOptions): Record<string, string> {
  return {
    cpu: options.cpu,
    memory: options.memory,
    "ephemeral-storage": options.ephemeralStorage,
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    pods: String(options.pods),
    ...options.resources,
  };
}

export function nodeStatus(facts: NodeFacts, options: HollowOptions, nowMs: number) {
  const capacity = nodeCapacity(options);
  const id = hexId(facts.name).slice(0, 32);
  return {
    capacity,
    allocatable: capacity,
    conditions: nodeConditions(nowMs, undefined),
    addresses: [
      { type: "InternalIP", address: facts.address },
      { type: "Hostname", address: facts.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: options.kubelet?.port ?? kubeletPort } },
    nodeInfo: {
      architecture: "amd64",
      bootID: id,
      containerRuntimeVersion: "hollow://1.0.0",
      kernelVersion: "6.12.0-hollow",
      kubeProxyVersion: "",
      kubeletVersion: `${kubeletVersion}-hollow`,
      machineID: id,
      operatingSystem: "linux",
      osImage: "Hollow Linux",
      systemUUID: id,
    },
  };
}

const healthy = [
  [
    "MemoryPressure",
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
  ],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  ["Ready", "True", "KubeletReady", "kubelet is posting ready status"],
] as const;

const diskPressure = [
  "DiskPressure",
  "True",
  "KubeletHasDiskPressure",
  "kubelet has disk pressure",
] as const;

/** Returns the conditions at `nowMs`; an unchanged condition keeps its time from `old`. */
export function nodeConditions(
  nowMs: number,
  old: readonly NodeCondition[] | undefined,
  hasDiskPressure = false,
): NodeCondition[] {
  const now = formatTime(nowMs);
  return healthy.map((one) => {
    const isFull = hasDiskPressure && one[0] === "DiskPressure";
    const [type, status, reason, message] = isFull ? diskPressure : one;
    const known = old?.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? (known.lastTransitionTime ?? now) : now;
    return { type, status, lastHeartbeatTime: now, lastTransitionTime, reason, message };
  });
}

/** Returns the lease. `version`: the last known resourceVersion. Absent: the lease is to be created. */
export function leaseObject(name: string, nodeUid: string, nowMs: number, version?: string): Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name,
      namespace: leaseNamespace,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: nodeUid }],
      ...given({ resourceVersion: version }),
    },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: formatMicroTime(nowMs),
    },
  };
}
