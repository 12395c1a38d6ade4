/**
 * Computes how much of a ResourceQuota objects use. Shared by admission, which charges before a write, and the
 * quota controller, which counts existing objects.
 *
 * In     an object and the quota's scopes; the time, because a pod stuck in deletion stops counting.
 * Out    amounts by quota name: `pods`, `requests.cpu`, `services.nodeports`, `count/jobs.batch` ...
 * Holds  every amount equals that of upstream's evaluators (kubernetes pkg/quota/v1/evaluator).
 * Absent resource claims (DRA), and resources that a running resize has in its status.
 */
import { clampToSafe } from "./go/go-integer.ts";
import { isNativeResource } from "./validation/resources.ts";
import { dictionary, ownEntry } from "#base/own.ts";
import { aggregateContainers, isPodLevelResource } from "./defaults/pod-resources.ts";
import { isAmong } from "./selectors/label-selector.ts";
import type {
  Container,
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  ResourceQuota,
  Service,
} from "./gen/types.ts";
import type { AnyObject, GroupResource } from "./object.ts";
import { qualifiedResource } from "./object.ts";
import type { Quantity } from "./values/quantity.ts";
import {
  addQuantities,
  compareQuantities,
  quantityOf,
  tryParseQuantity,
  value,
  zeroQuantity,
} from "./values/quantity.ts";

export type Usage = Readonly<Record<string, Quantity>>;

interface QuotaScope {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface QuotaWrite {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly subresource: string;
  readonly object: AnyObject;
  readonly oldObject: AnyObject | undefined;
}

/** Computes the usage of one resource. */
export interface UsageEvaluator {
  readonly resource: GroupResource;
  /** Whether this write can change usage at all. */
  handles(write: QuotaWrite): boolean;
  /** The names among `names` that apply to this resource. */
  matching(names: readonly string[]): readonly string[];
  matchesScope(scope: QuotaScope, object: AnyObject): boolean;
  usage(object: AnyObject, nowMs: number): Usage;
  /** The values that the quota requires and the object lacks: `must specify cpu for: c`. */
  missing(required: readonly string[], object: AnyObject): string | undefined;
}

/** Resources that are not stored, or never counted. */
const ignored: ReadonlySet<string> = new Set([
  "bindings",
  "componentstatuses",
  "events",
  "events.events.k8s.io",
  "tokenreviews.authentication.k8s.io",
  "selfsubjectreviews.authentication.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
]);

/** Resources that may also be counted by their bare name. */
const bareNames: ReadonlySet<string> = new Set([
  "configmaps",
  "resourcequotas",
  "replicationcontrollers",
  "secrets",
]);

/** The evaluator of a resource, or undefined for what no quota counts. */
export function usageEvaluator(resource: GroupResource): UsageEvaluator | undefined {
  const name = qualifiedResource(resource);
  if (ignored.has(name)) return undefined;
  if (name === "pods") return podEvaluator;
  if (name === "services") return serviceEvaluator;
  if (name === "persistentvolumeclaims") return claimEvaluator;
  return countEvaluator(resource);
}

/** The resource to which a quota name refers; undefined: none. Used by the controller. */
export function countedResource(quotaName: string): GroupResource | undefined {
  if (quotaName.startsWith("count/")) {
    const [resource = "", ...group] = quotaName.slice("count/".length).split(".");
    return { group: group.join("."), resource };
  }
  if (bareNames.has(quotaName)) return core(quotaName);
  const special = [podEvaluator, serviceEvaluator, claimEvaluator];
  return special.find((evaluator) => evaluator.matching([quotaName]).length > 0)?.resource;
}

/** All scopes of a quota as selectors; each must hold. */
function quotaScopes(quota: ResourceQuota): readonly QuotaScope[] {
  const plain = (quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...plain, ...(quota.spec?.scopeSelector?.matchExpressions ?? [])];
}

/** Whether `quota` applies to `object`. `names`: the names that it limits. */
export function quotaMatches(
  evaluator: UsageEvaluator,
  quota: ResourceQuota,
  names: readonly string[],
  object: AnyObject,
): boolean {
  if (evaluator.matching(names).length === 0) return false;
  return quotaScopes(quota).every((scope) => evaluator.matchesScope(scope, object));
}

/**
 * Returns the usage of the quota's namespace: every name in spec.hard, zero where nothing is used.
 * `list` returns the namespace's objects of one resource.
 */
export function usageOf(
  quota: ResourceQuota,
  list: (resource: GroupResource) => readonly AnyObject[],
  nowMs: number,
): Usage {
  const names = Object.keys(quota.spec?.hard ?? {});
  const used = dictionary<Quantity>();
  for (const name of names) used[name] = zeroQuantity;
  const scopes = quotaScopes(quota);
  for (const { evaluator, candidates } of evaluatorsOf(names)) {
    const own = evaluator.matching(candidates);
    if (own.length === 0) continue;
    for (const object of list(evaluator.resource)) {
      if (!scopes.every((scope) => evaluator.matchesScope(scope, object))) continue;
      const usage = evaluator.usage(object, nowMs);
      for (const name of own)
        used[name] = addQuantities(
          used[name] ?? zeroQuantity,
          ownEntry(usage, name) ?? zeroQuantity,
        );
    }
  }
  return used;
}

/** Usage of one object for the names that the quota limits; empty outside the quota's scopes. */
export function usageIn(
  quota: ResourceQuota,
  evaluator: UsageEvaluator,
  object: AnyObject,
  nowMs: number,
): Usage {
  const names = evaluator.matching(Object.keys(quota.spec?.hard ?? {}));
  if (!quotaMatches(evaluator, quota, names, object)) return {};
  const usage = evaluator.usage(object, nowMs);
  const used = dictionary<Quantity>();
  for (const name of names) used[name] = ownEntry(usage, name) ?? zeroQuantity;
  return used;
}

interface QuotaPart {
  readonly evaluator: UsageEvaluator;
  /** Names of the quota, including all that concern the evaluator. */
  readonly candidates: string[];
}

/** Each evaluator gets only its own names, because a quota may limit thousands of resources. */
function evaluatorsOf(names: readonly string[]): readonly QuotaPart[] {
  const special: ReadonlySet<UsageEvaluator> = new Set([
    podEvaluator,
    serviceEvaluator,
    claimEvaluator,
  ]);
  const found = new Map<string, QuotaPart>();
  for (const name of names) {
    const resource = countedResource(name);
    const evaluator = resource && usageEvaluator(resource);
    if (evaluator === undefined) continue;
    const key = qualifiedResource(evaluator.resource);
    const part = found.get(key) ?? { evaluator, candidates: [] };
    found.set(key, part);
    part.candidates.push(name);
  }
  return [...found.values()].map(({ evaluator, candidates }) =>
    special.has(evaluator) ? { evaluator, candidates: [...names] } : { evaluator, candidates },
  );
}

function core(resource: string): GroupResource {
  return { group: "", resource };
}

function countName(resource: GroupResource): string {
  return `count/${qualifiedResource(resource)}`;
}

const one = quantityOf(1, "DecimalSI");

function countEvaluator(resource: GroupResource): UsageEvaluator {
  const name = countName(resource);
  const names = bareNames.has(qualifiedResource(resource)) ? [name, resource.resource] : [name];
  return {
    resource,
    handles: (write) => write.operation === "CREATE" && write.subresource === "",
    matching: (wanted) => wanted.filter((entry) => names.includes(entry)),
    matchesScope: () => false,
    usage: () => Object.fromEntries(names.map((entry) => [entry, one])),
    missing: () => undefined,
  };
}

// ---- pods

const podNames: ReadonlySet<string> = new Set([
  "count/pods",
  "cpu",
  "memory",
  "ephemeral-storage",
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "pods",
]);

/** A quota on one of these requires every container to specify it; kept for compatibility, as upstream. */
const obliging: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "requests.cpu",
  "requests.memory",
  "limits.cpu",
  "limits.memory",
]);

const podEvaluator: UsageEvaluator = {
  resource: core("pods"),
  handles({ operation, subresource, object, oldObject }) {
    if (subresource === "resize") return operation === "UPDATE";
    if (subresource !== "") return false;
    if (operation === "CREATE") return true;
    return (
      operation === "UPDATE" &&
      oldObject !== undefined &&
      hasDeadline(asPod(object)) !== hasDeadline(asPod(oldObject))
    );
  },
  matching: (names) => names.filter((name) => podNames.has(name) || isExtendedName(name)),
  matchesScope: (scope, object) => podMatchesScope(scope, asPod(object)),
  usage: (object, nowMs) => podUsage(object, nowMs),
  missing: (required, object) => podMissing(required, asPod(object)),
};

/** Safe, because the object was decoded with the schema of its kind. */
function asPod(object: AnyObject): Pod {
  return object as Pod;
}

function hasDeadline(pod: Pod): boolean {
  return (pod.spec?.activeDeadlineSeconds ?? -1) >= 0;
}

/** `hugepages-2Mi`, `requests.hugepages-2Mi`, `requests.nvidia.com/gpu`. */
function isExtendedName(name: string): boolean {
  if (name.startsWith("hugepages-") || name.startsWith("requests.hugepages-")) return true;
  return name.startsWith("requests.") && !isNativeResource(name);
}

function podUsage(object: AnyObject, nowMs: number): Usage {
  const pod = asPod(object);
  // A stored object counts in any state; its resource requests count only while it can run.
  const counted = { "count/pods": one };
  if (!podIsCharged(pod, nowMs)) return counted;
  return { ...counted, ...computeUsage(podAmounts(pod, "requests"), podAmounts(pod, "limits")) };
}

function podIsCharged(pod: Pod, nowMs: number): boolean {
  const phase = pod.status?.phase;
  if (phase === "Failed" || phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {};
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  // A pod stuck in deletion, on a lost node for instance, must not prevent its owner from creating another.
  return nowMs <= Date.parse(deletionTimestamp) + clampToSafe(deletionGracePeriodSeconds) * 1000;
}

/** The requests or limits of a whole pod: containers, overridden by pod-level amounts, plus overhead. */
export function podAmounts(pod: Pod, list: "requests" | "limits"): Usage {
  const spec = pod.spec;
  if (spec === undefined) return {};
  const sum = { ...aggregateContainers({ ...spec }, list) };
  for (const [name, text] of Object.entries(spec.resources?.[list] ?? {})) {
    if (isPodLevelResource(name)) sum[name] = tryParseQuantity(text) ?? zeroQuantity;
  }
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    const known = ownEntry(sum, name);
    // Overhead increases existing limits but never creates one.
    if (known === undefined && list === "limits") continue;
    sum[name] = addQuantities(known ?? zeroQuantity, tryParseQuantity(text) ?? zeroQuantity);
  }
  return sum;
}

function computeUsage(requests: Usage, limits: Usage): Usage {
  const usage: Record<string, Quantity> = { pods: one };
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const request = requests[name];
    const limit = limits[name];
    if (request !== undefined) usage[name] = usage[`requests.${name}`] = request;
    if (limit !== undefined) usage[`limits.${name}`] = limit;
  }
  for (const [name, request] of Object.entries(requests)) {
    if (name.startsWith("hugepages-")) usage[name] = usage[`requests.${name}`] = request;
    else if (!isNativeResource(name)) usage[`requests.${name}`] = request;
  }
  return usage;
}

function podMissing(required: readonly string[], pod: Pod): string | undefined {
  const { requests = {}, limits = {} } = pod.spec?.resources ?? {};
  if ([...Object.keys(requests), ...Object.keys(limits)].some(isPodLevelResource)) return undefined;
  const wanted = required.filter((name) => obliging.has(name)).sort();
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const faults = wanted.flatMap((name) => {
    const lacking = containers.filter((container) => !says(container, name));
    const names = [...new Set(lacking.map((container) => container.name))].sort();
    return names.length === 0 ? [] : [`${name} for: ${names.join(",")}`];
  });
  return faults.length === 0 ? undefined : `must specify ${faults.join("; ")}`;
}

function says(container: Container, name: string): boolean {
  const { requests = {}, limits = {} } = container.resources ?? {};
  if (name.startsWith("limits.")) return limits[name.slice("limits.".length)] !== undefined;
  return requests[name.replace(/^requests\./, "")] !== undefined;
}

function podMatchesScope(scope: QuotaScope, pod: Pod): boolean {
  switch (scope.scopeName) {
    case "Terminating":
      return hasDeadline(pod);
    case "NotTerminating":
      return !hasDeadline(pod);
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "PriorityClass":
      return selects(scope, pod.spec?.priorityClassName ?? "");
    case "CrossNamespacePodAffinity":
      return hasCrossNamespaceTerm(pod);
    default:
      return false;
  }
}

function selects(scope: QuotaScope, name: string): boolean {
  const listed = isAmong(scope.values ?? [], name);
  switch (scope.operator) {
    case "In":
      return name !== "" && listed;
    case "NotIn":
      return name === "" || !listed;
    case "Exists":
      return name !== "";
    case "DoesNotExist":
      return name === "";
    default:
      return false;
  }
}

/** Whether neither a container nor the pod requests CPU or memory. */
function isBestEffort(pod: Pod): boolean {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const lists = [pod.spec?.resources, ...containers.map((container) => container.resources)];
  return lists.every((resources) =>
    [resources?.requests, resources?.limits].every((amounts) =>
      ["cpu", "memory"].every((name) => isZero(amounts?.[name])),
    ),
  );
}

function isZero(text: string | undefined): boolean {
  return text === undefined || (tryParseQuantity(text) ?? zeroQuantity).nanos === 0n;
}

function hasCrossNamespaceTerm(pod: Pod): boolean {
  const affinities = [pod.spec?.affinity?.podAffinity, pod.spec?.affinity?.podAntiAffinity];
  const terms: PodAffinityTerm[] = affinities.flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      (weighted) => weighted.podAffinityTerm,
    ),
  ]);
  return terms.some(
    (term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined,
  );
}

// ---- services

const serviceNames: ReadonlySet<string> = new Set([
  "count/services",
  "services",
  "services.nodeports",
  "services.loadbalancers",
]);

const serviceEvaluator: UsageEvaluator = {
  resource: core("services"),
  handles: ({ operation, subresource }) =>
    subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  matching: (names) => names.filter((name) => serviceNames.has(name)),
  matchesScope: () => false,
  usage: (object) => serviceUsage(object as Service),
  missing: () => undefined,
};

function serviceUsage(service: Service): Usage {
  const type = service.spec?.type;
  const balanced = type === "LoadBalancer";
  return {
    "count/services": one,
    services: one,
    "services.loadbalancers": balanced ? one : zeroQuantity,
    "services.nodeports": quantityOf(nodePortsOf(service), "DecimalSI"),
  };
}

/** Computed from the spec, because ports are not allocated yet when a create is charged. */
function nodePortsOf(service: Service): number {
  const { type, ports = [], allocateLoadBalancerNodePorts } = service.spec ?? {};
  if (type === "NodePort") return ports.length;
  if (type !== "LoadBalancer") return 0;
  if (allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter((port) => (port.nodePort ?? 0) !== 0).length;
}

// ---- persistent volume claims

const classSuffix = ".storageclass.storage.k8s.io/";
const claimNames = ["persistentvolumeclaims", "requests.storage"];

const claimEvaluator: UsageEvaluator = {
  resource: core("persistentvolumeclaims"),
  handles({ operation, subresource, object, oldObject }) {
    if (subresource === "status") {
      return oldObject !== undefined && sumAllocated(object) !== sumAllocated(oldObject);
    }
    return subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  },
  matching: (names) =>
    names.filter(
      (name) =>
        name === "count/persistentvolumeclaims" ||
        claimNames.includes(name) ||
        claimNames.some((own) => name.endsWith(classSuffix + own)),
    ),
  matchesScope(scope, object) {
    if (scope.scopeName !== "VolumeAttributesClass") return false;
    const names = attributesClasses(object as PersistentVolumeClaim);
    return (names.length === 0 ? [""] : names).some((name) => selects(scope, name));
  },
  usage: (object) => claimUsage(object as PersistentVolumeClaim),
  missing: () => undefined,
};

function sumAllocated(object: AnyObject): string | undefined {
  return (object as PersistentVolumeClaim).status?.allocatedResources?.["storage"];
}

function attributesClasses(claim: PersistentVolumeClaim): readonly string[] {
  const { currentVolumeAttributesClassName, modifyVolumeStatus } = claim.status ?? {};
  const names = [
    claim.spec?.volumeAttributesClassName,
    currentVolumeAttributesClassName,
    modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined && name !== "").map(String);
}

function claimUsage(claim: PersistentVolumeClaim): Usage {
  const storageClass = claimClass(claim);
  const usage: Record<string, Quantity> = {
    persistentvolumeclaims: one,
    "count/persistentvolumeclaims": one,
  };
  const storage = claimStorage(claim);
  if (storage !== undefined) usage["requests.storage"] = storage;
  if (storageClass === "") return usage;
  usage[`${storageClass}${classSuffix}persistentvolumeclaims`] = one;
  if (storage !== undefined) usage[`${storageClass}${classSuffix}requests.storage`] = storage;
  return usage;
}

function claimClass(claim: PersistentVolumeClaim): string {
  const beta = claim.metadata?.annotations?.["volume.beta.kubernetes.io/storage-class"];
  return beta ?? claim.spec?.storageClassName ?? "";
}

/** The requested amount, or the allocated one if that is larger during an expansion. */
function claimStorage(claim: PersistentVolumeClaim): Quantity | undefined {
  const asked = wholeBytes(claim.spec?.resources?.requests?.["storage"]);
  const granted = wholeBytes(claim.status?.allocatedResources?.["storage"]);
  if (asked === undefined || granted === undefined) return asked;
  return compareQuantities(granted, asked) > 0 ? granted : asked;
}

function wholeBytes(text: string | undefined): Quantity | undefined {
  const quantity = text === undefined ? undefined : tryParseQuantity(text);
  if (quantity === undefined || quantity.nanos % 1_000_000_000n === 0n) return quantity;
  return quantityOf(value(quantity), quantity.format);
}
