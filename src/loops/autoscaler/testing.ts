/** Short forms for tests of plans: options, groups, nodes and Pods. */
import type { Node, Pod } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode, makePod, noVolumes, type PodShape } from "#scheduler/testing.ts";
import { Cluster } from "./cluster.ts";
import type { AutoscalerOptions } from "./options.ts";
import type { Group, GroupOptions, Snapshot } from "./snapshot.ts";

const minuteMs = 60_000;

const groupOptions: GroupOptions = {
  scaleDownUtilizationThreshold: 0.5,
  scaleDownUnneededMs: 10 * minuteMs,
  scaleDownUnreadyMs: 20 * minuteMs,
  maxNodeProvisionMs: 15 * minuteMs,
  ignoreDaemonSetsUtilization: false,
};

export const testOptions: AutoscalerOptions = {
  scanIntervalMs: 10_000,
  expanders: ["least-waste"],
  group: groupOptions,
  scaleDownEnabled: true,
  scaleDownUnreadyEnabled: true,
  scaleDownDelayAfterAddMs: 10 * minuteMs,
  scaleDownDelayAfterDeleteMs: 0,
  scaleDownDelayAfterFailureMs: 3 * minuteMs,
  emptyNodeMs: undefined,
  expireAfterMs: undefined,
  balanceSimilarNodeGroups: false,
  skipNodesWithLocalStorage: true,
  skipNodesWithSystemPods: true,
  skipNodesWithCustomControllerPods: true,
  newPodScaleUpDelayMs: 0,
  expendablePodsPriorityCutoff: -10,
  maxGracefulTerminationSeconds: 600,
  maxPodEvictionMs: 2 * minuteMs,
  maxNodesTotal: undefined,
  cores: { least: 0, most: 320_000 },
  memoryBytes: { least: 0, most: 6_400_000 * 2 ** 30 },
  maxNodesPerScaleUp: 1_000,
  maxScaleDownParallelism: 10,
  maxDrainParallelism: 1,
  maxBulkSoftTaintCount: 10,
  initialBackoffMs: 5 * minuteMs,
  maxBackoffMs: 30 * minuteMs,
  backoffResetMs: 180 * minuteMs,
  enforceNodeGroupMinSize: false,
  rampPercentPerMinute: undefined,
  maxTotalUnreadyPercentage: 45,
  okTotalUnreadyCount: 3,
  startupTaints: [],
  shardPatienceMs: minuteMs,
};

export function testCluster(seed = 1): Cluster {
  return new Cluster({
    random: new FakeRandom(seed),
    namespaces: () => undefined,
    volumes: noVolumes,
  });
}

/** Makes a registered node that is ready. */
export function groupNode(name: string, shape: Parameters<typeof makeNode>[1] = {}): Node {
  const node = makeNode(name, shape);
  return {
    ...node,
    spec: { ...node.spec, providerID: `test://${name}` },
    status: { ...node.status, conditions: [{ type: "Ready", status: "True" }] },
  };
}

export function testGroup(id: string, more: Partial<Group> = {}): Group {
  return {
    id,
    min: 0,
    max: 10,
    target: more.instances?.length ?? 0,
    instances: [],
    template: makeNode(`${id}-template`),
    price: undefined,
    options: groupOptions,
    isOwn: true,
    ...more,
  };
}

export function instancesOf(names: readonly string[]): Group["instances"] {
  return names.map((name) => ({ id: `test://${name}`, state: "running", error: undefined }));
}

/** Makes a Pod of a ReplicaSet. Without a node, the Pod is one that the scheduler has given up on. */
export function ownedPod(name: string, shape: PodShape = {}): Pod {
  const pod = makePod(name, shape);
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "r",
    uid: "r",
    controller: true,
  };
  const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
  const waits = shape.nodeName === undefined;
  return {
    ...pod,
    metadata: { ...pod.metadata, uid: name, ownerReferences: [owner] },
    status: waits ? { phase: "Pending", conditions: [condition] } : { phase: "Running" },
  };
}

export function snapshotOf(cluster: Cluster, groups: readonly Group[], nowMs = 0): Snapshot {
  return { nowMs, cluster, groups, budgets: [], daemonSets: [], priorities: new Map() };
}
