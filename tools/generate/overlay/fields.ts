/**
 * What the model classes do not tell of a field's type, by package.
 */

/** Quantities: typed plain `string` in the model classes; lists and maps name their elements. */
export const quantityFields: Readonly<Record<string, string>> = {
  "autoscaling.v2": `
    HPAScalingRules.tolerance MetricTarget.averageValue MetricTarget.value
    MetricValueStatus.averageValue MetricValueStatus.value
  `,
  "core.v1": `
    ContainerStatus.allocatedResources EmptyDirVolumeSource.sizeLimit LimitRangeItem.default
    LimitRangeItem.defaultRequest LimitRangeItem.max LimitRangeItem.maxLimitRequestRatio
    LimitRangeItem.min NodeAllocatableResourceClaimStatus.resources NodeStatus.allocatable
    NodeStatus.capacity PersistentVolumeClaimStatus.allocatedResources
    PersistentVolumeClaimStatus.capacity PersistentVolumeSpec.capacity PodSpec.overhead
    PodStatus.allocatedResources ResourceFieldSelector.divisor ResourceQuotaSpec.hard
    ResourceQuotaStatus.hard ResourceQuotaStatus.used ResourceRequirements.limits
    ResourceRequirements.requests VolumeResourceRequirements.limits
    VolumeResourceRequirements.requests
  `,
  "node.v1": `Overhead.podFixed`,
  "resource.v1": `
    CapacityRequestPolicy.default CapacityRequestPolicy.validValues CapacityRequestPolicyRange.max
    CapacityRequestPolicyRange.min CapacityRequestPolicyRange.step CapacityRequirements.requests
    Counter.value DeviceCapacity.value DeviceRequestAllocationResult.consumedCapacity
    NodeAllocatableResourceMapping.allocationMultiplier
  `,
  "resource.v1beta1": `
    CapacityRequestPolicy.default CapacityRequestPolicy.validValues CapacityRequestPolicyRange.max
    CapacityRequestPolicyRange.min CapacityRequestPolicyRange.step CapacityRequirements.requests
    Counter.value DeviceCapacity.value DeviceRequestAllocationResult.consumedCapacity
    NodeAllocatableResourceMapping.allocationMultiplier
  `,
  "resource.v1beta2": `
    CapacityRequestPolicy.default CapacityRequestPolicy.validValues CapacityRequestPolicyRange.max
    CapacityRequestPolicyRange.min CapacityRequestPolicyRange.step CapacityRequirements.requests
    Counter.value DeviceCapacity.value DeviceRequestAllocationResult.consumedCapacity
    NodeAllocatableResourceMapping.allocationMultiplier
  `,
  "storage.v1": `CSIStorageCapacity.capacity CSIStorageCapacity.maximumVolumeSize`,
};

/** Fields typed `any` in the model classes, and the definition without a class they point to. */
export const anyFields: Readonly<Record<string, string>> = {
  "apiserverinternal.v1alpha1": `StorageVersion.spec(StorageVersionSpec)`,
  "apps.v1": `ControllerRevision.data(RawExtension)`,
  "resource.v1": `
    AllocatedDeviceStatus.data(RawExtension) OpaqueDeviceConfiguration.parameters(RawExtension)
  `,
  "resource.v1beta1": `
    AllocatedDeviceStatus.data(RawExtension) OpaqueDeviceConfiguration.parameters(RawExtension)
  `,
  "resource.v1beta2": `
    AllocatedDeviceStatus.data(RawExtension) OpaqueDeviceConfiguration.parameters(RawExtension)
  `,
  "scheduling.v1alpha2": `PodGroupSchedulingPolicy.basic(BasicSchedulingPolicy)`,
  "apiextensions.v1": `
    CustomResourceSubresources.status(CustomResourceSubresourceStatus)
    JSONSchemaProps.additionalItems(JSONSchemaPropsOrBool)
    JSONSchemaProps.additionalProperties(JSONSchemaPropsOrBool) JSONSchemaProps.default(JSON)
    JSONSchemaProps.dependencies(JSONSchemaPropsOrStringArray) JSONSchemaProps.enum(JSON)
    JSONSchemaProps.example(JSON) JSONSchemaProps.items(JSONSchemaPropsOrArray)
  `,
  "meta.v1": `ManagedFieldsEntry.fieldsV1(FieldsV1) WatchEvent.object(RawExtension)`,
};
