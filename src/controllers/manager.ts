/**
 * The controller manager: all loops of one process over one set of informers.
 *
 * Each controller has its own event recorder, so that events name their source. Metrics show work
 * done and the age of the oldest waiting key: progress, not mere liveness.
 */
import type { Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Supervisor } from "#platform/supervisor.ts";
import { horizontalPodAutoscalerController } from "./autoscaling/controller.ts";
import { clusterRoleAggregationController } from "./clusterrole/controller.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring.ts";
import { garbageCollector } from "./garbage/controller.ts";
import { jobController } from "./job/controller.ts";
import { namespaceController } from "./namespace/controller.ts";
import { cronJobController } from "./cronjob/controller.ts";
import { daemonSetController } from "./daemonset/controller.ts";
import { deploymentController } from "./deployment/controller.ts";
import { disruptionController } from "./disruption/controller.ts";
import { endpointsController } from "./endpoints/controller.ts";
import { replicaSetController, replicationControllerController } from "./replicaset/controller.ts";
import { nodeLifecycleController } from "./nodelifecycle/controller.ts";
import { taintEvictionController } from "./nodelifecycle/taint-eviction.ts";
import { claimProtectionController, volumeProtectionController } from "./protection/controller.ts";
import { podGarbageCollector } from "./podgc/controller.ts";
import { resourceQuotaController } from "./quota/controller.ts";
import { rootCaPublisher, serviceAccountController } from "./serviceaccount/controller.ts";
import { type LegacyTokens, legacyTokenController } from "./serviceaccount/token-controller.ts";
import { statefulSetController } from "./statefulset/controller.ts";
import { ttlAfterFinishedController } from "./ttl/controller.ts";
import type { Controller, ControllerDeps } from "./framework/controller.ts";

export interface ManagerDeps {
  /** A client that acts as this service account of kube-system: each controller has its own rights. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly supervisor: Supervisor;
}

export interface ManagerOptions {
  /** PEM of the authority that pods check the API server by. */
  readonly rootCa: string;
  /** Absent: nobody fills the Secrets of legacy tokens. */
  readonly legacyTokens?: LegacyTokens;
}

export interface ControllerManager {
  /** Runs every controller until `signal` aborts; resolves when all have come to rest. */
  run(signal: AbortSignal): Promise<void>;
  /** By controller name. */
  metrics(): ReadonlyMap<string, WorkQueueMetrics>;
}

type Factory = (deps: ControllerDeps, options: ManagerOptions) => Controller;

/** Name as it appears in events, the service account that acts (upstream's), and the maker. */
const factories: readonly (readonly [string, string, Factory])[] = [
  ["namespace-controller", "namespace-controller", namespaceController],
  ["garbage-collector", "generic-garbage-collector", garbageCollector],
  ["deployment-controller", "deployment-controller", deploymentController],
  ["replicaset-controller", "replicaset-controller", replicaSetController],
  ["replication-controller", "replication-controller", replicationControllerController],
  ["statefulset-controller", "statefulset-controller", statefulSetController],
  ["daemonset-controller", "daemon-set-controller", daemonSetController],
  ["job-controller", "job-controller", jobController],
  ["cronjob-controller", "cronjob-controller", cronJobController],
  ["ttl-after-finished-controller", "ttl-after-finished-controller", ttlAfterFinishedController],
  ["endpoint-slice-controller", "endpointslice-controller", endpointsController],
  [
    "endpoint-slice-mirroring-controller",
    "endpointslicemirroring-controller",
    endpointSliceMirroringController,
  ],
  ["resourcequota-controller", "resourcequota-controller", resourceQuotaController],
  [
    "clusterrole-aggregation-controller",
    "clusterrole-aggregation-controller",
    clusterRoleAggregationController,
  ],
  ["pvc-protection-controller", "pvc-protection-controller", claimProtectionController],
  ["pv-protection-controller", "pv-protection-controller", volumeProtectionController],
  ["horizontal-pod-autoscaler", "horizontal-pod-autoscaler", horizontalPodAutoscalerController],
  ["serviceaccount-controller", "service-account-controller", serviceAccountController],
  [
    "root-ca-certificate-publisher",
    "root-ca-cert-publisher",
    (deps, { rootCa }) => rootCaPublisher(deps, rootCa),
  ],
  ["pod-garbage-collector", "pod-garbage-collector", podGarbageCollector],
  ["disruption-controller", "disruption-controller", disruptionController],
  ["node-controller", "node-controller", nodeLifecycleController],
  ["taint-eviction-controller", "node-controller", taintEvictionController],
];

export function createControllerManager(
  deps: ManagerDeps,
  options: ManagerOptions,
): ControllerManager {
  const { rootCa, legacyTokens } = options;
  const more: typeof factories =
    legacyTokens === undefined
      ? []
      : [
          [
            "serviceaccount-token-controller",
            "service-account-controller",
            (made) => legacyTokenController(made, { ...legacyTokens, rootCa }),
          ],
        ];
  const controllers = [...factories, ...more].map(([component, account, factory]) => {
    const client = deps.clientFor(account);
    const recorder = createEventRecorder({ ...deps, client }, { component });
    const log = deps.log.child({ controller: component });
    return factory({ ...deps, client, recorder, log }, options);
  });
  return {
    metrics: () =>
      new Map(controllers.map((controller) => [controller.name, controller.metrics()])),
    async run(signal) {
      const { supervisor } = deps;
      await Promise.all(
        controllers.map((controller) =>
          supervisor.run(`controllers.${controller.name}`, signal, () => controller.run(signal)),
        ),
      );
    },
  };
}
