/**
 * PodResizeValidator and NodeDeclaredFeatureValidator: check whether the node of a running pod supports an update of
 * the pod.
 */
import type { Container, Node, Pod, ResourceRequirements } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import {
  compareQuantities,
  milliValue,
  type Quantity,
  tryParseQuantity,
  value,
  zeroQuantity,
} from "#api/values/quantity.ts";
import { podAmounts } from "#api/quota-usage.ts";
import { ApiError, type StatusReason } from "#api/status.ts";
import { ownEntry } from "#base/own.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { forbiddenError, quote } from "./request.ts";

interface Update {
  readonly pod: Pod;
  readonly old: Pod;
}

export function podResizeValidator({ lookup }: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "PodResizeValidator",
    validate(request) {
      const update = boundPodUpdate(request, ["resize"]);
      if (update === undefined) return;
      const node = nodeOf(lookup, request, update.pod);
      checkPlatform(request, node);
      checkRoom(request, update.pod, node);
    },
  };
}

export function nodeDeclaredFeatures({ lookup }: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "NodeDeclaredFeatureValidator",
    validate(request) {
      const update = boundPodUpdate(request, ["", "resize"]);
      if (update === undefined) return;
      const needed = featuresNeeded(update);
      if (needed.length === 0) return;
      const node = nodeOf(lookup, request, update.pod);
      const declared = new Set(node.status?.declaredFeatures);
      const missing = needed.filter((feature) => !declared.has(feature));
      if (missing.length === 0) return;
      const name = quote(update.pod.spec?.nodeName ?? "");
      const what = `pod update requires features ${missing.join(", ")}`;
      throw forbiddenError(request, `${what} which are not available on node ${name}`);
    },
  };
}

/** Undefined unless the update changes the spec of a pod with a node. */
function boundPodUpdate(
  request: AdmissionRequest,
  subresources: readonly string[],
): Update | undefined {
  const { info, operation, subresource, object, oldObject } = request;
  if (operation !== "UPDATE" || info.group !== "" || info.resource !== "pods") return undefined;
  if (!subresources.includes(subresource)) return undefined;
  const pod = object as Pod;
  const old = oldObject as Pod;
  if ((pod.spec?.nodeName ?? "") === "") return undefined;
  return (pod.metadata?.generation ?? 0) === (old.metadata?.generation ?? 0)
    ? undefined
    : { pod, old };
}

function nodeOf(lookup: Lister, request: AdmissionRequest, pod: Pod): Node {
  const name = pod.spec?.nodeName ?? "";
  const node = lookup.get({ group: "", resource: "nodes" }, "", name);
  if (node === undefined) throw forbiddenError(request, `node ${quote(name)} not found`);
  return node as Node;
}

function checkPlatform(request: AdmissionRequest, node: Node): void {
  const platform = node.metadata?.labels?.["kubernetes.io/os"];
  if (platform === undefined || platform === "linux") return;
  const name = quote(node.metadata?.name ?? "");
  const why = `pod resize is only supported on linux nodes, node ${name} is ${quote(platform)}`;
  throw withCause(forbiddenError(request, why), "UnsupportedPlatform");
}

function checkRoom(request: AdmissionRequest, pod: Pod, node: Node): void {
  const asked = podAmounts(pod, "requests");
  const texts: string[] = [];
  const compare = (name: string, shown: (amount: Quantity) => number): void => {
    const requested = ownEntry(asked, name) ?? zeroQuantity;
    const allocatable = tryParseQuantity(node.status?.allocatable?.[name] ?? "0") ?? zeroQuantity;
    if (compareQuantities(requested, allocatable) <= 0) return;
    texts.push(`${name}, requested: ${shown(requested)}, allocatable: ${shown(allocatable)}`);
  };
  compare("cpu", milliValue);
  compare("memory", value);
  if (texts.length === 0) return;
  const why = `node didn't have enough allocatable resources: ${texts.join("; ")}`;
  throw withCause(forbiddenError(request, why), "NodeCapacity");
}

function withCause({ status }: ApiError, reason: string): ApiError {
  const reasons: StatusReason = status.reason ?? "";
  return new ApiError({
    ...status,
    reason: reasons,
    details: { ...status.details, causes: [{ reason }] },
  });
}

/** Names of the features declared by nodes that concern updates, sorted. */
function featuresNeeded({ pod, old }: Update): readonly string[] {
  const features = [];
  if (!sameResources(resourcesOf(old), resourcesOf(pod)))
    features.push("InPlacePodLevelResourcesVerticalScaling");
  if (hasResizedInitContainer(old, pod)) features.push("InPlacePodVerticalScalingInitContainers");
  return features;
}

function resourcesOf(pod: Pod): ResourceRequirements | undefined {
  return (pod as AnyObject as { spec?: { resources?: ResourceRequirements } }).spec?.resources;
}

/** Whether an init container other than a sidecar is resized. */
function hasResizedInitContainer(old: Pod, pod: Pod): boolean {
  const now = pod.spec?.initContainers ?? [];
  const isResized = (container: Container, at: number): boolean =>
    container.restartPolicy !== "Always" && !sameResources(container.resources, now[at]?.resources);
  return (old.spec?.initContainers ?? []).some(isResized);
}

function sameResources(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  const same = (name: "requests" | "limits"): boolean => {
    const left = a?.[name] ?? {};
    const right = b?.[name] ?? {};
    const names = Object.keys(left);
    return (
      names.length === Object.keys(right).length &&
      names.every((each) => isSameAmount(left[each], right[each]))
    );
  };
  return same("requests") && same("limits");
}

function isSameAmount(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const [a, b] = [tryParseQuantity(left), tryParseQuantity(right)];
  return a === undefined || b === undefined ? left === right : compareQuantities(a, b) === 0;
}
