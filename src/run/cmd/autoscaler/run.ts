/** `pilothouse autoscaler`: the autoscaler alone, against any API server and any externalgrpc provider. */
import { createAutoscaler } from "#autoscaler/autoscaler.ts";
import type { GroupSelection } from "#autoscaler/group-view.ts";
import { AutoscalerMetrics } from "#autoscaler/metrics.ts";
import type { AutoscalerOptions } from "#autoscaler/options.ts";
import { isOwnGroup } from "#autoscaler/shard.ts";
import { createInformerSet } from "#client/informer-set.ts";
import type { SupervisedHost } from "../shared/host.ts";
import type { Parts } from "../shared/parts.ts";
import type { Started } from "../shared/role-life.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { componentUserAgent } from "../shared/user-agent.ts";
import { cloudConfigOf } from "./cloud-config.ts";
import type { AutoscalerFlags } from "./flags.ts";
import { GrpcProvider } from "./grpc-provider.ts";

const role = "cluster-autoscaler";
/** Number of scans that another shard may let pass. */
const patientScans = 6;
const gigabyte = 2 ** 30;

export function autoscalerRole(flags: AutoscalerFlags): Promise<void> {
  return runRole(flags, openAutoscaler);
}

async function openAutoscaler(
  host: SupervisedHost,
  flags: AutoscalerFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started> {
  const config = cloudConfigOf(flags.cloudConfig);
  const provider = await parts.open("provider", () => new GrpcProvider(host, config), {
    close: (opened) => opened.close(),
  });
  const asked = {
    options: optionsOf(flags),
    selection: selectionOf(flags),
    place: { namespace: flags.namespace, statusName: ofShard(flags, flags.statusConfigMapName) },
  };
  const workOf: WorkOf = ({ connection, metrics: set }) => {
    const metrics = new AutoscalerMetrics(set);
    return async (signal, term) => {
      const client = connection.client(term);
      const informers = createInformerSet({ ...host, client });
      const made = createAutoscaler({ ...host, client, informers, provider, metrics }, asked);
      const loop = host.supervisor.run("autoscaler", signal, () => made.run(signal));
      await Promise.all([loop, informers.run(signal)]);
    };
  };
  const userAgent = componentUserAgent(role);
  const leaderElectResourceName = ofShard(flags, flags.leaderElectResourceName);
  const own = { ...flags, leaderElectResourceName };
  return openRole(role, { userAgent, host, flags: own, workOf }, parts, stopping);
}

/** Appends the shard to a name, so that each shard has its own Lease and status. */
function ofShard({ shard }: AutoscalerFlags, name: string): string {
  return shard === undefined ? name : `${name}-${shard.index}-of-${shard.count}`;
}

function selectionOf({ nodes, shard }: AutoscalerFlags): GroupSelection {
  return {
    named: nodes.length === 0 ? undefined : new Map(nodes.map((group) => [group.id, group])),
    isOwn: (id) => shard === undefined || isOwnGroup(id, shard),
  };
}

function optionsOf(flags: AutoscalerFlags): AutoscalerOptions {
  const { least, most } = flags.memoryTotal;
  return {
    scanIntervalMs: flags.scanInterval,
    expanders: flags.expander,
    group: {
      scaleDownUtilizationThreshold: flags.scaleDownUtilizationThreshold,
      scaleDownUnneededMs: flags.scaleDownUnneededTime,
      scaleDownUnreadyMs: flags.scaleDownUnreadyTime,
      maxNodeProvisionMs: flags.maxNodeProvisionTime,
      ignoreDaemonSetsUtilization: flags.ignoreDaemonsetsUtilization,
    },
    scaleDownEnabled: flags.scaleDownEnabled,
    scaleDownUnreadyEnabled: flags.scaleDownUnreadyEnabled,
    scaleDownDelayAfterAddMs: flags.scaleDownDelayAfterAdd,
    scaleDownDelayAfterDeleteMs: flags.scaleDownDelayAfterDelete,
    scaleDownDelayAfterFailureMs: flags.scaleDownDelayAfterFailure,
    emptyNodeMs: flags.scaleDownEmptyTime,
    expireAfterMs: flags.nodeExpireAfter,
    balanceSimilarNodeGroups: flags.balanceSimilarNodeGroups,
    skipNodesWithLocalStorage: flags.skipNodesWithLocalStorage,
    skipNodesWithSystemPods: flags.skipNodesWithSystemPods,
    skipNodesWithCustomControllerPods: flags.skipNodesWithCustomControllerPods,
    newPodScaleUpDelayMs: flags.newPodScaleUpDelay,
    expendablePodsPriorityCutoff: flags.expendablePodsPriorityCutoff,
    maxGracefulTerminationSeconds: flags.maxGracefulTerminationSec,
    maxPodEvictionMs: flags.maxPodEvictionTime,
    maxNodesTotal: flags.maxNodesTotal === 0 ? undefined : flags.maxNodesTotal,
    cores: flags.coresTotal,
    memoryBytes: { least: least * gigabyte, most: most * gigabyte },
    maxNodesPerScaleUp: flags.maxNodesPerScaleup,
    maxScaleDownParallelism: flags.maxScaleDownParallelism,
    maxDrainParallelism: flags.maxDrainParallelism,
    maxBulkSoftTaintCount: flags.maxBulkSoftTaintCount,
    initialBackoffMs: flags.initialNodeGroupBackoffDuration,
    maxBackoffMs: flags.maxNodeGroupBackoffDuration,
    backoffResetMs: flags.nodeGroupBackoffResetTimeout,
    enforceNodeGroupMinSize: flags.enforceNodeGroupMinSize,
    rampPercentPerMinute: flags.scaleUpPercentPerMinute,
    maxTotalUnreadyPercentage: flags.maxTotalUnreadyPercentage,
    okTotalUnreadyCount: flags.okTotalUnreadyCount,
    startupTaints: flags.startupTaint,
    shardPatienceMs: flags.scanInterval * patientScans,
  };
}
