/**
 * Which Go package every definition belongs to, and which API group the package serves.
 *
 * The model classes of the client library carry a version but no group; this table gives it back.
 * A definition is named `<path>.<type>`; packages without a group hold shared types.
 */
export interface PackageFacts {
  /** How the other overlay files name the package. */
  readonly name: string;
  readonly path: string;
  /** Absent: the package's types are no kinds of their own. */
  readonly group?: string;
  readonly version: string;
  /** Type names, separated by blanks; those with a model class. */
  readonly types: string;
}

export const packages: readonly PackageFacts[] = [
  {
    name: "admissionregistration.v1",
    path: "io.k8s.api.admissionregistration.v1",
    group: "admissionregistration.k8s.io",
    version: "v1",
    types: `
      ApplyConfiguration AuditAnnotation ExpressionWarning JSONPatch MatchCondition MatchResources
      MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingAdmissionPolicyBindingList
      MutatingAdmissionPolicyBindingSpec MutatingAdmissionPolicyList MutatingAdmissionPolicySpec
      MutatingWebhook MutatingWebhookConfiguration MutatingWebhookConfigurationList Mutation
      NamedRuleWithOperations ParamKind ParamRef RuleWithOperations ServiceReference TypeChecking
      ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
      ValidatingAdmissionPolicyBindingList ValidatingAdmissionPolicyBindingSpec
      ValidatingAdmissionPolicyList ValidatingAdmissionPolicySpec ValidatingAdmissionPolicyStatus
      ValidatingWebhook ValidatingWebhookConfiguration ValidatingWebhookConfigurationList
      Validation Variable WebhookClientConfig
    `,
  },
  {
    name: "admissionregistration.v1alpha1",
    path: "io.k8s.api.admissionregistration.v1alpha1",
    group: "admissionregistration.k8s.io",
    version: "v1alpha1",
    types: `
      ApplyConfiguration JSONPatch MatchCondition MatchResources MutatingAdmissionPolicy
      MutatingAdmissionPolicyBinding MutatingAdmissionPolicyBindingList
      MutatingAdmissionPolicyBindingSpec MutatingAdmissionPolicyList MutatingAdmissionPolicySpec
      Mutation NamedRuleWithOperations ParamKind ParamRef Variable
    `,
  },
  {
    name: "admissionregistration.v1beta1",
    path: "io.k8s.api.admissionregistration.v1beta1",
    group: "admissionregistration.k8s.io",
    version: "v1beta1",
    types: `
      ApplyConfiguration JSONPatch MatchCondition MatchResources MutatingAdmissionPolicy
      MutatingAdmissionPolicyBinding MutatingAdmissionPolicyBindingList
      MutatingAdmissionPolicyBindingSpec MutatingAdmissionPolicyList MutatingAdmissionPolicySpec
      Mutation NamedRuleWithOperations ParamKind ParamRef Variable
    `,
  },
  {
    name: "apiserverinternal.v1alpha1",
    path: "io.k8s.api.apiserverinternal.v1alpha1",
    group: "internal.apiserver.k8s.io",
    version: "v1alpha1",
    types: `
      ServerStorageVersion StorageVersion StorageVersionCondition StorageVersionList
      StorageVersionStatus
    `,
  },
  {
    name: "apps.v1",
    path: "io.k8s.api.apps.v1",
    group: "apps",
    version: "v1",
    types: `
      ControllerRevision ControllerRevisionList DaemonSet DaemonSetCondition DaemonSetList
      DaemonSetSpec DaemonSetStatus DaemonSetUpdateStrategy Deployment DeploymentCondition
      DeploymentList DeploymentSpec DeploymentStatus DeploymentStrategy ReplicaSet
      ReplicaSetCondition ReplicaSetList ReplicaSetSpec ReplicaSetStatus RollingUpdateDaemonSet
      RollingUpdateDeployment RollingUpdateStatefulSetStrategy StatefulSet StatefulSetCondition
      StatefulSetList StatefulSetOrdinals StatefulSetPersistentVolumeClaimRetentionPolicy
      StatefulSetSpec StatefulSetStatus StatefulSetUpdateStrategy
    `,
  },
  {
    name: "authentication.v1",
    path: "io.k8s.api.authentication.v1",
    group: "authentication.k8s.io",
    version: "v1",
    types: `
      BoundObjectReference SelfSubjectReview SelfSubjectReviewStatus TokenRequest TokenRequestSpec
      TokenRequestStatus TokenReview TokenReviewSpec TokenReviewStatus UserInfo
    `,
  },
  {
    name: "authorization.v1",
    path: "io.k8s.api.authorization.v1",
    group: "authorization.k8s.io",
    version: "v1",
    types: `
      FieldSelectorAttributes LabelSelectorAttributes LocalSubjectAccessReview
      NonResourceAttributes NonResourceRule ResourceAttributes ResourceRule
      SelfSubjectAccessReview SelfSubjectAccessReviewSpec SelfSubjectRulesReview
      SelfSubjectRulesReviewSpec SubjectAccessReview SubjectAccessReviewSpec
      SubjectAccessReviewStatus SubjectRulesReviewStatus
    `,
  },
  {
    name: "autoscaling.v1",
    path: "io.k8s.api.autoscaling.v1",
    group: "autoscaling",
    version: "v1",
    types: `
      CrossVersionObjectReference HorizontalPodAutoscaler HorizontalPodAutoscalerList
      HorizontalPodAutoscalerSpec HorizontalPodAutoscalerStatus Scale ScaleSpec ScaleStatus
    `,
  },
  {
    name: "autoscaling.v2",
    path: "io.k8s.api.autoscaling.v2",
    group: "autoscaling",
    version: "v2",
    types: `
      ContainerResourceMetricSource ContainerResourceMetricStatus CrossVersionObjectReference
      ExternalMetricSource ExternalMetricStatus HPAScalingPolicy HPAScalingRules
      HorizontalPodAutoscaler HorizontalPodAutoscalerBehavior HorizontalPodAutoscalerCondition
      HorizontalPodAutoscalerList HorizontalPodAutoscalerSpec HorizontalPodAutoscalerStatus
      MetricIdentifier MetricSpec MetricStatus MetricTarget MetricValueStatus ObjectMetricSource
      ObjectMetricStatus PodsMetricSource PodsMetricStatus ResourceMetricSource
      ResourceMetricStatus
    `,
  },
  {
    name: "batch.v1",
    path: "io.k8s.api.batch.v1",
    group: "batch",
    version: "v1",
    types: `
      CronJob CronJobList CronJobSpec CronJobStatus Job JobCondition JobList JobSpec JobStatus
      JobTemplateSpec PodFailurePolicy PodFailurePolicyOnExitCodesRequirement
      PodFailurePolicyOnPodConditionsPattern PodFailurePolicyRule SuccessPolicy SuccessPolicyRule
      UncountedTerminatedPods
    `,
  },
  {
    name: "certificates.v1",
    path: "io.k8s.api.certificates.v1",
    group: "certificates.k8s.io",
    version: "v1",
    types: `
      CertificateSigningRequest CertificateSigningRequestCondition CertificateSigningRequestList
      CertificateSigningRequestSpec CertificateSigningRequestStatus
    `,
  },
  {
    name: "certificates.v1alpha1",
    path: "io.k8s.api.certificates.v1alpha1",
    group: "certificates.k8s.io",
    version: "v1alpha1",
    types: `ClusterTrustBundle ClusterTrustBundleList ClusterTrustBundleSpec`,
  },
  {
    name: "certificates.v1beta1",
    path: "io.k8s.api.certificates.v1beta1",
    group: "certificates.k8s.io",
    version: "v1beta1",
    types: `
      ClusterTrustBundle ClusterTrustBundleList ClusterTrustBundleSpec PodCertificateRequest
      PodCertificateRequestList PodCertificateRequestSpec PodCertificateRequestStatus
    `,
  },
  {
    name: "coordination.v1",
    path: "io.k8s.api.coordination.v1",
    group: "coordination.k8s.io",
    version: "v1",
    types: `Lease LeaseList LeaseSpec`,
  },
  {
    name: "coordination.v1alpha2",
    path: "io.k8s.api.coordination.v1alpha2",
    group: "coordination.k8s.io",
    version: "v1alpha2",
    types: `LeaseCandidate LeaseCandidateList LeaseCandidateSpec`,
  },
  {
    name: "coordination.v1beta1",
    path: "io.k8s.api.coordination.v1beta1",
    group: "coordination.k8s.io",
    version: "v1beta1",
    types: `LeaseCandidate LeaseCandidateList LeaseCandidateSpec`,
  },
  {
    name: "core.v1",
    path: "io.k8s.api.core.v1",
    group: "",
    version: "v1",
    types: `
      AWSElasticBlockStoreVolumeSource Affinity AppArmorProfile AttachedVolume
      AzureDiskVolumeSource AzureFilePersistentVolumeSource AzureFileVolumeSource Binding
      CSIPersistentVolumeSource CSIVolumeSource Capabilities CephFSPersistentVolumeSource
      CephFSVolumeSource CinderPersistentVolumeSource CinderVolumeSource ClientIPConfig
      ClusterTrustBundleProjection ComponentCondition ComponentStatus ComponentStatusList
      ConfigMap ConfigMapEnvSource ConfigMapKeySelector ConfigMapList ConfigMapNodeConfigSource
      ConfigMapProjection ConfigMapVolumeSource Container ContainerExtendedResourceRequest
      ContainerImage ContainerPort ContainerResizePolicy ContainerRestartRule
      ContainerRestartRuleOnExitCodes ContainerState ContainerStateRunning
      ContainerStateTerminated ContainerStateWaiting ContainerStatus ContainerUser DaemonEndpoint
      DownwardAPIProjection DownwardAPIVolumeFile DownwardAPIVolumeSource EmptyDirVolumeSource
      EndpointAddress EndpointPort EndpointSubset Endpoints EndpointsList EnvFromSource EnvVar
      EnvVarSource EphemeralContainer EphemeralVolumeSource Event EventList EventSeries
      EventSource ExecAction FCVolumeSource FileKeySelector FlexPersistentVolumeSource
      FlexVolumeSource FlockerVolumeSource GCEPersistentDiskVolumeSource GRPCAction
      GitRepoVolumeSource GlusterfsPersistentVolumeSource GlusterfsVolumeSource HTTPGetAction
      HTTPHeader HostAlias HostIP HostPathVolumeSource ISCSIPersistentVolumeSource
      ISCSIVolumeSource ImageVolumeSource ImageVolumeStatus KeyToPath Lifecycle LifecycleHandler
      LimitRange LimitRangeItem LimitRangeList LimitRangeSpec LinuxContainerUser
      LoadBalancerIngress LoadBalancerStatus LocalObjectReference LocalVolumeSource
      ModifyVolumeStatus NFSVolumeSource Namespace NamespaceCondition NamespaceList NamespaceSpec
      NamespaceStatus Node NodeAddress NodeAffinity NodeAllocatableResourceClaimStatus
      NodeCondition NodeConfigSource NodeConfigStatus NodeDaemonEndpoints NodeFeatures NodeList
      NodeRuntimeHandler NodeRuntimeHandlerFeatures NodeSelector NodeSelectorRequirement
      NodeSelectorTerm NodeSpec NodeStatus NodeSwapStatus NodeSystemInfo ObjectFieldSelector
      ObjectReference PersistentVolume PersistentVolumeClaim PersistentVolumeClaimCondition
      PersistentVolumeClaimList PersistentVolumeClaimSpec PersistentVolumeClaimStatus
      PersistentVolumeClaimTemplate PersistentVolumeClaimVolumeSource PersistentVolumeList
      PersistentVolumeSpec PersistentVolumeStatus PhotonPersistentDiskVolumeSource Pod PodAffinity
      PodAffinityTerm PodAntiAffinity PodCertificateProjection PodCondition PodDNSConfig
      PodDNSConfigOption PodExtendedResourceClaimStatus PodIP PodList PodOS PodReadinessGate
      PodResourceClaim PodResourceClaimStatus PodSchedulingGate PodSchedulingGroup
      PodSecurityContext PodSpec PodStatus PodTemplate PodTemplateList PodTemplateSpec PortStatus
      PortworxVolumeSource PreferredSchedulingTerm Probe ProjectedVolumeSource QuobyteVolumeSource
      RBDPersistentVolumeSource RBDVolumeSource ReplicationController
      ReplicationControllerCondition ReplicationControllerList ReplicationControllerSpec
      ReplicationControllerStatus ResourceClaim ResourceFieldSelector ResourceHealth ResourceQuota
      ResourceQuotaList ResourceQuotaSpec ResourceQuotaStatus ResourceRequirements ResourceStatus
      SELinuxOptions ScaleIOPersistentVolumeSource ScaleIOVolumeSource ScopeSelector
      ScopedResourceSelectorRequirement SeccompProfile Secret SecretEnvSource SecretKeySelector
      SecretList SecretProjection SecretReference SecretVolumeSource SecurityContext Service
      ServiceAccount ServiceAccountList ServiceAccountTokenProjection ServiceList ServicePort
      ServiceSpec ServiceStatus SessionAffinityConfig SleepAction StorageOSPersistentVolumeSource
      StorageOSVolumeSource Sysctl TCPSocketAction Taint Toleration
      TopologySelectorLabelRequirement TopologySelectorTerm TopologySpreadConstraint
      TypedLocalObjectReference TypedObjectReference Volume VolumeDevice VolumeMount
      VolumeMountStatus VolumeNodeAffinity VolumeProjection VolumeResourceRequirements
      VolumeStatus VsphereVirtualDiskVolumeSource WeightedPodAffinityTerm
      WindowsSecurityContextOptions
    `,
  },
  {
    name: "discovery.v1",
    path: "io.k8s.api.discovery.v1",
    group: "discovery.k8s.io",
    version: "v1",
    types: `
      Endpoint EndpointConditions EndpointHints EndpointPort EndpointSlice EndpointSliceList
      ForNode ForZone
    `,
  },
  {
    name: "events.v1",
    path: "io.k8s.api.events.v1",
    group: "events.k8s.io",
    version: "v1",
    types: `Event EventList EventSeries`,
  },
  {
    name: "flowcontrol.v1",
    path: "io.k8s.api.flowcontrol.v1",
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    types: `
      ExemptPriorityLevelConfiguration FlowDistinguisherMethod FlowSchema FlowSchemaCondition
      FlowSchemaList FlowSchemaSpec FlowSchemaStatus GroupSubject LimitResponse
      LimitedPriorityLevelConfiguration NonResourcePolicyRule PolicyRulesWithSubjects
      PriorityLevelConfiguration PriorityLevelConfigurationCondition
      PriorityLevelConfigurationList PriorityLevelConfigurationReference
      PriorityLevelConfigurationSpec PriorityLevelConfigurationStatus QueuingConfiguration
      ResourcePolicyRule ServiceAccountSubject Subject UserSubject
    `,
  },
  {
    name: "networking.v1",
    path: "io.k8s.api.networking.v1",
    group: "networking.k8s.io",
    version: "v1",
    types: `
      HTTPIngressPath HTTPIngressRuleValue IPAddress IPAddressList IPAddressSpec IPBlock Ingress
      IngressBackend IngressClass IngressClassList IngressClassParametersReference
      IngressClassSpec IngressList IngressLoadBalancerIngress IngressLoadBalancerStatus
      IngressPortStatus IngressRule IngressServiceBackend IngressSpec IngressStatus IngressTLS
      NetworkPolicy NetworkPolicyEgressRule NetworkPolicyIngressRule NetworkPolicyList
      NetworkPolicyPeer NetworkPolicyPort NetworkPolicySpec ParentReference ServiceBackendPort
      ServiceCIDR ServiceCIDRList ServiceCIDRSpec ServiceCIDRStatus
    `,
  },
  {
    name: "networking.v1beta1",
    path: "io.k8s.api.networking.v1beta1",
    group: "networking.k8s.io",
    version: "v1beta1",
    types: `
      IPAddress IPAddressList IPAddressSpec ParentReference ServiceCIDR ServiceCIDRList
      ServiceCIDRSpec ServiceCIDRStatus
    `,
  },
  {
    name: "node.v1",
    path: "io.k8s.api.node.v1",
    group: "node.k8s.io",
    version: "v1",
    types: `Overhead RuntimeClass RuntimeClassList Scheduling`,
  },
  {
    name: "policy.v1",
    path: "io.k8s.api.policy.v1",
    group: "policy",
    version: "v1",
    types: `
      Eviction PodDisruptionBudget PodDisruptionBudgetList PodDisruptionBudgetSpec
      PodDisruptionBudgetStatus
    `,
  },
  {
    name: "rbac.v1",
    path: "io.k8s.api.rbac.v1",
    group: "rbac.authorization.k8s.io",
    version: "v1",
    types: `
      AggregationRule ClusterRole ClusterRoleBinding ClusterRoleBindingList ClusterRoleList
      PolicyRule Role RoleBinding RoleBindingList RoleList RoleRef Subject
    `,
  },
  {
    name: "resource.v1",
    path: "io.k8s.api.resource.v1",
    group: "resource.k8s.io",
    version: "v1",
    types: `
      AllocatedDeviceStatus AllocationResult CELDeviceSelector CapacityRequestPolicy
      CapacityRequestPolicyRange CapacityRequirements Counter CounterSet Device
      DeviceAllocationConfiguration DeviceAllocationResult DeviceAttribute DeviceCapacity
      DeviceClaim DeviceClaimConfiguration DeviceClass DeviceClassConfiguration DeviceClassList
      DeviceClassSpec DeviceConstraint DeviceCounterConsumption DeviceRequest
      DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceTaint DeviceToleration
      ExactDeviceRequest NetworkDeviceData NodeAllocatableResourceMapping
      OpaqueDeviceConfiguration ResourceClaim ResourceClaimConsumerReference ResourceClaimList
      ResourceClaimSpec ResourceClaimStatus ResourceClaimTemplate ResourceClaimTemplateList
      ResourceClaimTemplateSpec ResourcePool ResourceSlice ResourceSliceList ResourceSliceSpec
    `,
  },
  {
    name: "resource.v1alpha3",
    path: "io.k8s.api.resource.v1alpha3",
    group: "resource.k8s.io",
    version: "v1alpha3",
    types: `
      DeviceTaint DeviceTaintRule DeviceTaintRuleList DeviceTaintRuleSpec DeviceTaintRuleStatus
      DeviceTaintSelector PoolStatus ResourcePoolStatusRequest ResourcePoolStatusRequestList
      ResourcePoolStatusRequestSpec ResourcePoolStatusRequestStatus
    `,
  },
  {
    name: "resource.v1beta1",
    path: "io.k8s.api.resource.v1beta1",
    group: "resource.k8s.io",
    version: "v1beta1",
    types: `
      AllocatedDeviceStatus AllocationResult BasicDevice CELDeviceSelector CapacityRequestPolicy
      CapacityRequestPolicyRange CapacityRequirements Counter CounterSet Device
      DeviceAllocationConfiguration DeviceAllocationResult DeviceAttribute DeviceCapacity
      DeviceClaim DeviceClaimConfiguration DeviceClass DeviceClassConfiguration DeviceClassList
      DeviceClassSpec DeviceConstraint DeviceCounterConsumption DeviceRequest
      DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceTaint DeviceToleration
      NetworkDeviceData NodeAllocatableResourceMapping OpaqueDeviceConfiguration ResourceClaim
      ResourceClaimConsumerReference ResourceClaimList ResourceClaimSpec ResourceClaimStatus
      ResourceClaimTemplate ResourceClaimTemplateList ResourceClaimTemplateSpec ResourcePool
      ResourceSlice ResourceSliceList ResourceSliceSpec
    `,
  },
  {
    name: "resource.v1beta2",
    path: "io.k8s.api.resource.v1beta2",
    group: "resource.k8s.io",
    version: "v1beta2",
    types: `
      AllocatedDeviceStatus AllocationResult CELDeviceSelector CapacityRequestPolicy
      CapacityRequestPolicyRange CapacityRequirements Counter CounterSet Device
      DeviceAllocationConfiguration DeviceAllocationResult DeviceAttribute DeviceCapacity
      DeviceClaim DeviceClaimConfiguration DeviceClass DeviceClassConfiguration DeviceClassList
      DeviceClassSpec DeviceConstraint DeviceCounterConsumption DeviceRequest
      DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceTaint DeviceTaintRule
      DeviceTaintRuleList DeviceTaintRuleSpec DeviceTaintRuleStatus DeviceTaintSelector
      DeviceToleration ExactDeviceRequest NetworkDeviceData NodeAllocatableResourceMapping
      OpaqueDeviceConfiguration ResourceClaim ResourceClaimConsumerReference ResourceClaimList
      ResourceClaimSpec ResourceClaimStatus ResourceClaimTemplate ResourceClaimTemplateList
      ResourceClaimTemplateSpec ResourcePool ResourceSlice ResourceSliceList ResourceSliceSpec
    `,
  },
  {
    name: "scheduling.v1",
    path: "io.k8s.api.scheduling.v1",
    group: "scheduling.k8s.io",
    version: "v1",
    types: `PriorityClass PriorityClassList`,
  },
  {
    name: "scheduling.v1alpha2",
    path: "io.k8s.api.scheduling.v1alpha2",
    group: "scheduling.k8s.io",
    version: "v1alpha2",
    types: `
      GangSchedulingPolicy PodGroup PodGroupList PodGroupResourceClaim PodGroupResourceClaimStatus
      PodGroupSchedulingConstraints PodGroupSchedulingPolicy PodGroupSpec PodGroupStatus
      PodGroupTemplate PodGroupTemplateReference TopologyConstraint TypedLocalObjectReference
      Workload WorkloadList WorkloadPodGroupTemplateReference WorkloadSpec
    `,
  },
  {
    name: "storage.v1",
    path: "io.k8s.api.storage.v1",
    group: "storage.k8s.io",
    version: "v1",
    types: `
      CSIDriver CSIDriverList CSIDriverSpec CSINode CSINodeDriver CSINodeList CSINodeSpec
      CSIStorageCapacity CSIStorageCapacityList StorageClass StorageClassList TokenRequest
      VolumeAttachment VolumeAttachmentList VolumeAttachmentSource VolumeAttachmentSpec
      VolumeAttachmentStatus VolumeAttributesClass VolumeAttributesClassList VolumeError
      VolumeNodeResources
    `,
  },
  {
    name: "storage.v1beta1",
    path: "io.k8s.api.storage.v1beta1",
    group: "storage.k8s.io",
    version: "v1beta1",
    types: `VolumeAttributesClass VolumeAttributesClassList`,
  },
  {
    name: "storagemigration.v1beta1",
    path: "io.k8s.api.storagemigration.v1beta1",
    group: "storagemigration.k8s.io",
    version: "v1beta1",
    types: `
      StorageVersionMigration StorageVersionMigrationList StorageVersionMigrationSpec
      StorageVersionMigrationStatus
    `,
  },
  {
    name: "apiextensions.v1",
    path: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    group: "apiextensions.k8s.io",
    version: "v1",
    types: `
      CustomResourceColumnDefinition CustomResourceConversion CustomResourceDefinition
      CustomResourceDefinitionCondition CustomResourceDefinitionList CustomResourceDefinitionNames
      CustomResourceDefinitionSpec CustomResourceDefinitionStatus CustomResourceDefinitionVersion
      CustomResourceSubresourceScale CustomResourceSubresources CustomResourceValidation
      ExternalDocumentation JSONSchemaProps SelectableField ServiceReference ValidationRule
      WebhookClientConfig WebhookConversion
    `,
  },
  {
    name: "meta.v1",
    path: "io.k8s.apimachinery.pkg.apis.meta.v1",
    version: "v1",
    types: `
      APIGroup APIGroupList APIResource APIResourceList APIVersions Condition DeleteOptions
      FieldSelectorRequirement GroupResource GroupVersionForDiscovery LabelSelector
      LabelSelectorRequirement ListMeta ManagedFieldsEntry ObjectMeta OwnerReference Preconditions
      ServerAddressByClientCIDR ShardInfo Status StatusCause StatusDetails WatchEvent
    `,
  },
  {
    name: "version",
    path: "io.k8s.apimachinery.pkg.version",
    version: "version",
    types: `Info`,
  },
  {
    name: "apiregistration.v1",
    path: "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
    group: "apiregistration.k8s.io",
    version: "v1",
    types: `
      APIService APIServiceCondition APIServiceList APIServiceSpec APIServiceStatus
      ServiceReference
    `,
  },
];
