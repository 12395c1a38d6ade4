/**
 * The controller manager: all loops of one process over one set of informers.
 *
 * Each controller has its own event recorder, so that events name their source. Metrics show work
 * done and the age of the oldest waiting key: progress, not mere liveness.
 */
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import {
  createController,
  type AnyControllerOptions,
  type Controller,
} from "#client/create-controller.ts";
import { createEventRecorder } from "#client/events.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";
import type { WorkQueueMetrics, WorkQueueObserver } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Supervisor } from "#platform/supervisor.ts";
import { AttachDetachController, attachDetachRole } from "./attachdetach/controller.ts";
import {
  HorizontalPodAutoscalerController,
  horizontalPodAutoscalerRole,
} from "./autoscaling/controller.ts";
import type { AutoscalingOptions } from "./autoscaling/options.ts";
import {
  ClusterRoleAggregationController,
  clusterRoleAggregationRole,
} from "./clusterrole/controller.ts";
import type { SignDetached } from "./bootstrap/cluster-info.ts";
import { bootstrapSignerRole, tokenCleanerRole } from "./bootstrap/roles.ts";
import { BootstrapSigner } from "./bootstrap/signer.ts";
import { TokenCleaner } from "./bootstrap/token-cleaner.ts";
import { CertificateApprovingController } from "./certificates/approving.ts";
import { CertificateCleaner } from "./certificates/cleaner.ts";
import { certificateRole } from "./certificates/role.ts";
import { CertificateSigningController, type SigningOptions } from "./certificates/signing.ts";
import { isChosen } from "./controller-names.ts";
import { CronJobController, cronJobRole } from "./cronjob/controller.ts";
import { DaemonSetController, daemonSetRole } from "./daemonset/controller.ts";
import { DeploymentController, deploymentRole } from "./deployment/controller.ts";
import {
  DeviceTaintEvictionController,
  deviceTaintEvictionRole,
} from "./devicetaint/controller.ts";
import { DisruptionController, disruptionRole } from "./disruption/controller.ts";
import { EndpointSliceController, endpointSliceRole } from "./endpoints/controller.ts";
import { endpointsRole } from "./endpoints/endpoints-control.ts";
import {
  EndpointSliceMirroringController,
  endpointSliceMirroringRole,
} from "./endpoints/mirroring.ts";
import type { ControllerDeps } from "./framework/deps.ts";
import type { ControllerRole } from "./framework/role.ts";
import { ExpandController, expandRole } from "./expansion/controller.ts";
import { EphemeralVolumeController, ephemeralVolumeRole } from "./ephemeral/controller.ts";
import { eventComponent } from "./framework/event-components.ts";
import { GarbageCollector, garbageRole } from "./garbage/controller.ts";
import { JobController, jobRole } from "./job/controller.ts";
import { LegacyTokenCleaner, legacyTokenCleanerRole } from "./legacytokens/cleaner.ts";
import type { ControllerMetrics } from "./metrics.ts";
import { NamespaceController, namespaceRole } from "./namespace/controller.ts";
import { NodeIpamController, type NodeIpamOptions } from "./nodeipam/controller.ts";
import { NodeLifecycleController, nodeRole } from "./nodelifecycle/controller.ts";
import type { NodeLifecycleOptions } from "./nodelifecycle/options.ts";
import { NodeTtlController, nodeTtlRole } from "./nodettl/controller.ts";
import { TaintEvictionController } from "./nodelifecycle/taint-eviction.ts";
import { VolumeBinder, volumeBinderRole } from "./persistentvolume/controller.ts";
import { PodGarbageCollector, podGarbageCollectorRole } from "./podgc/controller.ts";
import {
  AttributesClassProtectionController,
  attributesClassProtectionRole,
} from "./protection/attributes-class-controller.ts";
import { ClaimProtectionController, claimProtectionRole } from "./protection/claim-controller.ts";
import {
  VolumeProtectionController,
  volumeProtectionRole,
} from "./protection/volume-controller.ts";
import {
  type CheckPolicyTypes,
  PolicyStatusController,
  policyStatusRole,
} from "./policystatus/controller.ts";
import { ResourceQuotaController, resourceQuotaRole } from "./quota/controller.ts";
import { ResourceClaimController, resourceClaimRole } from "./resourceclaim/controller.ts";
import { ReplicaSetController } from "./replicaset/controller.ts";
import {
  replicaSetKind,
  replicationControllerKind,
  replicaSetRole,
  replicationControllerRole,
} from "./replicaset/kinds.ts";
import { serviceAccountController, serviceAccountRole } from "./serviceaccount/controller.ts";
import { rootCaPublisher, rootCaPublisherRole } from "./serviceaccount/root-ca-publisher.ts";
import { type LegacyTokens, TokensController } from "./serviceaccount/token-controller.ts";
import { ServiceCidrsController, serviceCidrsRole } from "./servicecidrs/controller.ts";
import { StatefulSetController, statefulSetRole } from "./statefulset/controller.ts";
import { TtlAfterFinishedController, ttlAfterFinishedRole } from "./ttl/controller.ts";

interface ManagerDeps {
  /** A client that acts as this service account of kube-system, so that each controller has its own rights. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly supervisor: Supervisor;
  readonly metrics?: ControllerMetrics;
  /** Paces evictions; creations are paced by the clients of `clientFor`. Absent: no pacing. */
  readonly recovery?: RecoveryBudget;
  /** Observer of a controller's queue, by the controller's name. */
  readonly observe?: (name: string) => WorkQueueObserver;
}

export interface ManagerOptions {
  /** PEM of the authority with which pods verify the API server. */
  readonly rootCa: string;
  /** Absent: no legacy tokens are created. */
  readonly legacyTokens?: LegacyTokens;
  /** Absent: certificate requests are neither approved, signed nor deleted. */
  readonly certificates?: SigningOptions;
  /** Absent: cluster-info is not signed. */
  readonly signDetached?: SignDetached;
  /** As upstream's --controllers: `*`, `name`, `-name` (controller-names.ts); absent: all. */
  readonly controllers?: readonly string[];
  /** Concurrent keys by controller name, as upstream's --concurrent-*-syncs. Absent: the controller's default. */
  readonly workers?: ReadonlyMap<string, number>;
  /** Absent: nodes get no pod address ranges. */
  readonly nodeIpam?: NodeIpamOptions;
  /** Absent: upstream's defaults. */
  readonly nodeLifecycle?: NodeLifecycleOptions;
  /** Absent: upstream's defaults. */
  readonly autoscaling?: AutoscalingOptions;
  /** Maximum finished pods kept; absent: upstream's 12,500. */
  readonly terminatedPodsMax?: number;
  /** Time without use after which legacy tokens are marked, and then deleted; absent: one year. */
  readonly legacyTokenPeriodMs?: number;
  /** Absent: the status of policies is not maintained. */
  readonly checkPolicyTypes?: CheckPolicyTypes;
}

export interface ControllerManager {
  /** Runs every controller until `signal` aborts; resolves when all have ended. */
  run(signal: AbortSignal): Promise<void>;
  /** By controller name. */
  metrics(): ReadonlyMap<string, WorkQueueMetrics>;
}

/** Creates a controller's options; `createController` runs it. */
type Factory = (deps: ControllerDeps, options: ManagerOptions) => AnyControllerOptions;

/** The name used in events, the role of the controller's service account, and the factory. */
type NamedFactory = readonly [component: string, role: ControllerRole, factory: Factory];

const factories: readonly NamedFactory[] = [
  ["namespace-controller", namespaceRole, (deps) => new NamespaceController(deps)],
  ["garbage-collector", garbageRole, (deps) => new GarbageCollector(deps)],
  ["deployment-controller", deploymentRole, (deps) => new DeploymentController(deps)],
  [
    "replicaset-controller",
    replicaSetRole,
    (deps) => new ReplicaSetController(deps, replicaSetKind),
  ],
  [
    "replication-controller",
    replicationControllerRole,
    (deps) => new ReplicaSetController(deps, replicationControllerKind),
  ],
  ["statefulset-controller", statefulSetRole, (deps) => new StatefulSetController(deps)],
  ["daemonset-controller", daemonSetRole, (deps) => new DaemonSetController(deps)],
  ["job-controller", jobRole, (deps) => new JobController(deps)],
  ["cronjob-controller", cronJobRole, (deps) => new CronJobController(deps)],
  [
    "ttl-after-finished-controller",
    ttlAfterFinishedRole,
    (deps) => new TtlAfterFinishedController(deps),
  ],
  ["endpoint-slice-controller", endpointSliceRole, (deps) => new EndpointSliceController(deps)],
  [
    "endpoint-slice-mirroring-controller",
    endpointSliceMirroringRole,
    (deps) => new EndpointSliceMirroringController(deps),
  ],
  ["resourcequota-controller", resourceQuotaRole, (deps) => new ResourceQuotaController(deps)],
  [
    "clusterrole-aggregation-controller",
    clusterRoleAggregationRole,
    (deps) => new ClusterRoleAggregationController(deps),
  ],
  ["pvc-protection-controller", claimProtectionRole, (deps) => new ClaimProtectionController(deps)],
  [
    "pv-protection-controller",
    volumeProtectionRole,
    (deps) => new VolumeProtectionController(deps),
  ],
  [
    "volumeattributesclass-protection-controller",
    attributesClassProtectionRole,
    (deps) => new AttributesClassProtectionController(deps),
  ],
  ["ephemeral_volume", ephemeralVolumeRole, (deps) => new EphemeralVolumeController(deps)],
  ["resourceclaim-controller", resourceClaimRole, (deps) => new ResourceClaimController(deps)],
  ["attachdetach-controller", attachDetachRole, (deps) => new AttachDetachController(deps)],
  ["persistentvolume-expander-controller", expandRole, (deps) => new ExpandController(deps)],
  ["persistentvolume-controller", volumeBinderRole, (deps) => new VolumeBinder(deps)],
  [
    "horizontal-pod-autoscaler",
    horizontalPodAutoscalerRole,
    (deps, { autoscaling }) => new HorizontalPodAutoscalerController(deps, autoscaling),
  ],
  ["serviceaccount-controller", serviceAccountRole, serviceAccountController],
  ["root-ca-certificate-publisher", rootCaPublisherRole, rootCaPublisher],
  [
    "pod-garbage-collector",
    podGarbageCollectorRole,
    (deps, { terminatedPodsMax }) => new PodGarbageCollector(deps, terminatedPodsMax),
  ],
  ["disruption-controller", disruptionRole, (deps) => new DisruptionController(deps)],
  [
    "node-controller",
    nodeRole,
    (deps, { nodeLifecycle }) => new NodeLifecycleController(deps, nodeLifecycle),
  ],
  ["taint-eviction-controller", nodeRole, (deps) => new TaintEvictionController(deps)],
  [
    "device-taint-eviction-controller",
    deviceTaintEvictionRole,
    (deps) => new DeviceTaintEvictionController(deps),
  ],
  ["service-cidr-controller", serviceCidrsRole, (deps) => new ServiceCidrsController(deps)],
  ["ttl-controller", nodeTtlRole, (deps) => new NodeTtlController(deps)],
  [
    "legacy-serviceaccount-token-cleaner-controller",
    legacyTokenCleanerRole,
    (deps, { legacyTokenPeriodMs }) => new LegacyTokenCleaner(deps, legacyTokenPeriodMs),
  ],
  ["token-cleaner-controller", tokenCleanerRole, (deps) => new TokenCleaner(deps)],
];

/** Roles of additional service accounts that controllers use for part of their work. */
const furtherRoles: readonly ControllerRole[] = [endpointsRole, certificateRole, policyStatusRole];

/** Controllers whose workers mostly wait for the creation of pods, by name. */
const podOwners: ReadonlySet<string> = new Set([
  "replicaset-controller",
  "replication-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
]);

const pacedWorkersCount = 64;

const allRoles = new Set([...factories.map(([, role]) => role), ...furtherRoles]);

/** For the API server's bootstrap policy: each role once, except those limited to a namespace. */
export const controllerRoles: readonly ControllerRole[] = [...allRoles].filter(
  ({ rules }) => rules.length > 0,
);

export function createControllerManager(
  deps: ManagerDeps,
  options: ManagerOptions,
): ControllerManager {
  const entries = [
    ...factories,
    ...tokensFactories(options),
    ...certificateFactories(options),
    ...clusterInfoFactories(options),
    ...policyFactories(options),
    ...nodeIpamFactories(options),
  ];
  const chosen = entries.filter(([component]) => isChosen(component, options.controllers ?? ["*"]));
  const controllers = chosen.map((entry) => openController(deps, options, entry));
  return {
    metrics: () => new Map(controllers.map((one) => [one.name, one.metrics()])),
    async run(signal) {
      await Promise.all(controllers.map((one) => runSupervised(deps.supervisor, one, signal)));
    },
  };
}

function nodeIpamFactories({ nodeIpam }: ManagerOptions): readonly NamedFactory[] {
  if (nodeIpam === undefined) return [];
  return [["node-ipam-controller", nodeRole, (deps) => new NodeIpamController(deps, nodeIpam)]];
}

/** Present only in a control plane that signs tokens itself. */
function tokensFactories({ rootCa, legacyTokens }: ManagerOptions): readonly NamedFactory[] {
  if (legacyTokens === undefined) return [];
  const factory: Factory = (deps) => new TokensController(deps, { ...legacyTokens, rootCa });
  return [["serviceaccount-token-controller", serviceAccountRole, factory]];
}

/** Present only in a control plane that has the key of its authority. */
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
    certificateRole,
    factory,
  ]);
}

function clusterInfoFactories({ signDetached }: ManagerOptions): readonly NamedFactory[] {
  if (signDetached === undefined) return [];
  const factory: Factory = (deps) => new BootstrapSigner(deps, signDetached);
  return [["bootstrap-signer-controller", bootstrapSignerRole, factory]];
}

function policyFactories({ checkPolicyTypes }: ManagerOptions): readonly NamedFactory[] {
  if (checkPolicyTypes === undefined) return [];
  const factory: Factory = (deps) => new PolicyStatusController(deps, checkPolicyTypes);
  return [["validatingadmissionpolicy-status-controller", policyStatusRole, factory]];
}

function openController(
  deps: ManagerDeps,
  options: ManagerOptions,
  [component, role, factory]: NamedFactory,
): Controller {
  const client = deps.clientFor(role.account);
  const source = eventComponent(role.account, component);
  const recorder = createEventRecorder({ ...deps, client }, { component: source });
  const log = deps.log.child({ controller: component });
  const own = { ...deps, client, recorder, log };
  const controller = factory(own, options);
  const workers = options.workers?.get(controller.name) ?? pacedWorkers(deps, controller);
  const observer = deps.observe?.(controller.name);
  return createController(own, controller, {
    ...given({ workers, observer }),
  });
}

/**
 * A worker that waits for the recovery budget holds only its key, and the budget bounds the writes. With more workers,
 * an owner in a quiet namespace can queue beside the owners of a namespace that has hundreds.
 */
function pacedWorkers(
  { recovery }: ManagerDeps,
  { name }: AnyControllerOptions,
): number | undefined {
  return recovery !== undefined && podOwners.has(name) ? pacedWorkersCount : undefined;
}

function runSupervised(
  supervisor: Supervisor,
  controller: Controller,
  signal: AbortSignal,
): Promise<void> {
  return supervisor.run(`controllers.${controller.name}`, signal, () => controller.run(signal));
}
