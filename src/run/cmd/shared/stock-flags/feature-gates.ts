/**
 * `--feature-gates`: those of pod groups are switched; of the others each is taken at the value that tells what is
 * here, and refused by name at the other.
 *
 * Source: pkg/features of k8s.io/kubernetes, apiserver, apiextensions-apiserver, client-go, component-base and
 *         controller-manager, 1.36.3, with upstream's defaults.
 */
import { InvalidArgumentError } from "commander";
import { ownEntry } from "#base/own.ts";
import { UsageError } from "../usage-error.ts";

/** Gates of one of upstream's stages: "" (generally available), BETA, ALPHA, DEPRECATED. */
interface StagedGates {
  readonly stage: string;
  readonly names: ReadonlySet<string>;
}

function staged(stage: string, text: string): StagedGates {
  return { stage, names: new Set(text.trim().split(/\s+/)) };
}

/** Implemented gates that are on by default upstream. docs/features.md has a row for each that upstream can switch off. */
const on: readonly StagedGates[] = [
  staged(
    "",
    `
APIServerTracing AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache
CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAPrioritizedList
DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex JobManagedBy
JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
MutableCSINodeAllocatableCount MutatingAdmissionPolicy NFTablesProxyMode
NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
VolumeAttributesClass WinDSR WinOverlay
`,
  ),
  staged(
    "BETA",
    `
APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
ContainerCheckpoint ContainerRestartRules
ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints
DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus
DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
HPAConfigurableTolerance HostnameOverride InOrderInformersBatchProcess
InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers
KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost
PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission
PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation
ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID
ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction
SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
StructuredAuthenticationConfigurationEgressSelector
StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
`,
  ),
  staged(
    "ALPHA",
    `
ControllerManagerReleaseLeaderElectionLockOnExit
`,
  ),
  staged(
    "DEPRECATED",
    `
AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
`,
  ),
];

/** Gates without an implementation here, off by default upstream except for those that docs/features.md names as absent. */
const off: readonly StagedGates[] = [
  staged(
    "BETA",
    `
AllBeta ClusterTrustBundle ClusterTrustBundleProjection
ConcurrentWatchObjectDecode CoordinatedLeaderElection DRADeviceTaintRules
LocalStorageCapacityIsolationFSQuotaMonitoring MaxUnavailableStatefulSet
PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
StorageVersionMigrator UnauthenticatedHTTP2DOSMitigation
`,
  ),
  staged(
    "ALPHA",
    `
APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
ContainerStopSignals CrossNamespaceVolumeDataSource DRAListTypeAttributes
DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG
HPAScaleToZero ImageVolumeWithDigest
InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch
StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
VolumeLimitScaling WindowsCPUAndMemoryAffinity WorkloadWithJob
`,
  ),
  staged(
    "DEPRECATED",
    `
AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart
DeclarativeValidationTakeover GitRepoVolumeDriver KMSv1 KubeletRegistrationGetOnExistsOnly
SeparateCacheWatchRPC WindowsHostNetwork
`,
  ),
];

/** By gate: the gates that it needs. These are implemented, off by default as upstream, and may be switched on. */
const switched: Readonly<Record<string, readonly string[]>> = {
  GenericWorkload: [],
  GangScheduling: ["GenericWorkload"],
  TopologyAwareWorkloadScheduling: ["GenericWorkload"],
  WorkloadAwarePreemption: ["GangScheduling"],
};

/** All gates of pod groups, switched on. */
export const gangGates: readonly string[] = Object.keys(switched).map((name) => `${name}=true`);

/** The boolean texts of Go's strconv.ParseBool. */
const booleans = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/** Parses a flag that may be repeated. @throws InvalidArgumentError naming the first refused gate. */
export function featureGates(text: string, before: readonly string[] = []): readonly string[] {
  const gates = text.split(",").filter((gate) => gate.trim() !== "");
  for (const gate of gates) checkGate(gate.trim());
  return [...before, ...gates];
}

function checkGate(gate: string): void {
  const [key = "", value] = gate.split("=", 2);
  const name = key.replace(/^kube:/, "").trim();
  if (value === undefined)
    throw new InvalidArgumentError(`missing bool value for feature gate ${key}.`);
  const asked = booleans.get(value.trim());
  if (asked === undefined)
    throw new InvalidArgumentError(
      `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax.`,
    );
  checkValue(name, asked);
}

/** Returns the switchable gates that are on. The last value of a gate applies. @throws UsageError. */
export function enabledGates(gates: readonly string[]): ReadonlySet<string> {
  const on = new Set<string>();
  for (const gate of gates) {
    const [key = "", value = ""] = gate.split("=", 2);
    const name = key.replace(/^kube:/, "").trim();
    if (!Object.hasOwn(switched, name)) continue;
    if (booleans.get(value.trim()) === true) on.add(name);
    else on.delete(name);
  }
  for (const name of on) {
    const missing = (ownEntry(switched, name) ?? []).filter((other) => !on.has(other));
    if (missing.length === 0) continue;
    const why = `depends on features that are disabled: [${missing.join(" ")}]`;
    throw new UsageError(`--feature-gates: ${name} is enabled, but ${why}`);
  }
  return on;
}

function checkValue(name: string, asked: boolean): void {
  if (Object.hasOwn(switched, name)) return;
  const isOn = has(on, name);
  if (!isOn && !has(off, name))
    throw new InvalidArgumentError(`unrecognized feature gate: ${name}.`);
  if (asked === isOn) return;
  const why = isOn ? "it is always on here" : "this feature is not here";
  throw new InvalidArgumentError(`${name}=${asked} is not taken: ${why} (docs/features.md).`);
}

function has(all: readonly StagedGates[], name: string): boolean {
  return all.some(({ names }) => names.has(name));
}

/** Returns name and stage of each gate, with 1 where it is on. `enabled`: the switchable gates that are on. */
export function* featureRows(
  enabled: ReadonlySet<string>,
): Generator<readonly [labels: readonly string[], value: number]> {
  for (const [all, value] of [
    [on, 1],
    [off, 0],
  ] as const) {
    for (const { stage, names } of all) for (const name of names) yield [[name, stage], value];
  }
  for (const name of Object.keys(switched)) yield [[name, "ALPHA"], enabled.has(name) ? 1 : 0];
}
