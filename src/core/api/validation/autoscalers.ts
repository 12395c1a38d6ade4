/** Horizontal pod autoscalers (v2). Texts as upstream's autoscaling/validation. */
import type { FieldError } from "../status.ts";
import { formatQuantity, tryParseQuantity } from "../values/quantity.ts";
import { validateLabelSelector } from "../meta.ts";
import { pathSegmentName } from "../names.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, maybe, maybeNumber, number, part, text } from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkCounters } from "./numbers.ts";
import { nonNegativeText } from "./text.ts";

const windowSecondsMax = 3600;
const periodSecondsMax = 1800;
const selectPolicies = ["Disabled", "Max", "Min"];
const policyTypes = ["Percent", "Pods"];
const metricTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];
const sourceFields = ["containerResource", "external", "object", "pods", "resource"];
const targetTypes = ["AverageValue", "Utilization", "Value"];

export function validateAutoscaler(scaler: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(scaler, "spec");
  const min = maybeNumber(spec, "minReplicas");
  const max = number(spec, "maxReplicas");
  if (min !== undefined && min < 1) {
    out.push(invalidValue("spec.minReplicas", min, "must be greater than or equal to 1"));
  }
  if (max === 0) out.push(required("spec.maxReplicas", "must be set and greater than 0"));
  if (max < 0) {
    out.push(invalidValue("spec.maxReplicas", max, "must be greater than or equal to 1"));
  }
  if (min !== undefined && max < min) {
    const detail = "must be greater than or equal to `minReplicas`";
    out.push(invalidValue("spec.maxReplicas", max, detail));
  }
  checkReference(out, part(spec, "scaleTargetRef"), "spec.scaleTargetRef");
  items(spec, "metrics").forEach((metric, at) =>
    checkMetric(out, metric, index("spec.metrics", at)),
  );
  const wakes = items(spec, "metrics").some((metric) =>
    ["Object", "External"].includes(text(metric, "type")),
  );
  if (min === 0 && !wakes) {
    const detail =
      "must specify at least one Object or External metric to support scaling to zero replicas";
    out.push(forbiddenField("spec.metrics", detail));
  }
  const behavior = part(spec, "behavior");
  for (const direction of ["scaleUp", "scaleDown"]) {
    const rules = maybe(behavior, direction);
    if (rules !== undefined) checkScaling(out, rules, child("spec.behavior", direction));
  }
  return out;
}

function checkReference(out: FieldError[], reference: Fields, path: string): void {
  for (const field of ["kind", "name"]) {
    const value = text(reference, field);
    const at = child(path, field);
    if (value === "") out.push(required(at));
    else append(out, invalidEach(at, value, pathSegmentName(value, false)));
  }
  const given = text(reference, "apiVersion");
  const wrong = wrongVersion(given, mayBeOfCore(reference, path));
  if (wrong !== "") out.push(invalidValue(child(path, "apiVersion"), given, wrong));
}

/** A metric's object may belong to the core group (a Service); a scale target there must be a ReplicationController. */
function mayBeOfCore(reference: Fields, path: string): boolean {
  return path.endsWith("describedObject") || text(reference, "kind") === "ReplicationController";
}

/** @returns "" when the apiVersion is valid. */
function wrongVersion(given: string, mayBeCore: boolean): string {
  const parts = given.split("/");
  if (parts.length > 2) return `unexpected GroupVersion string: ${given}`;
  const group = parts.length === 2 ? parts[0] : "";
  return group === "" && !mayBeCore ? "apiVersion must specify API group" : "";
}

function checkScaling(out: FieldError[], rules: Fields, path: string): void {
  const window = maybeNumber(rules, "stabilizationWindowSeconds");
  const at = child(path, "stabilizationWindowSeconds");
  if (window !== undefined && window < 0) {
    out.push(invalidValue(at, window, "must be greater than or equal to zero"));
  }
  if (window !== undefined && window > windowSecondsMax) {
    out.push(invalidValue(at, window, `must be less than or equal to ${windowSecondsMax}`));
  }
  const select = rules["selectPolicy"];
  if (typeof select === "string" && !selectPolicies.includes(select)) {
    out.push(notSupported(child(path, "selectPolicy"), select, selectPolicies));
  }
  const policies = child(path, "policies");
  if (count(rules, "policies") === 0) {
    out.push(required(policies, "must specify at least one Policy"));
  }
  items(rules, "policies").forEach((policy, i) => checkPolicy(out, policy, index(policies, i)));
  const tolerance = tryParseQuantity(text(rules, "tolerance"));
  if (tolerance === undefined || tolerance.nanos >= 0n) return;
  out.push(invalidValue(child(path, "tolerance"), formatQuantity(tolerance), nonNegativeText));
}

function checkPolicy(out: FieldError[], policy: Fields, path: string): void {
  const type = text(policy, "type");
  if (!policyTypes.includes(type)) {
    out.push(notSupported(child(path, "type"), type, policyTypes));
  }
  for (const field of ["value", "periodSeconds"]) {
    const value = number(policy, field);
    if (value <= 0) out.push(invalidValue(child(path, field), value, "must be greater than zero"));
  }
  const period = number(policy, "periodSeconds");
  if (period > periodSecondsMax) {
    const detail = `must be less than or equal to ${periodSecondsMax}`;
    out.push(invalidValue(child(path, "periodSeconds"), period, detail));
  }
}

function checkMetric(out: FieldError[], metric: Fields, path: string): void {
  const type = text(metric, "type");
  const at = child(path, "type");
  if (type === "") out.push(required(at, "must specify a metric source type"));
  if (!metricTypes.includes(type)) out.push(notSupported(at, type, metricTypes));
  const given = sourceFields.filter((field) => has(metric, field));
  const expected = type === "" ? "" : `${type.charAt(0).toLowerCase()}${type.slice(1)}`;
  const [first] = given;
  if (first !== undefined) checkSource(out, first, part(metric, first), child(path, first));
  // Upstream looks at the type once more where it asks for its source.
  if (!metricTypes.includes(type)) out.push(notSupported(at, type, metricTypes));
  else if (!given.includes(expected)) {
    const detail = "must populate information for the given metric source";
    out.push(required(child(path, expected), detail));
  }
  if (given.length === 1) return;
  for (const field of given) {
    if (field === expected) continue;
    out.push(forbiddenField(child(path, field), "must populate the given metric source only"));
  }
}

function checkSource(out: FieldError[], kind: string, source: Fields, path: string): void {
  const target = part(source, "target");
  const at = child(path, "target");
  if (kind === "object")
    checkReference(out, part(source, "describedObject"), child(path, "describedObject"));
  if (kind === "containerResource" || kind === "resource") {
    checkResourceSource(out, kind, source, path);
    return;
  }
  checkIdentifier(out, part(source, "metric"), child(path, "metric"));
  checkTarget(out, target, at);
  const average = child(at, "averageValue");
  if (kind === "pods") {
    if (signOf(target, "averageValue") !== 1) {
      out.push(required(average, "must specify a positive target averageValue"));
    }
  } else if (kind === "object" || kind === "external") {
    const both = has(target, "value") && has(target, "averageValue");
    if (!has(target, "value") && !has(target, "averageValue")) {
      const detail = "must set either a target value for metric or a per-pod target";
      out.push(required(average, detail));
    } else if (both && kind === "external") {
      const detail = "may not set both a target value for metric and a per-pod target";
      out.push(forbiddenField(child(at, "value"), detail));
    }
  }
}

function checkResourceSource(out: FieldError[], kind: string, source: Fields, path: string): void {
  if (text(source, "name") === "") {
    out.push(required(child(path, "name"), "must specify a resource name"));
  }
  if (kind === "containerResource" && text(source, "container") === "") {
    out.push(required(child(path, "container"), "must specify a container"));
  }
  const target = part(source, "target");
  checkTarget(out, target, child(path, "target"));
  const utilization = has(target, "averageUtilization");
  const value = has(target, "averageValue");
  if (!utilization && !value) {
    const detail = "must set either a target raw value or a target utilization";
    out.push(required(child(path, "target", "averageUtilization"), detail));
  } else if (utilization && value) {
    const detail = "may not set both a target raw value and a target utilization";
    out.push(forbiddenField(child(path, "target", "averageValue"), detail));
  }
}

function checkIdentifier(out: FieldError[], metric: Fields, path: string): void {
  const name = text(metric, "name");
  const at = child(path, "name");
  if (name === "") out.push(required(at, "must specify a metric name"));
  else append(out, invalidEach(at, name, pathSegmentName(name, false)));
  append(out, validateLabelSelector(maybe(metric, "selector"), child(path, "selector")));
}

function checkTarget(out: FieldError[], target: Fields, path: string): void {
  const type = text(target, "type");
  const at = child(path, "type");
  if (type === "") out.push(required(at, "must specify a metric target type"));
  if (!targetTypes.includes(type)) {
    out.push(invalidValue(at, type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const field of ["value", "averageValue"]) {
    if (!has(target, field) || signOf(target, field) === 1) continue;
    out.push(invalidValue(child(path, field), target[field], "must be positive"));
  }
  const utilization = maybeNumber(target, "averageUtilization");
  if (utilization !== undefined && utilization < 1) {
    const here = child(path, "averageUtilization");
    out.push(invalidValue(here, utilization, "must be greater than 0"));
  }
}

function signOf(fields: Fields, field: string): -1 | 0 | 1 {
  const amount = fields[field];
  if (typeof amount !== "string" && typeof amount !== "number") return 0;
  const nanos = tryParseQuantity(amount)?.nanos ?? 0n;
  if (nanos === 0n) return 0;
  return nanos > 0n ? 1 : -1;
}

export function validateAutoscalerStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkCounters(out, part(next, "status"), ["currentReplicas", "desiredReplicas"], "status");
  return out;
}
