/** Rules of cluster-level groups. */
import type { Rules } from "../strategies/build.ts";
import { validateAutoscaler, validateAutoscalerStatus } from "./autoscalers.ts";
import {
  validateApproval,
  validateSigningRequest,
  validateSigningRequestUpdate,
  validateSigningStatus,
} from "./certificates.ts";
import {
  validateDefinition,
  validateDefinitionStatus,
  validateDefinitionUpdate,
  definitionWarnings,
} from "./definitions.ts";
import {
  validateClaimTemplate,
  validateClaimTemplateUpdate,
  validateDeviceClass,
  validateResourceClaim,
  validateResourceClaimUpdate,
} from "./device-claims.ts";
import { validateResourceClaimStatus } from "./device-claim-status.ts";
import { validateResourceSlice, validateResourceSliceUpdate } from "./device-slices.ts";
import {
  validateIngress,
  validateIngressClass,
  validateIngressClassUpdate,
  validateIngressStatus,
  validateIngressUpdate,
} from "./ingresses.ts";
import {
  validateIpAddress,
  validateIpAddressUpdate,
  validateNetworkPolicy,
  validateNetworkPolicyUpdate,
  validateServiceCidr,
  validateServiceCidrUpdate,
} from "./network-policies.ts";
import {
  validateBudget,
  validateBudgetStatus,
  validatePriorityClass,
  validatePriorityClassUpdate,
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from "./policies.ts";
import {
  validatePodGroup,
  validatePodGroupStatus,
  validatePodGroupUpdate,
  validateWorkload,
  validateWorkloadUpdate,
} from "./pod-groups.ts";
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateClusterRoleBindingUpdate,
  validateRole,
  validateRoleBinding,
  validateRoleBindingUpdate,
} from "./rbac.ts";
import { validateApiService, validateFlowSchema, validatePriorityLevel } from "./servers.ts";
import {
  validatePodCertificateRequest,
  validatePodCertificateStatus,
  validatePodCertificateUpdate,
  validateTrustBundle,
  validateTrustBundleUpdate,
} from "./signers.ts";
import {
  validateAttachment,
  validateAttachmentUpdate,
  validateAttributesClass,
  validateAttributesClassUpdate,
  validateCsiDriver,
  validateCsiDriverUpdate,
  validateCsiNode,
  validateCsiNodeUpdate,
  validateStorageCapacity,
  validateStorageCapacityUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
} from "./storage.ts";
import { validateMutatingPolicy } from "./mutating-policies.ts";
import { validateAdmissionPolicy, validateValidatingBinding } from "./validating-policies.ts";
import { validateMutatingBinding, validatePolicyBinding } from "./policy-bindings.ts";
import {
  driverWarnings,
  ingressWarnings,
  resourceSliceWarnings,
  staticNameWarnings,
} from "./warnings.ts";
import { loadBalancerWarnings, networkPolicyWarnings } from "./warnings-addresses.ts";
import {
  runtimeClassWarnings,
  storageCapacityWarnings,
  storageClassWarnings,
} from "./warnings-labels.ts";
import { validateWebhooks } from "./webhooks.ts";

const admission: Readonly<Record<string, Rules>> = {
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": {
    validate: validateWebhooks,
    warnings: staticNameWarnings,
  },
  "admissionregistration.k8s.io/validatingwebhookconfigurations": {
    validate: validateWebhooks,
    warnings: staticNameWarnings,
  },
  "admissionregistration.k8s.io/mutatingadmissionpolicies": {
    validate: validateMutatingPolicy,
    warnings: staticNameWarnings,
  },
  "admissionregistration.k8s.io/validatingadmissionpolicies": {
    validate: validateAdmissionPolicy,
    warnings: staticNameWarnings,
  },
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": {
    validate: (binding) => [
      ...validatePolicyBinding(binding),
      ...validateValidatingBinding(binding),
    ],
    warnings: staticNameWarnings,
  },
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": {
    validate: (binding) => [...validatePolicyBinding(binding), ...validateMutatingBinding(binding)],
    warnings: staticNameWarnings,
  },
};

const machinery: Readonly<Record<string, Rules>> = {
  "apiextensions.k8s.io/customresourcedefinitions": {
    validate: validateDefinition,
    validateUpdate: validateDefinitionUpdate,
    warnings: definitionWarnings,
    subresources: { status: validateDefinitionStatus },
  },
  "apiregistration.k8s.io/apiservices": { validate: validateApiService },
  "certificates.k8s.io/certificatesigningrequests": {
    validate: validateSigningRequest,
    validateUpdate: validateSigningRequestUpdate,
    subresources: { status: validateSigningStatus, approval: validateApproval },
  },
  "certificates.k8s.io/clustertrustbundles": {
    validate: validateTrustBundle,
    validateUpdate: validateTrustBundleUpdate,
  },
  "certificates.k8s.io/podcertificaterequests": {
    validate: validatePodCertificateRequest,
    validateUpdate: validatePodCertificateUpdate,
    subresources: { status: validatePodCertificateStatus },
  },
  "resource.k8s.io/deviceclasses": { validate: validateDeviceClass },
  "resource.k8s.io/resourceslices": {
    validate: validateResourceSlice,
    validateUpdate: validateResourceSliceUpdate,
    warnings: resourceSliceWarnings,
  },
  "resource.k8s.io/resourceclaims": {
    validate: validateResourceClaim,
    validateUpdate: validateResourceClaimUpdate,
    subresources: { status: validateResourceClaimStatus },
  },
  "resource.k8s.io/resourceclaimtemplates": {
    validate: validateClaimTemplate,
    validateUpdate: validateClaimTemplateUpdate,
  },
  "flowcontrol.apiserver.k8s.io/flowschemas": { validate: validateFlowSchema },
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": { validate: validatePriorityLevel },
};

const network: Readonly<Record<string, Rules>> = {
  "networking.k8s.io/ingresses": {
    validate: validateIngress,
    validateUpdate: validateIngressUpdate,
    subresources: { status: validateIngressStatus },
    warnings: ingressWarnings,
    subresourceWarnings: { status: loadBalancerWarnings },
  },
  "networking.k8s.io/ingressclasses": {
    validate: validateIngressClass,
    validateUpdate: validateIngressClassUpdate,
  },
  "networking.k8s.io/networkpolicies": {
    validate: validateNetworkPolicy,
    validateUpdate: validateNetworkPolicyUpdate,
    warnings: networkPolicyWarnings,
  },
  "networking.k8s.io/servicecidrs": {
    validate: validateServiceCidr,
    validateUpdate: validateServiceCidrUpdate,
  },
  "networking.k8s.io/ipaddresses": {
    validate: validateIpAddress,
    validateUpdate: validateIpAddressUpdate,
  },
};

const policy: Readonly<Record<string, Rules>> = {
  "autoscaling/horizontalpodautoscalers": {
    validate: validateAutoscaler,
    subresources: { status: validateAutoscalerStatus },
  },
  "policy/poddisruptionbudgets": {
    validate: validateBudget,
    subresources: { status: validateBudgetStatus },
  },
  "scheduling.k8s.io/priorityclasses": {
    validate: validatePriorityClass,
    validateUpdate: validatePriorityClassUpdate,
  },
  "scheduling.k8s.io/podgroups": {
    validate: validatePodGroup,
    validateUpdate: validatePodGroupUpdate,
    subresources: { status: validatePodGroupStatus },
  },
  "scheduling.k8s.io/workloads": {
    validate: validateWorkload,
    validateUpdate: validateWorkloadUpdate,
  },
  "node.k8s.io/runtimeclasses": {
    validate: validateRuntimeClass,
    validateUpdate: validateRuntimeClassUpdate,
    warnings: runtimeClassWarnings,
  },
  "rbac.authorization.k8s.io/roles": { validate: validateRole },
  "rbac.authorization.k8s.io/clusterroles": { validate: validateClusterRole },
  "rbac.authorization.k8s.io/rolebindings": {
    validate: validateRoleBinding,
    validateUpdate: validateRoleBindingUpdate,
  },
  "rbac.authorization.k8s.io/clusterrolebindings": {
    validate: validateClusterRoleBinding,
    validateUpdate: validateClusterRoleBindingUpdate,
  },
};

const storage: Readonly<Record<string, Rules>> = {
  "storage.k8s.io/storageclasses": {
    validate: validateStorageClass,
    validateUpdate: validateStorageClassUpdate,
    warnings: storageClassWarnings,
  },
  "storage.k8s.io/csidrivers": {
    validate: validateCsiDriver,
    validateUpdate: validateCsiDriverUpdate,
    warnings: driverWarnings,
  },
  "storage.k8s.io/csinodes": { validate: validateCsiNode, validateUpdate: validateCsiNodeUpdate },
  "storage.k8s.io/csistoragecapacities": {
    validate: validateStorageCapacity,
    validateUpdate: validateStorageCapacityUpdate,
    warnings: storageCapacityWarnings,
  },
  "storage.k8s.io/volumeattachments": {
    validate: validateAttachment,
    validateUpdate: validateAttachmentUpdate,
  },
  "storage.k8s.io/volumeattributesclasses": {
    validate: validateAttributesClass,
    validateUpdate: validateAttributesClassUpdate,
  },
};

export const clusterRules: Readonly<Record<string, Rules>> = {
  ...admission,
  ...machinery,
  ...network,
  ...policy,
  ...storage,
};
