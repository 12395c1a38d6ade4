/**
 * How server-side apply joins lists and maps (`x-kubernetes-list-type`, `-list-map-keys`,
 * `-map-type`), by package. A list named nowhere here carries no statement, which means atomic.
 */

/** Replaced as a whole, and upstream says so. */
export const atomicLists: Readonly<Record<string, string>> = {
  "admissionregistration.v1": `
    MatchResources.excludeResourceRules MatchResources.resourceRules
    MutatingAdmissionPolicySpec.mutations MutatingAdmissionPolicySpec.variables
    MutatingWebhook.admissionReviewVersions MutatingWebhook.rules
    NamedRuleWithOperations.apiGroups NamedRuleWithOperations.apiVersions
    NamedRuleWithOperations.operations NamedRuleWithOperations.resourceNames
    NamedRuleWithOperations.resources RuleWithOperations.apiGroups RuleWithOperations.apiVersions
    RuleWithOperations.operations RuleWithOperations.resources TypeChecking.expressionWarnings
    ValidatingAdmissionPolicySpec.auditAnnotations ValidatingAdmissionPolicySpec.validations
    ValidatingWebhook.admissionReviewVersions ValidatingWebhook.rules
  `,
  "admissionregistration.v1alpha1": `
    MatchResources.excludeResourceRules MatchResources.resourceRules
    MutatingAdmissionPolicySpec.mutations MutatingAdmissionPolicySpec.variables
    NamedRuleWithOperations.apiGroups NamedRuleWithOperations.apiVersions
    NamedRuleWithOperations.operations NamedRuleWithOperations.resourceNames
    NamedRuleWithOperations.resources
  `,
  "admissionregistration.v1beta1": `
    MatchResources.excludeResourceRules MatchResources.resourceRules
    MutatingAdmissionPolicySpec.mutations MutatingAdmissionPolicySpec.variables
    NamedRuleWithOperations.apiGroups NamedRuleWithOperations.apiVersions
    NamedRuleWithOperations.operations NamedRuleWithOperations.resourceNames
    NamedRuleWithOperations.resources
  `,
  "apps.v1": `StatefulSetSpec.volumeClaimTemplates`,
  "authentication.v1": `
    TokenRequestSpec.audiences TokenReviewSpec.audiences TokenReviewStatus.audiences
    UserInfo.groups
  `,
  "authorization.v1": `
    FieldSelectorAttributes.requirements LabelSelectorAttributes.requirements
    NonResourceRule.nonResourceURLs NonResourceRule.verbs ResourceRule.apiGroups
    ResourceRule.resourceNames ResourceRule.resources ResourceRule.verbs
    SubjectAccessReviewSpec.groups SubjectRulesReviewStatus.nonResourceRules
    SubjectRulesReviewStatus.resourceRules
  `,
  "autoscaling.v2": `
    HPAScalingRules.policies HorizontalPodAutoscalerSpec.metrics
    HorizontalPodAutoscalerStatus.currentMetrics
  `,
  "batch.v1": `
    CronJobStatus.active JobStatus.conditions PodFailurePolicy.rules
    PodFailurePolicyRule.onPodConditions SuccessPolicy.rules
  `,
  "certificates.v1": `CertificateSigningRequestSpec.groups CertificateSigningRequestSpec.usages`,
  "core.v1": `
    Capabilities.add Capabilities.drop CephFSPersistentVolumeSource.monitors
    CephFSVolumeSource.monitors ConfigMapProjection.items ConfigMapVolumeSource.items
    Container.args Container.command Container.envFrom Container.resizePolicy
    Container.restartPolicyRules ContainerImage.names DownwardAPIProjection.items
    DownwardAPIVolumeSource.items EndpointSubset.addresses EndpointSubset.notReadyAddresses
    EndpointSubset.ports Endpoints.subsets EphemeralContainer.args EphemeralContainer.command
    EphemeralContainer.envFrom EphemeralContainer.resizePolicy
    EphemeralContainer.restartPolicyRules ExecAction.command FCVolumeSource.targetWWNs
    FCVolumeSource.wwids HTTPGetAction.httpHeaders HostAlias.hostnames
    ISCSIPersistentVolumeSource.portals ISCSIVolumeSource.portals LimitRangeSpec.limits
    LinuxContainerUser.supplementalGroups LoadBalancerIngress.ports LoadBalancerStatus.ingress
    NamespaceSpec.finalizers NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution
    NodeSelector.nodeSelectorTerms NodeSelectorRequirement.values
    NodeSelectorTerm.matchExpressions NodeSelectorTerm.matchFields NodeSpec.taints
    NodeStatus.declaredFeatures NodeStatus.images NodeStatus.runtimeHandlers
    NodeStatus.volumesAttached NodeStatus.volumesInUse PersistentVolumeClaimSpec.accessModes
    PersistentVolumeClaimStatus.accessModes PersistentVolumeSpec.accessModes
    PersistentVolumeSpec.mountOptions PodAffinity.preferredDuringSchedulingIgnoredDuringExecution
    PodAffinity.requiredDuringSchedulingIgnoredDuringExecution PodAffinityTerm.matchLabelKeys
    PodAffinityTerm.mismatchLabelKeys PodAffinityTerm.namespaces
    PodAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution
    PodAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution PodDNSConfig.nameservers
    PodDNSConfig.options PodDNSConfig.searches PodExtendedResourceClaimStatus.requestMappings
    PodSecurityContext.supplementalGroups PodSecurityContext.sysctls PodSpec.readinessGates
    PodSpec.tolerations PodStatus.containerStatuses PodStatus.ephemeralContainerStatuses
    PodStatus.hostIPs PodStatus.initContainerStatuses
    PodStatus.nodeAllocatableResourceClaimStatuses ProjectedVolumeSource.sources
    RBDPersistentVolumeSource.monitors RBDVolumeSource.monitors ResourceQuotaSpec.scopes
    ScopeSelector.matchExpressions ScopedResourceSelectorRequirement.values SecretProjection.items
    SecretVolumeSource.items ServiceAccount.imagePullSecrets ServiceSpec.clusterIPs
    ServiceSpec.externalIPs ServiceSpec.ipFamilies ServiceSpec.loadBalancerSourceRanges
    TopologySelectorLabelRequirement.values TopologySelectorTerm.matchLabelExpressions
    TopologySpreadConstraint.matchLabelKeys
  `,
  "discovery.v1": `
    EndpointHints.forNodes EndpointHints.forZones EndpointSlice.endpoints EndpointSlice.ports
  `,
  "flowcontrol.v1": `
    FlowSchemaSpec.rules PolicyRulesWithSubjects.nonResourceRules
    PolicyRulesWithSubjects.resourceRules PolicyRulesWithSubjects.subjects
  `,
  "networking.v1": `
    HTTPIngressRuleValue.paths IPBlock.except IngressLoadBalancerIngress.ports
    IngressLoadBalancerStatus.ingress IngressSpec.rules IngressSpec.tls IngressTLS.hosts
    NetworkPolicyEgressRule.ports NetworkPolicyEgressRule.to NetworkPolicyIngressRule.from
    NetworkPolicyIngressRule.ports NetworkPolicySpec.egress NetworkPolicySpec.ingress
    NetworkPolicySpec.policyTypes ServiceCIDRSpec.cidrs
  `,
  "networking.v1beta1": `ServiceCIDRSpec.cidrs`,
  "node.v1": `Scheduling.tolerations`,
  "rbac.v1": `
    AggregationRule.clusterRoleSelectors ClusterRole.rules ClusterRoleBinding.subjects
    PolicyRule.apiGroups PolicyRule.nonResourceURLs PolicyRule.resourceNames PolicyRule.resources
    PolicyRule.verbs Role.rules RoleBinding.subjects
  `,
  "resource.v1": `
    CapacityRequestPolicy.validValues Device.bindingConditions Device.bindingFailureConditions
    Device.consumesCounters Device.taints DeviceAllocationConfiguration.requests
    DeviceAllocationResult.config DeviceAllocationResult.results DeviceAttribute.bools
    DeviceAttribute.ints DeviceAttribute.strings DeviceAttribute.versions DeviceClaim.config
    DeviceClaim.constraints DeviceClaim.requests DeviceClaimConfiguration.requests
    DeviceClassSpec.config DeviceClassSpec.selectors DeviceConstraint.requests
    DeviceRequest.firstAvailable DeviceRequestAllocationResult.bindingConditions
    DeviceRequestAllocationResult.bindingFailureConditions
    DeviceRequestAllocationResult.tolerations DeviceSubRequest.selectors
    DeviceSubRequest.tolerations ExactDeviceRequest.selectors ExactDeviceRequest.tolerations
    NetworkDeviceData.ips ResourceSliceSpec.devices ResourceSliceSpec.sharedCounters
  `,
  "resource.v1alpha3": `ResourcePoolStatusRequestStatus.pools`,
  "resource.v1beta1": `
    BasicDevice.bindingConditions BasicDevice.bindingFailureConditions
    BasicDevice.consumesCounters BasicDevice.taints CapacityRequestPolicy.validValues
    DeviceAllocationConfiguration.requests DeviceAllocationResult.config
    DeviceAllocationResult.results DeviceAttribute.bools DeviceAttribute.ints
    DeviceAttribute.strings DeviceAttribute.versions DeviceClaim.config DeviceClaim.constraints
    DeviceClaim.requests DeviceClaimConfiguration.requests DeviceClassSpec.config
    DeviceClassSpec.selectors DeviceConstraint.requests DeviceRequest.firstAvailable
    DeviceRequest.selectors DeviceRequest.tolerations
    DeviceRequestAllocationResult.bindingConditions
    DeviceRequestAllocationResult.bindingFailureConditions
    DeviceRequestAllocationResult.tolerations DeviceSubRequest.selectors
    DeviceSubRequest.tolerations NetworkDeviceData.ips ResourceSliceSpec.devices
    ResourceSliceSpec.sharedCounters
  `,
  "resource.v1beta2": `
    CapacityRequestPolicy.validValues Device.bindingConditions Device.bindingFailureConditions
    Device.consumesCounters Device.taints DeviceAllocationConfiguration.requests
    DeviceAllocationResult.config DeviceAllocationResult.results DeviceAttribute.bools
    DeviceAttribute.ints DeviceAttribute.strings DeviceAttribute.versions DeviceClaim.config
    DeviceClaim.constraints DeviceClaim.requests DeviceClaimConfiguration.requests
    DeviceClassSpec.config DeviceClassSpec.selectors DeviceConstraint.requests
    DeviceRequest.firstAvailable DeviceRequestAllocationResult.bindingConditions
    DeviceRequestAllocationResult.bindingFailureConditions
    DeviceRequestAllocationResult.tolerations DeviceSubRequest.selectors
    DeviceSubRequest.tolerations ExactDeviceRequest.selectors ExactDeviceRequest.tolerations
    NetworkDeviceData.ips ResourceSliceSpec.devices ResourceSliceSpec.sharedCounters
  `,
  "scheduling.v1alpha2": `PodGroupSchedulingConstraints.topology`,
  "storage.v1": `
    CSIDriverSpec.tokenRequests CSINodeDriver.topologyKeys StorageClass.allowedTopologies
    StorageClass.mountOptions
  `,
  "apiextensions.v1": `
    CustomResourceDefinitionNames.categories CustomResourceDefinitionNames.shortNames
    CustomResourceDefinitionSpec.versions CustomResourceDefinitionStatus.storedVersions
    CustomResourceDefinitionVersion.additionalPrinterColumns
    CustomResourceDefinitionVersion.selectableFields JSONSchemaProps.allOf JSONSchemaProps.anyOf
    JSONSchemaProps.enum JSONSchemaProps.oneOf JSONSchemaProps.required
    JSONSchemaProps.x-kubernetes-list-map-keys WebhookConversion.conversionReviewVersions
  `,
  "meta.v1": `
    APIGroup.serverAddressByClientCIDRs APIGroup.versions APIGroupList.groups
    APIResource.categories APIResource.shortNames APIResourceList.resources
    APIVersions.serverAddressByClientCIDRs APIVersions.versions DeleteOptions.dryRun
    FieldSelectorRequirement.values LabelSelector.matchExpressions LabelSelectorRequirement.values
    ObjectMeta.managedFields StatusDetails.causes
  `,
  "apiregistration.v1": `APIServiceSpec.caBundle`,
};

/** Joined by value. */
export const setLists: Readonly<Record<string, string>> = {
  "admissionregistration.v1": `ValidatingAdmissionPolicyBindingSpec.validationActions`,
  "apiserverinternal.v1alpha1": `ServerStorageVersion.decodableVersions ServerStorageVersion.servedVersions`,
  "batch.v1": `
    PodFailurePolicyOnExitCodesRequirement.values UncountedTerminatedPods.failed
    UncountedTerminatedPods.succeeded
  `,
  "core.v1": `
    ContainerRestartRuleOnExitCodes.values NodeAllocatableResourceClaimStatus.containers
    NodeSpec.podCIDRs
  `,
  "discovery.v1": `Endpoint.addresses`,
  "flowcontrol.v1": `
    NonResourcePolicyRule.nonResourceURLs NonResourcePolicyRule.verbs ResourcePolicyRule.apiGroups
    ResourcePolicyRule.namespaces ResourcePolicyRule.resources ResourcePolicyRule.verbs
  `,
  "storage.v1": `CSIDriverSpec.volumeLifecycleModes`,
  "meta.v1": `ObjectMeta.finalizers`,
};

/** Joined by the keys in brackets. */
export const mapLists: Readonly<Record<string, string>> = {
  "admissionregistration.v1": `
    MutatingAdmissionPolicySpec.matchConditions(name) MutatingWebhook.matchConditions(name)
    MutatingWebhookConfiguration.webhooks(name)
    ValidatingAdmissionPolicySpec.matchConditions(name)
    ValidatingAdmissionPolicySpec.variables(name) ValidatingAdmissionPolicyStatus.conditions(type)
    ValidatingWebhook.matchConditions(name) ValidatingWebhookConfiguration.webhooks(name)
  `,
  "admissionregistration.v1alpha1": `MutatingAdmissionPolicySpec.matchConditions(name)`,
  "admissionregistration.v1beta1": `MutatingAdmissionPolicySpec.matchConditions(name)`,
  "apiserverinternal.v1alpha1": `
    StorageVersionStatus.conditions(type) StorageVersionStatus.storageVersions(apiServerID)
  `,
  "apps.v1": `
    DaemonSetStatus.conditions(type) DeploymentStatus.conditions(type)
    ReplicaSetStatus.conditions(type) StatefulSetStatus.conditions(type)
  `,
  "autoscaling.v2": `HorizontalPodAutoscalerStatus.conditions(type)`,
  "certificates.v1": `CertificateSigningRequestStatus.conditions(type)`,
  "certificates.v1beta1": `PodCertificateRequestStatus.conditions(type)`,
  "core.v1": `
    ComponentStatus.conditions(type) Container.env(name) Container.ports(containerPort,protocol)
    Container.volumeDevices(devicePath) Container.volumeMounts(mountPath)
    ContainerStatus.allocatedResourcesStatus(name) ContainerStatus.volumeMounts(mountPath)
    EphemeralContainer.env(name) EphemeralContainer.ports(containerPort,protocol)
    EphemeralContainer.volumeDevices(devicePath) EphemeralContainer.volumeMounts(mountPath)
    NamespaceStatus.conditions(type) NodeStatus.addresses(type) NodeStatus.conditions(type)
    PersistentVolumeClaimStatus.conditions(type) PodSpec.containers(name)
    PodSpec.ephemeralContainers(name) PodSpec.hostAliases(ip) PodSpec.imagePullSecrets(name)
    PodSpec.initContainers(name) PodSpec.resourceClaims(name) PodSpec.schedulingGates(name)
    PodSpec.topologySpreadConstraints(topologyKey,whenUnsatisfiable) PodSpec.volumes(name)
    PodStatus.conditions(type) PodStatus.podIPs(ip) PodStatus.resourceClaimStatuses(name)
    ReplicationControllerStatus.conditions(type) ResourceRequirements.claims(name)
    ResourceStatus.resources(resourceID) ServiceAccount.secrets(name)
    ServiceSpec.ports(port,protocol) ServiceStatus.conditions(type)
  `,
  "flowcontrol.v1": `FlowSchemaStatus.conditions(type) PriorityLevelConfigurationStatus.conditions(type)`,
  "networking.v1": `ServiceCIDRStatus.conditions(type)`,
  "networking.v1beta1": `ServiceCIDRStatus.conditions(type)`,
  "policy.v1": `PodDisruptionBudgetStatus.conditions(type)`,
  "resource.v1": `
    AllocatedDeviceStatus.conditions(type) ResourceClaimStatus.devices(driver,device,pool,shareID)
    ResourceClaimStatus.reservedFor(uid)
  `,
  "resource.v1alpha3": `
    DeviceTaintRuleStatus.conditions(type) ResourcePoolStatusRequestStatus.conditions(type)
  `,
  "resource.v1beta1": `
    AllocatedDeviceStatus.conditions(type) ResourceClaimStatus.devices(driver,device,pool,shareID)
    ResourceClaimStatus.reservedFor(uid)
  `,
  "resource.v1beta2": `
    AllocatedDeviceStatus.conditions(type) DeviceTaintRuleStatus.conditions(type)
    ResourceClaimStatus.devices(driver,device,pool,shareID) ResourceClaimStatus.reservedFor(uid)
  `,
  "scheduling.v1alpha2": `
    PodGroupSpec.resourceClaims(name) PodGroupStatus.conditions(type)
    PodGroupStatus.resourceClaimStatuses(name) PodGroupTemplate.resourceClaims(name)
    WorkloadSpec.podGroupTemplates(name)
  `,
  "storage.v1": `CSINodeSpec.drivers(name)`,
  "storagemigration.v1beta1": `StorageVersionMigrationStatus.conditions(type)`,
  "apiextensions.v1": `
    CustomResourceDefinitionStatus.conditions(type) JSONSchemaProps.x-kubernetes-validations(rule)
  `,
  "meta.v1": `ObjectMeta.ownerReferences(uid)`,
  "apiregistration.v1": `APIServiceStatus.conditions(type)`,
};

/** Structs and maps whose TYPE is atomic. */
export const atomicTypes: Readonly<Record<string, string>> = {
  "admissionregistration.v1": `MatchResources NamedRuleWithOperations ParamKind ParamRef Variable`,
  "admissionregistration.v1alpha1": `MatchResources NamedRuleWithOperations ParamKind ParamRef`,
  "admissionregistration.v1beta1": `MatchResources NamedRuleWithOperations ParamKind ParamRef Variable`,
  "autoscaling.v1": `CrossVersionObjectReference`,
  "core.v1": `
    ConfigMapKeySelector EndpointAddress EndpointPort FileKeySelector LocalObjectReference
    NodeSelector NodeSelectorTerm ObjectFieldSelector ObjectReference ResourceFieldSelector
    ScopeSelector SecretKeySelector SecretReference TopologySelectorTerm TypedLocalObjectReference
  `,
  "discovery.v1": `EndpointPort`,
  "networking.v1": `ServiceBackendPort`,
  "rbac.v1": `RoleRef Subject`,
  "meta.v1": `LabelSelector OwnerReference`,
};

/** Fields that overrule their type. */
export const fieldMapTypes: Readonly<Record<string, string>> = {
  "core.v1": `
    PersistentVolumeClaimStatus.allocatedResourceStatuses(granular)
    PersistentVolumeSpec.claimRef(granular) PodSpec.nodeSelector(atomic)
    ReplicationControllerSpec.selector(atomic) ServiceSpec.selector(atomic)
  `,
  "node.v1": `Scheduling.nodeSelector(atomic)`,
};
