/** Rules of the core group except pods and their controllers, and of coordination, discovery and events. */
import type { Rules } from "../strategies/build.ts";
import { validateClaim, validateClaimStatus, validateClaimUpdate } from "./claims.ts";
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateLease,
  validateNamespace,
  validateNamespaceStatus,
  validateSecret,
  validateSecretUpdate,
} from "./config.ts";
import {
  validateEndpoints,
  validateEndpointsUpdate,
  validateSlice,
  validateEndpointSliceUpdate,
} from "./endpoints.ts";
import { validateCoreEvent, validateEvent, validateEventUpdate } from "./events.ts";
import { validateLimitRange } from "./limit-ranges.ts";
import { validateNode, validateNodeStatus, validateNodeUpdate } from "./nodes.ts";
import { validateVolume, validateVolumeUpdate } from "./persistent-volumes.ts";
import { validateQuota, validateQuotaStatus, validateQuotaUpdate } from "./quotas.ts";
import { validateService, validateServiceStatus, validateServiceUpdate } from "./services.ts";
import {
  claimWarnings,
  nodeWarnings,
  quotaWarnings,
  secretWarnings,
  serviceAccountWarnings,
  serviceWarnings,
  volumeWarnings,
} from "./warnings.ts";
import { endpointsWarnings, loadBalancerWarnings, sliceWarnings } from "./warnings-addresses.ts";

export const coreRules: Readonly<Record<string, Rules>> = {
  "/services": {
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    subresources: { status: validateServiceStatus },
    warnings: serviceWarnings,
    subresourceWarnings: { status: loadBalancerWarnings },
  },
  "/endpoints": {
    validate: validateEndpoints,
    validateUpdate: validateEndpointsUpdate,
    warnings: endpointsWarnings,
  },
  "/serviceaccounts": { warnings: serviceAccountWarnings },
  "/configmaps": { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
  "/secrets": {
    validate: validateSecret,
    validateUpdate: validateSecretUpdate,
    warnings: secretWarnings,
  },
  "/namespaces": {
    validate: validateNamespace,
    subresources: { status: validateNamespaceStatus, finalize: validateNamespace },
  },
  "/nodes": {
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
    subresources: { status: validateNodeStatus },
    warnings: nodeWarnings,
  },
  "/persistentvolumes": {
    validate: validateVolume,
    validateUpdate: validateVolumeUpdate,
    warnings: volumeWarnings,
  },
  "/persistentvolumeclaims": {
    validate: validateClaim,
    validateUpdate: validateClaimUpdate,
    subresources: { status: validateClaimStatus },
    warnings: claimWarnings,
  },
  "/resourcequotas": {
    validate: validateQuota,
    validateUpdate: validateQuotaUpdate,
    subresources: { status: validateQuotaStatus },
    warnings: quotaWarnings,
  },
  "/limitranges": { validate: validateLimitRange },
  "/events": { validate: validateCoreEvent },
  "events.k8s.io/events": { validate: validateEvent, validateUpdate: validateEventUpdate },
  "coordination.k8s.io/leases": { validate: validateLease },
  "discovery.k8s.io/endpointslices": {
    validate: validateSlice,
    validateUpdate: validateEndpointSliceUpdate,
    warnings: sliceWarnings,
  },
};
