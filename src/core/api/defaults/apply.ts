/**
 * The entry point of defaulting: one rule per built-in kind. Applied to what a client sent (after decoding,
 * before admission) and to the results of patches. Idempotent; kinds without a rule are returned unchanged.
 *
 * Explicit nulls are absent values upstream and are dropped, except in the kinds that carry foreign
 * data. Cost: one walk of the object; nothing is copied when nothing changes.
 */
import { ownEntry } from "#base/own.ts";
import type { AnyObject } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import * as core from "./core.ts";
import { pod } from "./pod-spec.ts";
import * as policies from "./policies.ts";
import type { Rule } from "./rules.ts";
import * as workloads from "./workloads.ts";

const rules: Readonly<Record<string, Rule>> = {
  "v1/Pod": pod,
  "v1/PodTemplate": workloads.podTemplateKind,
  "v1/ReplicationController": workloads.replicationController,
  "v1/Service": core.service,
  "v1/Endpoints": core.endpoints,
  "v1/Secret": core.secret,
  "v1/Namespace": core.namespace,
  "v1/Node": core.node,
  "v1/PersistentVolume": core.persistentVolume,
  "v1/PersistentVolumeClaim": core.persistentVolumeClaim,
  "v1/LimitRange": core.limitRange,
  "v1/ResourceQuota": core.resourceQuota,
  "v1/Event": core.event,
  "events.k8s.io/v1/Event": core.eventV1,
  "apps/v1/Deployment": workloads.deployment,
  "apps/v1/ReplicaSet": workloads.replicaSet,
  "apps/v1/DaemonSet": workloads.daemonSet,
  "apps/v1/StatefulSet": workloads.statefulSet,
  "batch/v1/Job": workloads.job,
  "batch/v1/CronJob": workloads.cronJob,
  "autoscaling/v1/HorizontalPodAutoscaler": workloads.autoscalerV1,
  "autoscaling/v2/HorizontalPodAutoscaler": workloads.autoscalerV2,
  "networking.k8s.io/v1/NetworkPolicy": policies.networkPolicy,
  "networking.k8s.io/v1/Ingress": policies.ingress,
  "networking.k8s.io/v1/IngressClass": policies.ingressClass,
  "networking.k8s.io/v1/ServiceCIDR": policies.serviceCidr,
  "discovery.k8s.io/v1/EndpointSlice": policies.endpointSlice,
  "storage.k8s.io/v1/StorageClass": policies.storageClass,
  "storage.k8s.io/v1/CSIDriver": policies.csiDriver,
  "storage.k8s.io/v1/CSINode": policies.csiNode,
  "storage.k8s.io/v1/CSIStorageCapacity": policies.csiStorageCapacity,
  "rbac.authorization.k8s.io/v1/RoleBinding": policies.roleBinding,
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": policies.roleBinding,
  "scheduling.k8s.io/v1/PriorityClass": policies.priorityClass,
  "scheduling.k8s.io/v1alpha2/PodGroup": policies.podGroup,
  "node.k8s.io/v1/RuntimeClass": policies.runtimeClass,
  "policy/v1/PodDisruptionBudget": policies.podDisruptionBudget,
  "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": policies.validatingWebhooks,
  "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": policies.mutatingWebhooks,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": policies.validatingPolicy,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": policies.policyBinding,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy": policies.mutatingPolicy,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": policies.policyBinding,
  "flowcontrol.apiserver.k8s.io/v1/FlowSchema": policies.flowSchema,
  "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration": policies.priorityLevel,
  "apiextensions.k8s.io/v1/CustomResourceDefinition": policies.customResourceDefinition,
  "apiregistration.k8s.io/v1/APIService": policies.apiService,
  "certificates.k8s.io/v1/CertificateSigningRequest": policies.signingRequest,
  "authentication.k8s.io/v1/TokenRequest": policies.tokenRequest,
  "resource.k8s.io/v1/ResourceClaim": policies.resourceClaim,
  "resource.k8s.io/v1/ResourceClaimTemplate": policies.resourceClaimTemplate,
  "resource.k8s.io/v1/ResourceSlice": policies.resourceSlice,
};

/** Kinds that contain JSON of other programs, in which null may be a value. */
const carriesForeignData = new Set([
  "apps/v1/ControllerRevision",
  "apiextensions.k8s.io/v1/CustomResourceDefinition",
  "resource.k8s.io/v1/ResourceClaim",
  "resource.k8s.io/v1/ResourceClaimTemplate",
  "resource.k8s.io/v1/DeviceClass",
]);

const builtIn = new Set(Object.keys(rules).map((kind) => kind.slice(0, kind.lastIndexOf("/"))));
builtIn.add("coordination.k8s.io/v1").add("events.k8s.io/v1");

/** @returns the same object when every default is already there. */
export function applyDefaults(
  group: string,
  version: string,
  kind: string,
  object: AnyObject,
): AnyObject {
  const groupVersion = group === "" ? version : `${group}/${version}`;
  if (!builtIn.has(groupVersion)) return object;
  const name = `${groupVersion}/${kind}`;
  const clean = carriesForeignData.has(name) ? object : withoutNulls(object);
  return (ownEntry(rules, name)?.(clean) ?? clean) as AnyObject;
}

function withoutNulls(fields: Fields): Fields {
  let next: Record<string, unknown> | undefined;
  for (const field in fields) {
    const value = fields[field];
    const clean = cleanValue(value);
    if (clean === value && value !== null) continue;
    next ??= { ...fields };
    if (clean === undefined) delete next[field];
    else next[field] = clean;
  }
  return next ?? fields;
}

function cleanValue(value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  if (!Array.isArray(value)) return withoutNulls(value as Fields);
  let changed = false;
  const items = value.map((item: unknown) => {
    const clean = typeof item === "object" && item !== null ? cleanValue(item) : item;
    changed ||= clean !== item;
    return clean;
  });
  return changed ? items : value;
}
