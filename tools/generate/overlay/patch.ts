/**
 * Strategic merge patch facts, by package: which lists are joined, by which key, and the few
 * fields with another strategy. A list named nowhere here is replaced as a whole.
 */

/** `x-kubernetes-patch-merge-key`; the strategy is "merge" unless `patchStrategies` says more. */
export const mergeKeys: Readonly<Record<string, string>> = {
  "admissionregistration.v1": `
    MutatingAdmissionPolicySpec.matchConditions(name) MutatingWebhook.matchConditions(name)
    MutatingWebhookConfiguration.webhooks(name)
    ValidatingAdmissionPolicySpec.matchConditions(name)
    ValidatingAdmissionPolicySpec.variables(name) ValidatingWebhook.matchConditions(name)
    ValidatingWebhookConfiguration.webhooks(name)
  `,
  "admissionregistration.v1alpha1": `MutatingAdmissionPolicySpec.matchConditions(name)`,
  "admissionregistration.v1beta1": `MutatingAdmissionPolicySpec.matchConditions(name)`,
  "apps.v1": `
    DaemonSetStatus.conditions(type) DeploymentStatus.conditions(type)
    ReplicaSetStatus.conditions(type) StatefulSetStatus.conditions(type)
  `,
  "autoscaling.v2": `HorizontalPodAutoscalerStatus.conditions(type)`,
  "batch.v1": `JobStatus.conditions(type)`,
  "certificates.v1beta1": `PodCertificateRequestStatus.conditions(type)`,
  "core.v1": `
    ComponentStatus.conditions(type) Container.env(name) Container.ports(containerPort)
    Container.volumeDevices(devicePath) Container.volumeMounts(mountPath)
    ContainerStatus.allocatedResourcesStatus(name) ContainerStatus.volumeMounts(mountPath)
    EphemeralContainer.env(name) EphemeralContainer.ports(containerPort)
    EphemeralContainer.volumeDevices(devicePath) EphemeralContainer.volumeMounts(mountPath)
    NamespaceStatus.conditions(type) NodeStatus.addresses(type) NodeStatus.conditions(type)
    PersistentVolumeClaimStatus.conditions(type) PodSpec.containers(name)
    PodSpec.ephemeralContainers(name) PodSpec.hostAliases(ip) PodSpec.imagePullSecrets(name)
    PodSpec.initContainers(name) PodSpec.resourceClaims(name) PodSpec.schedulingGates(name)
    PodSpec.topologySpreadConstraints(topologyKey) PodSpec.volumes(name)
    PodStatus.conditions(type) PodStatus.hostIPs(ip) PodStatus.podIPs(ip)
    PodStatus.resourceClaimStatuses(name) ReplicationControllerStatus.conditions(type)
    ServiceAccount.secrets(name) ServiceSpec.ports(port) ServiceStatus.conditions(type)
  `,
  "flowcontrol.v1": `FlowSchemaStatus.conditions(type) PriorityLevelConfigurationStatus.conditions(type)`,
  "networking.v1": `ServiceCIDRStatus.conditions(type)`,
  "networking.v1beta1": `ServiceCIDRStatus.conditions(type)`,
  "policy.v1": `PodDisruptionBudgetStatus.conditions(type)`,
  "resource.v1": `ResourceClaimStatus.reservedFor(uid)`,
  "resource.v1alpha3": `
    DeviceTaintRuleStatus.conditions(type) ResourcePoolStatusRequestStatus.conditions(type)
  `,
  "resource.v1beta1": `ResourceClaimStatus.reservedFor(uid)`,
  "resource.v1beta2": `DeviceTaintRuleStatus.conditions(type) ResourceClaimStatus.reservedFor(uid)`,
  "scheduling.v1alpha2": `
    PodGroupSpec.resourceClaims(name) PodGroupStatus.conditions(type)
    PodGroupStatus.resourceClaimStatuses(name) PodGroupTemplate.resourceClaims(name)
  `,
  "storage.v1": `CSINodeSpec.drivers(name)`,
  "storagemigration.v1beta1": `StorageVersionMigrationStatus.conditions(type)`,
  "apiextensions.v1": `JSONSchemaProps.x-kubernetes-validations(rule)`,
  "meta.v1": `ObjectMeta.ownerReferences(uid)`,
  "apiregistration.v1": `APIServiceStatus.conditions(type)`,
};

/** `x-kubernetes-patch-strategy` where it is not a plain merge by key. */
export const patchStrategies: Readonly<Record<string, string>> = {
  "apps.v1": `DeploymentSpec.strategy(retainKeys)`,
  "core.v1": `
    NodeSpec.podCIDRs(merge) PodSpec.resourceClaims(merge,retainKeys)
    PodSpec.volumes(merge,retainKeys) PodStatus.resourceClaimStatuses(merge,retainKeys)
  `,
  "policy.v1": `PodDisruptionBudgetSpec.selector(replace)`,
  "scheduling.v1alpha2": `
    PodGroupSpec.resourceClaims(merge,retainKeys)
    PodGroupStatus.resourceClaimStatuses(merge,retainKeys)
    PodGroupTemplate.resourceClaims(merge,retainKeys)
  `,
  "meta.v1": `ObjectMeta.finalizers(merge)`,
};
