/** Table rows of cluster-level groups: admission, CRDs, certificates, networking, storage ... */
import type { AnyObject } from "../object.ts";
import { formatTime } from "../values/time.ts";
import type { Fields } from "../validation/fields.ts";
import {
  count,
  flag,
  has,
  items,
  maybe,
  part,
  text,
  texts,
  without,
} from "../validation/fields.ts";
import type { StrategyRow } from "./build.ts";

const spec = ["spec"] as const;
const webhooks: StrategyRow = { generation: ["webhooks"], unconditionalUpdate: false };
const policy: StrategyRow = { generation: spec, unconditionalUpdate: false };
const specWithStatus: StrategyRow = { status: {}, generation: spec };

const noNames = { acceptedNames: { plural: "", kind: "" } };

/** The (first) storage version is in status.storedVersions from the beginning. */
function withStoredVersion(definition: AnyObject): AnyObject {
  const status = part(definition, "status");
  const stored = new Set(texts(status, "storedVersions"));
  const versions = items(part(definition, "spec"), "versions");
  const storage = versions.find((version) => flag(version, "storage"));
  if (storage !== undefined) stored.add(text(storage, "name"));
  const kept = withoutEmptyWebhook(definition);
  return { ...kept, status: { ...status, storedVersions: [...stored] } };
}

/** Upstream's internal form cannot represent an empty webhook. */
function withoutEmptyWebhook(definition: AnyObject): AnyObject {
  const spec = part(definition, "spec");
  const conversion = part(spec, "conversion");
  const webhook = maybe(conversion, "webhook");
  if (webhook === undefined || has(webhook, "clientConfig")) return definition;
  if (count(webhook, "conversionReviewVersions") > 0) return definition;
  const { webhook: _, ...rest } = conversion;
  return { ...definition, spec: { ...spec, conversion: rest } };
}

const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** A deleted definition remains until the controller has deleted its instances. */
function markDefinition(definition: AnyObject, nowMs: number): AnyObject {
  const metadata = definition.metadata ?? {};
  const finalizers = new Set([...(metadata.finalizers ?? []), cleanupFinalizer]);
  const status = part(definition, "status");
  const deletionTimestamp = formatTime(nowMs);
  const pending = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: deletionTimestamp,
    reason: "InstanceDeletionPending",
    message:
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  const others = items(status, "conditions").filter((one) => text(one, "type") !== "Terminating");
  return {
    ...definition,
    metadata: { ...metadata, deletionTimestamp, finalizers: [...finalizers] },
    status: { ...status, conditions: [...others, pending] },
  };
}

const approvals = new Set(["Approved", "Denied"]);

/** Approvers can change only conditions. Absent conditions count as none, so validation sees removals. */
function signingApproval(next: AnyObject, old: AnyObject): AnyObject {
  const { conditions } = part(next, "status");
  const before = without(part(old, "status"), ["conditions"]);
  const status = conditions === undefined ? before : { ...before, conditions };
  return { ...old, metadata: next.metadata ?? {}, status };
}

/** Whether only approvers may set the condition. */
export function isApproval(condition: Fields): boolean {
  return approvals.has(text(condition, "type"));
}

/** A local APIService is available immediately; a controller determines it for others. */
function withLocalCondition(service: AnyObject): AnyObject {
  const { service: target } = (service["spec"] ?? {}) as { readonly service?: unknown };
  if (target !== undefined && target !== null) return service;
  const condition = {
    type: "Available",
    status: "True",
    lastTransitionTime: service.metadata?.creationTimestamp ?? "",
    reason: "Local",
    message: "Local APIServices are always available",
  };
  return { ...service, status: { conditions: [condition] } } as AnyObject;
}

const resetStatus = { statusMetadata: "reset" } as const;

export const policyRows: Readonly<Record<string, Readonly<Record<string, StrategyRow>>>> = {
  "admissionregistration.k8s.io": {
    mutatingwebhookconfigurations: webhooks,
    validatingwebhookconfigurations: webhooks,
    validatingadmissionpolicies: { ...policy, status: {}, ...resetStatus },
    validatingadmissionpolicybindings: policy,
    mutatingadmissionpolicies: policy,
    mutatingadmissionpolicybindings: policy,
  },
  "apiextensions.k8s.io": {
    customresourcedefinitions: {
      status: {},
      generation: spec,
      unconditionalUpdate: false,
      prepareForCreate: (definition) => withStoredVersion({ ...definition, status: noNames }),
      prepareForUpdate: withStoredVersion,
      markForDeletion: markDefinition,
    },
  },
  "apiregistration.k8s.io": {
    apiservices: {
      status: {},
      unconditionalUpdate: false,
      ...resetStatus,
      prepareForCreate: withLocalCondition,
    },
  },
  "authentication.k8s.io": { tokenreviews: {}, selfsubjectreviews: {} },
  "authorization.k8s.io": {
    subjectaccessreviews: {},
    selfsubjectaccessreviews: {},
    selfsubjectrulesreviews: {},
    localsubjectaccessreviews: {},
  },
  "certificates.k8s.io": {
    certificatesigningrequests: {
      status: {},
      prepareForUpdate: (next, old) => ({ ...next, spec: old["spec"] }),
      subresources: { approval: signingApproval },
    },
    clustertrustbundles: { unconditionalUpdate: false },
    podcertificaterequests: { status: {}, ...resetStatus, unconditionalUpdate: false },
  },
  "coordination.k8s.io": {
    leases: { createOnUpdate: true, unconditionalUpdate: false },
    leasecandidates: { createOnUpdate: true, unconditionalUpdate: false },
  },
  "discovery.k8s.io": { endpointslices: { generation: ["endpoints", "ports", "addressType"] } },
  "events.k8s.io": { events: { createOnUpdate: true } },
  "flowcontrol.apiserver.k8s.io": {
    flowschemas: { ...specWithStatus, ...resetStatus },
    prioritylevelconfigurations: { ...specWithStatus, ...resetStatus },
  },
  "networking.k8s.io": {
    ingresses: { status: { loadBalancer: {} }, generation: spec },
    ingressclasses: { generation: spec },
    networkpolicies: { generation: spec },
    ipaddresses: {},
    servicecidrs: { status: {}, ...resetStatus },
  },
  "node.k8s.io": { runtimeclasses: { createOnUpdate: true, unconditionalUpdate: false } },
  policy: {
    poddisruptionbudgets: {
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
      generation: spec,
      unconditionalUpdate: false,
    },
  },
  "rbac.authorization.k8s.io": {
    roles: { createOnUpdate: true },
    rolebindings: { createOnUpdate: true },
    clusterroles: { createOnUpdate: true },
    clusterrolebindings: { createOnUpdate: true },
  },
  "resource.k8s.io": {
    deviceclasses: { generation: spec },
    resourceclaims: { status: {}, ...resetStatus },
    resourceclaimtemplates: {},
    resourceslices: { generation: spec },
    devicetaintrules: { ...specWithStatus, ...resetStatus },
    resourcepoolstatusrequests: { status: {}, ...resetStatus },
  },
  "scheduling.k8s.io": {
    priorityclasses: { generation: [] },
    podgroups: { status: {}, ...resetStatus },
    workloads: {},
  },
  "storage.k8s.io": {
    storageclasses: {},
    csidrivers: { generation: spec, generationStartsUnset: true, unconditionalUpdate: false },
    csinodes: { unconditionalUpdate: false },
    csistoragecapacities: { unconditionalUpdate: false },
    volumeattachments: { status: { attached: false }, ...resetStatus, unconditionalUpdate: false },
    volumeattributesclasses: {},
  },
  "internal.apiserver.k8s.io": {
    storageversions: {
      status: {},
      generation: spec,
      ...resetStatus,
      unconditionalUpdate: false,
    },
  },
  "storagemigration.k8s.io": {
    storageversionmigrations: { ...specWithStatus, ...resetStatus, unconditionalUpdate: false },
  },
};
