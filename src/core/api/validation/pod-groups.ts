/**
 * PodGroups and Workloads of scheduling.k8s.io/v1alpha2. Texts as upstream's.
 * After  the `+k8s:` tags of k8s.io/api/scheduling/v1alpha2 types.go. On update only changes are checked, and no change
 *        is allowed.
 */
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors, pathSegmentName } from "../names.ts";
import type { FieldError } from "../status.ts";
import { checkList, checkSet, nameOf } from "./device-parts.ts";
import { checkEachCondition } from "./device-claim-status.ts";
import { semanticEqual } from "./equal.ts";
import { append, child, invalidEach, invalidValue, notSupported, required } from "./errors.ts";
import { type Fields, has, items, maybe, maybeInteger, number, part, text } from "./fields.ts";
import { immutableText } from "./immutable.ts";
import { checkLabelName } from "./scheduling.ts";

const templatesMax = 8;
const constraintsMax = 1;
const priorityMax = 1_000_000_000;
const disruptionModes = ["Pod", "PodGroup"];

export function validatePodGroup(group: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(group, "spec");
  const ref = maybe(spec, "podGroupTemplateRef");
  if (ref !== undefined) checkTemplateRef(out, ref, "spec.podGroupTemplateRef");
  checkGroup(out, spec, "spec");
  return out;
}

export function validatePodGroupUpdate(next: Fields, old: Fields): FieldError[] {
  return changedFields(next, old, [
    "podGroupTemplateRef",
    "schedulingPolicy",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
  ]);
}

export function validatePodGroupStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkEachCondition(out, items(part(next, "status"), "conditions"), "status.conditions");
  return out;
}

export function validateWorkload(workload: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(workload, "spec");
  const controller = maybe(spec, "controllerRef");
  if (controller !== undefined) checkController(out, controller, "spec.controllerRef");
  const templates = items(spec, "podGroupTemplates");
  const path = "spec.podGroupTemplates";
  if (templates.length === 0) out.push(required(path));
  checkSet(out, templates, { path, max: templatesMax, keyOf: nameOf }, checkTemplate);
  return out;
}

export function validateWorkloadUpdate(next: Fields, old: Fields): FieldError[] {
  return changedFields(next, old, ["controllerRef", "podGroupTemplates"]);
}

/** Checks the group in a Pod's spec. */
export function checkSchedulingGroup(out: FieldError[], group: Fields, path: string): void {
  const at = child(path, "podGroupName");
  if (!has(group, "podGroupName")) {
    out.push(invalidValue(at, null, "must specify one of: `podGroupName`"));
    return;
  }
  const name = text(group, "podGroupName");
  append(out, invalidEach(at, name, subdomainErrors(name)));
}

function changedFields(next: Fields, old: Fields, names: readonly string[]): FieldError[] {
  const [now, before] = [part(next, "spec"), part(old, "spec")];
  return names
    .filter((name) => !semanticEqual({ of: now[name] }, { of: before[name] }))
    .map((name) => invalidValue(child("spec", name), null, immutableText));
}

function checkTemplate(out: FieldError[], template: Fields, path: string): void {
  checkNamed(out, template, child(path, "name"), dns1123LabelErrors);
  checkGroup(out, template, path);
}

function checkGroup(out: FieldError[], spec: Fields, path: string): void {
  checkPolicy(out, part(spec, "schedulingPolicy"), child(path, "schedulingPolicy"));
  const constraints = items(part(spec, "schedulingConstraints"), "topology");
  const topology = child(path, "schedulingConstraints", "topology");
  checkList(out, constraints, { path: topology, max: constraintsMax }, (found, constraint, at) => {
    const key = text(constraint, "key");
    if (key === "") found.push(required(child(at, "key")));
    else checkLabelName(found, key, child(at, "key"));
  });
  const mode = text(spec, "disruptionMode");
  if (mode !== "" && !disruptionModes.includes(mode)) {
    out.push(notSupported(child(path, "disruptionMode"), mode, disruptionModes));
  }
  const priorityClass = text(spec, "priorityClassName");
  if (priorityClass !== "") {
    const errors = subdomainErrors(priorityClass);
    append(out, invalidEach(child(path, "priorityClassName"), priorityClass, errors));
  }
  const priority = maybeInteger(spec, "priority") ?? 0;
  if (priority > priorityMax) {
    const detail = `must be less than or equal to ${priorityMax}`;
    out.push(invalidValue(child(path, "priority"), priority, detail));
  }
}

function checkPolicy(out: FieldError[], policy: Fields, path: string): void {
  const set = ["basic", "gang"].filter((name) => maybe(policy, name) !== undefined);
  if (set.length === 0) {
    out.push(invalidValue(path, "", "must specify one of: `basic`, `gang`"));
  } else if (set.length > 1) {
    const detail = "must specify exactly one of: `basic`, `gang`";
    out.push(invalidValue(path, `{${set.join(", ")}}`, detail));
  }
  const gang = maybe(policy, "gang");
  if (gang === undefined) return;
  const minCount = number(gang, "minCount");
  const at = child(path, "gang", "minCount");
  if (minCount === 0) out.push(required(at));
  else if (minCount < 1) {
    out.push(invalidValue(at, minCount, "must be greater than or equal to 1"));
  }
}

function checkTemplateRef(out: FieldError[], ref: Fields, path: string): void {
  const workload = maybe(ref, "workload");
  if (workload === undefined) {
    out.push(invalidValue(path, "", "must specify one of: `workload`"));
    return;
  }
  const at = child(path, "workload");
  checkNamed(out, workload, child(at, "workloadName"), subdomainErrors);
  checkNamed(out, workload, child(at, "podGroupTemplateName"), dns1123LabelErrors);
}

function checkController(out: FieldError[], controller: Fields, path: string): void {
  const group = text(controller, "apiGroup");
  if (group !== "") {
    append(out, invalidEach(child(path, "apiGroup"), group, subdomainErrors(group)));
  }
  const segmentErrors = (name: string): readonly string[] => pathSegmentName(name, false);
  checkNamed(out, controller, child(path, "kind"), segmentErrors);
  checkNamed(out, controller, child(path, "name"), segmentErrors);
}

/** A required text, reported under the last name of its path. */
function checkNamed(
  out: FieldError[],
  fields: Fields,
  path: string,
  errors: (name: string) => readonly string[],
): void {
  const name = text(fields, path.slice(path.lastIndexOf(".") + 1));
  if (name === "") out.push(required(path));
  else append(out, invalidEach(path, name, errors(name)));
}
