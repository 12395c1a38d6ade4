/** docs/features.md has a row for each feature that Kubernetes 1.36.3 turns on and leaves switchable, with tests that exist. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

/**
 * From pkg/features of k8s.io/kubernetes, apiserver, apiextensions-apiserver, client-go, component-base and
 * controller-manager: default true at 1.36, not locked.
 */
const features = `
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
  AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
  CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
  ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerCheckpoint
  ContainerRestartRules CustomCPUCFSQuotaPeriod DRAConsumableCapacity DRADeviceBindingConditions
  DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList
  DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
  DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
  DisableCPUQuotaWithExclusiveCPUs EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
  InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
  InPlacePodVerticalScalingInitContainers InformerResourceVersion KubeletCrashLoopBackOffMax
  KubeletEnsureSecretPulledImages KubeletPodResourcesListUseActivePods KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot MatchLabelKeysInPodTopologySpread
  MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs
  MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy NodeDeclaredFeatures
  NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost
  PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets
  PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
  ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
  ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate
  SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction
  ServiceCIDRStatusFieldWiping SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
  StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageNamespaceIndex StorageVersionHash StrictIPCIDRValidation
  StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
  TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
  UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook
  WatchList WatchListClient WindowsGracefulNodeShutdown
`
  .trim()
  .split(/\s+/);

const root = new URL("../", import.meta.url);
const rows = readFileSync(new URL("docs/features.md", root), "utf8")
  .split("\n")
  .filter((line) => /^\| [A-Z]/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

test("every feature has its row, in order, and no other has", () => {
  assert.deepEqual(
    rows.map(([, feature]) => feature),
    features,
  );
});

test("a row says what is here, and names tests that exist where it claims something", () => {
  for (const [, feature = "", , , here = "", tests = ""] of rows) {
    assert.notEqual(here, "", feature);
    const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);
    for (const file of files) assert.ok(existsSync(new URL(file, root)), `${feature}: ${file}`);
    const claims = !here.startsWith("-") && !here.includes("**") && !here.endsWith("is stored");
    assert.ok(files.length > 0 || !claims, `${feature} has no test`);
  }
});
