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
import { HorizontalPodAutoscalerController } from "./autoscaling/controller.ts";
import type { SignDetached } from "./bootstrap/cluster-info.ts";
import { BootstrapSigner } from "./bootstrap/signer.ts";
import { TokenCleaner } from "./bootstrap/token-cleaner.ts";
import { CertificateApprovingController } from "./certificates/approving.ts";
import { CertificateCleaner } from "./certificates/cleaner.ts";
import { CertificateSigningController, type SigningOptions } from "./certificates/signing.ts";
import { ClusterRoleAggregationController } from "./clusterrole/controller.ts";
import { CronJobController } from "./cronjob/controller.ts";
import { DaemonSetController } from "./daemonset/controller.ts";
import { DeploymentController } from "./deployment/controller.ts";
import { DisruptionController } from "./disruption/controller.ts";
import { EndpointSliceController } from "./endpoints/controller.ts";
import { EndpointSliceMirroringController } from "./endpoints/mirroring.ts";
import type { Controller, ControllerDeps } from "./framework/controller.ts";
import { GarbageCollector } from "./garbage/controller.ts";
import { JobController } from "./job/controller.ts";
import { NamespaceController } from "./namespace/controller.ts";
import { NodeLifecycleController } from "./nodelifecycle/controller.ts";
import { TaintEvictionController } from "./nodelifecycle/taint-eviction.ts";
import { PodGarbageCollector } from "./podgc/controller.ts";
import { ClaimProtectionController } from "./protection/claim-controller.ts";
import { VolumeProtectionController } from "./protection/volume-controller.ts";
import { ResourceQuotaController } from "./quota/controller.ts";
import { ReplicaSetController } from "./replicaset/controller.ts";
import { replicaSetKind, replicationControllerKind } from "./replicaset/kinds.ts";
import { ServiceAccountController } from "./serviceaccount/controller.ts";
import { RootCaPublisher } from "./serviceaccount/root-ca-publisher.ts";
import { type LegacyTokens, TokensController } from "./serviceaccount/token-controller.ts";
import { StatefulSetController } from "./statefulset/controller.ts";
import { TtlAfterFinishedController } from "./ttl/controller.ts";

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
  /** Absent: the Secrets of legacy tokens are not filled. */
  readonly legacyTokens?: LegacyTokens;
  /** Absent: certificate requests are neither approved, signed nor cleaned up. */
  readonly certificates?: SigningOptions;
  /** Absent: cluster-info is not signed. */
  readonly signDetached?: SignDetached;
}

export interface ControllerManager {
  /** Runs every controller until `signal` aborts; resolves when all have come to rest. */
  run(signal: AbortSignal): Promise<void>;
  /** By controller name. */
  metrics(): ReadonlyMap<string, WorkQueueMetrics>;
}

type Factory = (deps: ControllerDeps, options: ManagerOptions) => Controller;

/** Name as it appears in events, the service account that acts (upstream's), and the factory. */
type NamedFactory = readonly [component: string, account: string, factory: Factory];

const factories: readonly NamedFactory[] = [
  ["namespace-controller", "namespace-controller", (deps) => new NamespaceController(deps)],
  ["garbage-collector", "generic-garbage-collector", (deps) => new GarbageCollector(deps)],
  ["deployment-controller", "deployment-controller", (deps) => new DeploymentController(deps)],
  [
    "replicaset-controller",
    "replicaset-controller",
    (deps) => new ReplicaSetController(deps, replicaSetKind),
  ],
  [
    "replication-controller",
    "replication-controller",
    (deps) => new ReplicaSetController(deps, replicationControllerKind),
  ],
  ["statefulset-controller", "statefulset-controller", (deps) => new StatefulSetController(deps)],
  ["daemonset-controller", "daemon-set-controller", (deps) => new DaemonSetController(deps)],
  ["job-controller", "job-controller", (deps) => new JobController(deps)],
  ["cronjob-controller", "cronjob-controller", (deps) => new CronJobController(deps)],
  [
    "ttl-after-finished-controller",
    "ttl-after-finished-controller",
    (deps) => new TtlAfterFinishedController(deps),
  ],
  [
    "endpoint-slice-controller",
    "endpointslice-controller",
    (deps) => new EndpointSliceController(deps),
  ],
  [
    "endpoint-slice-mirroring-controller",
    "endpointslicemirroring-controller",
    (deps) => new EndpointSliceMirroringController(deps),
  ],
  [
    "resourcequota-controller",
    "resourcequota-controller",
    (deps) => new ResourceQuotaController(deps),
  ],
  [
    "clusterrole-aggregation-controller",
    "clusterrole-aggregation-controller",
    (deps) => new ClusterRoleAggregationController(deps),
  ],
  [
    "pvc-protection-controller",
    "pvc-protection-controller",
    (deps) => new ClaimProtectionController(deps),
  ],
  [
    "pv-protection-controller",
    "pv-protection-controller",
    (deps) => new VolumeProtectionController(deps),
  ],
  [
    "horizontal-pod-autoscaler",
    "horizontal-pod-autoscaler",
    (deps) => new HorizontalPodAutoscalerController(deps),
  ],
  [
    "serviceaccount-controller",
    "service-account-controller",
    (deps) => new ServiceAccountController(deps),
  ],
  [
    "root-ca-certificate-publisher",
    "root-ca-cert-publisher",
    (deps, options) => new RootCaPublisher(deps, options),
  ],
  ["pod-garbage-collector", "pod-garbage-collector", (deps) => new PodGarbageCollector(deps)],
  ["disruption-controller", "disruption-controller", (deps) => new DisruptionController(deps)],
  ["node-controller", "node-controller", (deps) => new NodeLifecycleController(deps)],
  ["taint-eviction-controller", "node-controller", (deps) => new TaintEvictionController(deps)],
  ["token-cleaner-controller", "token-cleaner", (deps) => new TokenCleaner(deps)],
];

export function createControllerManager(
  deps: ManagerDeps,
  options: ManagerOptions,
): ControllerManager {
  const entries = [
    ...factories,
    ...tokensFactories(options),
    ...certificateFactories(options),
    ...clusterInfoFactories(options),
  ];
  const controllers = entries.map((entry) => createController(deps, options, entry));
  return {
    metrics: () => new Map(controllers.map((one) => [one.name, one.metrics()])),
    async run(signal) {
      await Promise.all(controllers.map((one) => runSupervised(deps.supervisor, one, signal)));
    },
  };
}

/** Only a control plane that signs tokens itself has this controller. */
function tokensFactories({ rootCa, legacyTokens }: ManagerOptions): readonly NamedFactory[] {
  if (legacyTokens === undefined) return [];
  const factory: Factory = (deps) => new TokensController(deps, { ...legacyTokens, rootCa });
  return [["serviceaccount-token-controller", "service-account-controller", factory]];
}

/** Only a control plane that holds the key of its authority has these. */
function certificateFactories({ certificates }: ManagerOptions): readonly NamedFactory[] {
  if (certificates === undefined) return [];
  const { authority } = certificates;
  const loops: readonly (readonly [string, Factory])[] = [
    ["approving", (deps) => new CertificateApprovingController(deps, authority)],
    ["signing", (deps) => new CertificateSigningController(deps, certificates)],
    ["cleaner", (deps) => new CertificateCleaner(deps, authority)],
  ];
  return loops.map(([name, factory]) => [
    `certificatesigningrequest-${name}-controller`,
    "certificate-controller",
    factory,
  ]);
}

function clusterInfoFactories({ signDetached }: ManagerOptions): readonly NamedFactory[] {
  if (signDetached === undefined) return [];
  const factory: Factory = (deps) => new BootstrapSigner(deps, signDetached);
  return [["bootstrap-signer-controller", "bootstrap-signer", factory]];
}

function createController(
  deps: ManagerDeps,
  options: ManagerOptions,
  [component, account, factory]: NamedFactory,
): Controller {
  const client = deps.clientFor(account);
  const recorder = createEventRecorder({ ...deps, client }, { component });
  const log = deps.log.child({ controller: component });
  return factory({ ...deps, client, recorder, log }, options);
}

function runSupervised(
  supervisor: Supervisor,
  controller: Controller,
  signal: AbortSignal,
): Promise<void> {
  return supervisor.run(`controllers.${controller.name}`, signal, () => controller.run(signal));
}
