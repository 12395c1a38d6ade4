/**
 * `--feature-gates`: features are not switched here, so each of upstream's gates is taken at the value that tells
 * what is here, and refused by name at the other.
 *
 * Source: pkg/features of k8s.io/kubernetes, apiserver, apiextensions-apiserver, client-go, component-base and
 *         controller-manager, 1.36.3, with upstream's defaults.
 */
import { InvalidArgumentError } from "commander";

/** Here, as upstream by default. docs/features.md has a row for each that upstream can switch off. */
const on = new Set(
  `
APIResponseCompression APIServerIdentity APIServerTracing AggregatedDiscoveryRemoveBetaType
AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints
AnyVolumeDataSource AtomicFIFO AuthorizeNodeWithSelectors
AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache
CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDObservedGenerationTracking
CRDValidationRatcheting CSIServiceAccountTokenSecrets ClearingNominatedNodeNameAfterBinding
ClientsAllowCARotation ClientsAllowTLSCacheGC ConsistentListFromCache ConstrainedImpersonation
ContainerCheckpoint ContainerRestartRules CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors
DRAAdminAccess DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource
DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidation
DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
DynamicResourceAllocation EnvFiles ExecProbeTimeout ExtendWebSocketsToKubelet
ExternalServiceAccountTokenSigner GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume InOrderInformers
InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling
InPlacePodVerticalScalingInitContainers InformerResourceVersion JobBackoffLimitPerIndex JobManagedBy
JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax
KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz KubeletPSI
KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesListUseActivePods
KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders KubeletTracing
ListFromCacheSnapshot LogarithmicScaleDown MatchLabelKeysInPodAffinity
MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutablePodResourcesForSuspendedJobs
MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy NFTablesProxyMode
NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OpenAPIEnums
OpportunisticBatching OrderedNamespaceDeletion PLEGOnDemandRelist PodDeletionCost PodLevelResources
PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
PodReadyToStartContainersCondition PodSchedulingReadiness PodTopologyLabelsAdmission
PortForwardWebsockets PreferSameTrafficDistribution PreventStaticPodAPIReferences ProcMountType
RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation
RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation ReloadKubeletClientCAFile
ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization
ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
RetryGenerateName RotateKubeletServerCertificate SELinuxChangePolicy SELinuxMountReadWriteOncePod
SchedulerAsyncPreemption SchedulerQueueingHints SeparateTaintEvictionController
ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping
SidecarContainers SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageNamespaceIndex
StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
StrictIPCIDRValidation StructuredAuthenticationConfiguration
StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
SupplementalGroupsPolicy SystemdWatchdog TokenRequestServiceAccountUIDValidation
TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions TranslateStreamCloseWebsocketRequests
UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO UserNamespacesSupport
VolumeAttributesClass WatchCacheInitializationPostStartHook WatchList WatchListClient WinDSR
WinOverlay WindowsGracefulNodeShutdown
`
    .trim()
    .split(/\s+/),
);

/** Not here: off by default upstream, but for those that docs/features.md names as absent. */
const off = new Set(
  `
APIServingWithRoutine AllAlpha AllBeta AllowDNSOnlyNodeCSR
AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds
AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
CRIListStreaming CSIVolumeHealth ChangeContainerStatusOnKubeletRestart ClientsAllowCBOR
ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz ComponentStatusz
ConcurrentWatchObjectDecode ContainerStopSignals CoordinatedLeaderElection
CrossNamespaceVolumeDataSource DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources
DRAResourcePoolStatus DRAWorkloadResourceClaims DeclarativeValidationTakeover EventedPLEG
GangScheduling GenericWorkload GitRepoVolumeDriver HPAScaleToZero ImageVolumeWithDigest
InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory KMSv1
KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly
LocalStorageCapacityIsolationFSQuotaMonitoring ManifestBasedAdmissionControlConfig
MaxUnavailableStatefulSet MemoryQoS MutablePVNodeAffinity NominatedNodeNameForExpectation
PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodCertificateRequest
PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SELinuxMount SchedulerAsyncAPICalls
SchedulerPopFromBackoffQ SeparateCacheWatchRPC ShardedListAndWatch StorageCapacityScoring
StorageVersionAPI StorageVersionMigrator TaintTolerationComparisonOperators
TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UnauthenticatedHTTP2DOSMitigation
UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity WindowsHostNetwork
WorkloadAwarePreemption WorkloadWithJob
`
    .trim()
    .split(/\s+/),
);

/** strconv.ParseBool's. */
const booleans = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/** Of a flag that may be given again. @throws InvalidArgumentError naming the first gate that is refused. */
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

function checkValue(name: string, asked: boolean): void {
  const isOn = on.has(name);
  if (!isOn && !off.has(name))
    throw new InvalidArgumentError(`unrecognized feature gate: ${name}.`);
  if (asked === isOn) return;
  const why = isOn ? "it is always on here" : "this feature is not here";
  throw new InvalidArgumentError(`${name}=${asked} is not taken: ${why} (docs/features.md).`);
}
