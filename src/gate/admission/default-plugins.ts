/**
 * The plugins of a server, in upstream's order (kubeapiserver options/plugins.go, 1.36): the first refusal ends the
 * chain, so the order decides which refusal a client sees.
 *
 * Places  UnservedKinds, which upstream does not need, is first. ServiceAddresses, CertificateRequester and
 *         CertificateConditions are part of the storage in upstream; here they run after all plugins that may change an
 *         object. CertificateProof runs before the plugins that upstream runs after validation. `extra` (webhooks,
 *         policies) runs after the built-in mutations, and ResourceQuota is last.
 */
import type { ResourceQuota } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { alwaysPullImages } from "./always-pull-images.ts";
import { certificateConditions } from "./certificate-conditions.ts";
import type { ReadCertificateRequest } from "./certificate-reader.ts";
import {
  certificateApproval,
  certificateProof,
  certificateRequester,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
  podCertificateSigning,
} from "./certificates.ts";
import { eventRateLimit } from "./event-rate-limit.ts";
import { extendedResourceToleration } from "./extended-resource-toleration.ts";
import { defaultIngressClass } from "./ingress-class.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { ownerReferences } from "./owner-references.ts";
import { type PluginChoice, chosenPlugins } from "./plugin-choice.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { podGroupWorkloadExists } from "./pod-group-workload.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { podSecurity } from "./pod-security.ts";
import type { PodSecurityMetrics } from "./pod-security-metrics.ts";
import { nodeDeclaredFeatures, podResizeValidator } from "./pod-resize.ts";
import { podTolerationRestriction } from "./pod-toleration-restriction.ts";
import { priority } from "./priority.ts";
import { resourceClaims } from "./resource-claims.ts";
import { resourceQuota } from "./resource-quota.ts";
import { roleEscalation } from "./role-escalation.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import type { AllocatorMetrics } from "./allocator-metrics.ts";
import { serviceAddresses } from "./service-addresses.ts";
import { denyServiceExternalIPs } from "./service-external-ips.ts";
import type { ServiceAddressOptions, ServiceNumbers } from "./service-addresses.ts";
import {
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
} from "./storage.ts";
import type { AdmissionSettings } from "./settings.ts";
import {
  defaultTolerationSeconds,
  taintNodesByCondition,
  type TolerationSeconds,
} from "./taints.ts";
import { unservedKindsPlugin } from "./unserved-kinds.ts";

interface DefaultPluginDeps {
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
  readonly access: Access;
  readonly readCertificateRequest: ReadCertificateRequest;
  /** Writes a quota's status; see ResourceQuotaDeps. */
  readonly updateQuota: (quota: ResourceQuota) => Promise<unknown>;
  readonly serviceAddresses: ServiceAddressOptions;
  readonly serviceNumbers: ServiceNumbers;
  /** Absent: allocations for Services are not counted. */
  readonly allocations?: AllocatorMetrics;
  /** Absent: PodSecurity counts nothing. */
  readonly podSecurityMetrics?: PodSecurityMetrics;
  /** Resources that are currently served. */
  readonly served: () => readonly ResourceInfo[];
  readonly choice: PluginChoice;
  readonly settings: AdmissionSettings;
  /** Absent: five minutes each. */
  readonly tolerationSeconds?: TolerationSeconds;
  /** Run after the built-in plugins, before addresses are allocated and quota is charged. */
  readonly extra: readonly AdmissionPlugin[];
}

export function defaultPlugins(deps: DefaultPluginDeps): readonly AdmissionPlugin[] {
  const { settings } = deps;
  const plugins = [
    unservedKindsPlugin,
    namespaceLifecycle(deps),
    limitRanger(deps),
    serviceAccount(deps),
    nodeRestriction(deps),
    taintNodesByCondition,
    alwaysPullImages,
    podSecurity(deps, settings.podSecurity),
    podNodeSelector(deps, settings.nodeSelectors),
    priority(deps),
    defaultTolerationSeconds(deps.tolerationSeconds),
    podTolerationRestriction(deps, settings.tolerations ?? { default: [], whitelist: [] }),
    eventRateLimit(deps, settings.eventLimits ?? []),
    extendedResourceToleration,
    defaultStorageClass(deps),
    storageObjectInUseProtection,
    ownerReferences(deps),
    persistentVolumeClaimResize(deps),
    runtimeClass(deps),
    certificateProof(deps),
    certificateApproval(deps),
    certificateSigning(deps),
    podCertificateSigning(deps),
    clusterTrustBundleAttest(deps),
    certificateSubjectRestriction(deps),
    resourceClaims(deps),
    defaultIngressClass(deps),
    denyServiceExternalIPs,
    podTopologyLabels(deps),
    podGroupWorkloadExists(deps),
    nodeDeclaredFeatures(deps),
    podResizeValidator(deps),
    roleEscalation(deps),
    ...deps.extra,
    certificateRequester,
    certificateConditions(deps),
    serviceAddresses(deps, deps.serviceAddresses),
    resourceQuota({ ...deps, limitedResources: settings.limitedResources ?? [] }),
  ];
  return chosenPlugins(plugins, deps.choice);
}
