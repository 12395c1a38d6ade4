/** Pods: create, and the changes that each (sub)resource allows. Texts as upstream's core/validation. */
import type { FieldError } from "../status.ts";
import { dnsSubdomainName } from "../names.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  has,
  isFields,
  items,
  maybe,
  maybeInteger,
  maybeNumber,
  part,
  text,
  textMap,
  firstByText,
} from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  required,
  append,
  repeatedAt,
} from "./errors.ts";
import {
  checkAppArmorAgrees,
  checkAppArmorAnnotations,
  checkAppArmorUnchanged,
} from "./apparmor.ts";
import { describeChange } from "./describe.ts";
import { semanticEqual } from "./equal.ts";
import { checkAddress, isDualStack } from "./ip.ts";
import { checkImagePadding, checkPodSpec, checkPodTemplate } from "./pod-spec.ts";
import { checkLabelName, checkOnlyAddedTolerations } from "./scheduling.ts";
import { rangeText } from "./text.ts";

const int32Max = 2_147_483_647;
export const mirrorAnnotation = "kubernetes.io/config.mirror";
const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

const updatable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
  "`spec.tolerations` (only additions to existing tolerations)," +
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

export function checkPod(out: FieldError[], pod: Fields): void {
  const spec = part(pod, "spec");
  checkPodAnnotations(out, pod);
  const name = text(part(pod, "metadata"), "name");
  checkPodSpec(out, spec, { podName: name === "" ? undefined : name, isPod: true }, "spec");
  checkTokenVolumes(out, spec);
  for (const list of ["containers", "initContainers"]) {
    items(spec, list).forEach((container, at) => {
      checkImagePadding(out, container, index(child("spec", list), at));
    });
  }
}

function checkPodAnnotations(out: FieldError[], pod: Fields): void {
  const annotations = textMap(part(pod, "metadata"), "annotations");
  const mirror = annotations[mirrorAnnotation];
  if (mirror !== undefined && text(part(pod, "spec"), "nodeName") === "") {
    const path = key("metadata.annotations", mirrorAnnotation);
    const detail = "must set spec.nodeName if mirror pod annotation is set";
    out.push(invalidValue(path, mirror, detail));
  }
  const cost = annotations[deletionCostAnnotation];
  if (cost !== undefined && !isInt32(cost)) {
    const path = key("metadata.annotations", deletionCostAnnotation);
    out.push(invalidValue(path, cost, "must be a 32bit integer"));
  }
  checkAppArmorAnnotations(out, annotations, part(pod, "spec"), "metadata.annotations");
}

function isInt32(value: string): boolean {
  return /^(0|-?[1-9]\d{0,9})$/.test(value) && Math.abs(Number(value)) <= int32Max;
}

/** A token volume needs a service account. */
function checkTokenVolumes(out: FieldError[], spec: Fields): void {
  if (text(spec, "serviceAccountName") !== "") return;
  items(spec, "volumes").forEach((volume, at) => {
    items(part(volume, "projected"), "sources").forEach((source, i) => {
      if (!has(source, "serviceAccountToken")) return;
      const path = index(`${index("spec.volumes", at)}.projected.sources`, i);
      const detail = "must not be specified when serviceAccountName is not set";
      out.push(forbiddenField(child(path, "serviceAccountToken"), detail));
    });
  });
}

export function validatePod(pod: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkPod(out, pod);
  const spec = part(pod, "spec");
  checkAppArmorAgrees(out, textMap(part(pod, "metadata"), "annotations"), spec);
  if (count(spec, "ephemeralContainers") > 0) {
    out.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  }
  if (text(spec, "nodeName") !== "" && count(spec, "schedulingGates") > 0) {
    const detail = "cannot be set until all schedulingGates have been cleared";
    out.push(forbiddenField("spec.nodeName", detail));
  }
  return out;
}

export function validatePodUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkPod(out, next);
  checkAnnotationChanges(out, next, old);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  for (const list of ["containers", "initContainers"]) {
    if (count(spec, list) === count(before, list)) continue;
    out.push(forbiddenField(child("spec", list), "pod updates may not add or remove containers"));
    return out;
  }
  if (!checkDeadline(out, spec, before)) return out;
  checkOnlyAddedTolerations(
    out,
    items(spec, "tolerations"),
    items(before, "tolerations"),
    "spec.tolerations",
  );
  checkOnlyDeletedGates(out, spec, before);
  const masked = maskUpdatable(out, spec, before);
  if (!semanticEqual(masked, before)) {
    const detail = `pod updates may not change fields other than ${updatable}${describeChange(before, masked)}`;
    out.push(forbiddenField("spec", detail));
  }
  return out;
}

function checkAnnotationChanges(out: FieldError[], next: Fields, old: Fields): void {
  const annotations = textMap(part(next, "metadata"), "annotations");
  const annotationsBefore = textMap(part(old, "metadata"), "annotations");
  checkAppArmorUnchanged(out, annotations, annotationsBefore, "metadata.annotations");
  const value = annotations[mirrorAnnotation];
  const before = annotationsBefore[mirrorAnnotation];
  if (value === before) return;
  const path = key("metadata.annotations", mirrorAnnotation);
  const detail =
    before === undefined
      ? "may not add mirror pod annotation"
      : "may not remove or update mirror pod annotation";
  out.push(forbiddenField(path, detail));
}

/** It may be set, or decreased. @returns false when further findings are pointless. */
function checkDeadline(out: FieldError[], spec: Fields, before: Fields): boolean {
  const path = "spec.activeDeadlineSeconds";
  const value = maybeInteger(spec, "activeDeadlineSeconds");
  const was = maybeInteger(before, "activeDeadlineSeconds");
  if (value === undefined) {
    const detail = "must not update from a positive integer to nil value";
    if (was !== undefined) out.push(invalidValue(path, null, detail));
    return true;
  }
  if (value < 0 || value > int32Max) {
    out.push(invalidValue(path, value, rangeText(0, int32Max)));
    return false;
  }
  if (was !== undefined && was < value) {
    out.push(invalidValue(path, value, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

function checkOnlyDeletedGates(out: FieldError[], spec: Fields, before: Fields): void {
  const known = new Set(items(before, "schedulingGates").map((gate) => text(gate, "name")));
  items(spec, "schedulingGates").forEach((gate, at) => {
    const name = text(gate, "name");
    if (known.has(name)) return;
    const path = child(index("spec.schedulingGates", at), "name");
    out.push(
      forbiddenField(path, `only deletion is allowed, but found new scheduling gate '${name}'`),
    );
  });
}

/** The new spec in which every field that an update may change is restored. */
function maskUpdatable(out: FieldError[], spec: Fields, before: Fields): Fields {
  const masked: Record<string, unknown> = { ...spec };
  for (const list of ["containers", "initContainers"]) {
    if (has(spec, list)) masked[list] = withOldImages(items(spec, list), items(before, list));
  }
  for (const field of ["activeDeadlineSeconds", "schedulingGates", "tolerations"]) {
    masked[field] = before[field];
  }
  const grace = maybeNumber(before, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace < 0 && spec["terminationGracePeriodSeconds"] === 1) {
    masked["terminationGracePeriodSeconds"] = grace;
  }
  if (count(before, "schedulingGates") > 0) maskGated(out, masked, spec, before);
  return masked;
}

function withOldImages(next: readonly Fields[], old: readonly Fields[]): readonly Fields[] {
  return next.map((container, at) => ({ ...container, image: old[at]?.["image"] }));
}

/** The scheduling constraints of a gated pod may become stricter. */
function maskGated(
  out: FieldError[],
  masked: Record<string, unknown>,
  spec: Fields,
  before: Fields,
): void {
  const selector = textMap(spec, "nodeSelector");
  const lost = Object.entries(textMap(before, "nodeSelector")).some(
    ([name, value]) => selector[name] !== value,
  );
  if (lost) {
    const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    out.push(invalidValue("spec.nodeSelector", selector, detail));
  }
  masked["nodeSelector"] = before["nodeSelector"];
  const node = part(part(spec, "affinity"), "nodeAffinity");
  const was = part(part(before, "affinity"), "nodeAffinity");
  if (semanticEqual(node, was)) return;
  checkAffinityAdditions(out, node, was);
  const others = Object.entries(part(spec, "affinity")).filter(([kind]) => kind !== "nodeAffinity");
  const kept = isFields(part(before, "affinity")["nodeAffinity"]) ? { nodeAffinity: was } : {};
  const affinity = { ...Object.fromEntries(others), ...kept };
  const empty = Object.keys(affinity).length === 0 && !has(before, "affinity");
  masked["affinity"] = empty ? undefined : affinity;
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

function checkAffinityAdditions(out: FieldError[], node: Fields, was: Fields): void {
  const old = items(part(was, requiredTerms), "nodeSelectorTerms");
  const next = items(part(node, requiredTerms), "nodeSelectorTerms");
  const path = `spec.affinity.nodeAffinity.${requiredTerms}.nodeSelectorTerms`;
  if (old.length > 0 && old.length !== next.length) {
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    out.push(invalidValue(path, next, detail));
    return;
  }
  old.forEach((term, at) => {
    if (onlyAdds(next[at] ?? {}, term)) return;
    const detail = "only additions are allowed (no mutations or deletions)";
    out.push(invalidValue(index(path, at), next[at], detail));
  });
}

function onlyAdds(next: Fields, old: Fields): boolean {
  const lists = ["matchExpressions", "matchFields"];
  if (lists.every((list) => count(old, list) === 0)) {
    return lists.every((list) => count(next, list) === 0);
  }
  return lists.every((list) => {
    const kept = items(next, list).slice(0, count(old, list));
    return semanticEqual(kept, items(old, list));
  });
}

const systemConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

export function validatePodStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkAnnotationChanges(out, next, old);
  const status = part(next, "status");
  const before = part(old, "status");
  const spec = part(old, "spec");
  items(status, "conditions").forEach((condition, at) => {
    const type = text(condition, "type");
    if (systemConditions.has(type)) return;
    checkLabelName(out, type, child(index("metadata.conditions", at), "Type"));
  });
  const nominated = text(status, "nominatedNodeName");
  if (nominated !== "" && nominated !== text(before, "nominatedNodeName")) {
    const errors = dnsSubdomainName(nominated, false);
    append(out, invalidEach("status.nominatedNodeName", nominated, errors));
  }
  if (text(status, "qosClass") !== text(before, "qosClass")) {
    out.push(invalidValue("status.qosClass", status["qosClass"], "field is immutable"));
  }
  checkStateChanges(out, status, before, spec);
  checkPodAddresses(out, status, before);
  return out;
}

/** A terminated container that will not be restarted stays terminated. */
function checkStateChanges(out: FieldError[], status: Fields, before: Fields, spec: Fields): void {
  const policy = text(spec, "restartPolicy");
  const owners = [...items(spec, "initContainers"), ...items(spec, "containers")];
  const restartable = new Set(
    owners
      .filter(
        (container) =>
          has(container, "restartPolicy") || count(container, "restartPolicyRules") > 0,
      )
      .map((container) => text(container, "name")),
  );
  const lists: readonly (readonly [string, string])[] = [
    ["containerStatuses", policy],
    ["initContainerStatuses", policy],
    ["ephemeralContainerStatuses", "Never"],
  ];
  for (const [list, rule] of lists) {
    if (rule === "Always") continue;
    const byName = firstByText(items(status, list), "name");
    items(before, list).forEach((was, at) => {
      const ended = maybe(part(was, "state"), "terminated");
      if (ended === undefined || restartable.has(text(was, "name"))) return;
      if (rule === "OnFailure" && maybeNumber(ended, "exitCode") !== 0) return;
      const now = byName.get(text(was, "name"));
      if (now === undefined || has(part(now, "state"), "terminated")) return;
      const path = child(index(child("status", list), at), "state");
      out.push(forbiddenField(path, "may not be transitioned to non-terminated state"));
    });
  }
}

function checkPodAddresses(out: FieldError[], status: Fields, before: Fields): void {
  for (const list of ["podIPs", "hostIPs"]) {
    const path = child("status", list);
    const addresses = items(status, list).map((entry) => text(entry, "ip"));
    const kept = new Set(items(before, list).map((entry) => text(entry, "ip")));
    addresses.forEach((address, at) => checkAddress(out, address, index(path, at), kept));
    if (addresses.length <= 1) continue;
    if (!isDualStack(addresses) || addresses.length > 2) {
      const detail = "may specify no more than one IP for each IP family";
      out.push(invalidValue(path, status[list], detail));
    }
    for (const at of repeatedAt(addresses)) {
      out.push(duplicate(index(path, at), { IP: addresses[at] }));
    }
  }
  const first = text(items(status, "hostIPs")[0] ?? {}, "ip");
  if (first !== "" && text(status, "hostIP") !== first) {
    out.push(invalidValue("status.hostIPs[0].ip", first, "must be equal to `hostIP`"));
  }
}

export function validateEphemeralContainers(next: Fields, old: Fields): FieldError[] {
  const annotations = textMap(part(old, "metadata"), "annotations");
  if (annotations[mirrorAnnotation] !== undefined) {
    return [forbiddenField("[]", "static pods do not support ephemeral containers")];
  }
  const out: FieldError[] = [];
  checkPod(out, next);
  const path = "spec.ephemeralContainers";
  const wanted = firstByText(items(part(next, "spec"), "ephemeralContainers"), "name");
  for (const was of items(part(old, "spec"), "ephemeralContainers")) {
    const name = text(was, "name");
    const quoted = JSON.stringify(name);
    const now = wanted.get(name);
    if (now === undefined) {
      out.push(
        forbiddenField(path, `existing ephemeral containers ${quoted} may not be removed\n`),
      );
    } else if (!semanticEqual(now, was)) {
      const detail = `existing ephemeral containers ${quoted} may not be changed${describeChange(was, now)}`;
      out.push(forbiddenField(path, detail));
    }
  }
  return out;
}

export function validatePodTemplate(object: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkPodTemplate(out, part(object, "template"), "template");
  return out;
}

export function validateBinding(binding: Fields): FieldError[] {
  const target = part(binding, "target");
  const kind = text(target, "kind");
  const out: FieldError[] = [];
  if (kind !== "" && kind !== "Node") {
    out.push({
      reason: "FieldValueNotSupported",
      field: "target.kind",
      message: `Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`,
    });
  }
  if (text(target, "name") === "") out.push(required("target.name"));
  return out;
}
