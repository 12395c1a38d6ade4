/** Resource quotas. Texts as upstream's core/validation. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { items, maybe, part, text, texts } from "./fields.ts";
import { child, index, invalidValue, notSupported, required } from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { immutableText } from "./immutable.ts";
import { checkQuotaResourceName, checkResourceList, isStandardQuotaResource } from "./resources.ts";

const computeResources = new Set([
  "cpu",
  "memory",
  "limits.cpu",
  "limits.memory",
  "requests.cpu",
  "requests.memory",
]);
const claimResources = new Set(["persistentvolumeclaims", "requests.storage"]);
const podScopes = new Set([
  "CrossNamespacePodAffinity",
  "NotBestEffort",
  "NotTerminating",
  "PriorityClass",
  "Terminating",
]);
const operators = ["DoesNotExist", "Exists", "In", "NotIn"];
/** Scopes without values. */
const bareScopes = new Set([
  "BestEffort",
  "CrossNamespacePodAffinity",
  "NotBestEffort",
  "NotTerminating",
  "Terminating",
]);

export function validateQuota(quota: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(quota, "spec");
  checkResourceList(out, part(spec, "hard"), checkQuotaResourceName, "spec.hard");
  checkScopes(out, texts(spec, "scopes"), spec, "spec.scopes");
  checkSelector(out, spec);
  return out;
}

function isStandardScope(scope: string): boolean {
  return podScopes.has(scope) || scope === "BestEffort" || scope === "VolumeAttributesClass";
}

function fitsQuota(scope: string, resource: string): boolean {
  if (podScopes.has(scope)) return resource === "pods" || computeResources.has(resource);
  if (scope === "VolumeAttributesClass") return claimResources.has(resource);
  return resource === "pods";
}

function checkScopes(
  out: FieldError[],
  scopes: readonly string[],
  spec: Fields,
  path: string,
): void {
  const limited = Object.keys(part(spec, "hard")).filter(isStandardQuotaResource);
  for (const scope of scopes) {
    if (!isStandardScope(scope)) {
      out.push(invalidValue(path, scopes, "unsupported scope"));
      continue;
    }
    for (const resource of limited) {
      if (fitsQuota(scope, resource)) continue;
      out.push(invalidValue(path, scopes, "unsupported scope applied to resource"));
    }
  }
  const pairs = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
  ];
  for (const pair of pairs) {
    if (!pair.every((scope) => scopes.includes(scope))) continue;
    out.push(invalidValue(path, scopes, "conflicting scopes"));
  }
}

function checkSelector(out: FieldError[], spec: Fields): void {
  const selector = maybe(spec, "scopeSelector");
  if (selector === undefined) return;
  const path = "spec.scopeSelector.matchExpressions";
  const expressions = items(selector, "matchExpressions");
  expressions.forEach((expression, at) => {
    const here = index(path, at);
    const scope = text(expression, "scopeName");
    if (!isStandardScope(scope)) {
      out.push(invalidValue(child(here, "scopeName"), scope, "unsupported scope"));
    }
    checkExpression(out, expression, scope, here);
  });
  checkScopes(
    out,
    expressions.map((each) => text(each, "scopeName")),
    spec,
    path,
  );
}

function checkExpression(out: FieldError[], expression: Fields, scope: string, path: string): void {
  const operator = text(expression, "operator");
  const values = texts(expression, "values");
  const at = child(path, "operator");
  if (bareScopes.has(scope) && operator !== "Exists") {
    const detail = `must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`;
    out.push(invalidValue(at, operator, detail));
  }
  if (operator === "In" || operator === "NotIn") {
    if (values.length > 0) return;
    const detail =
      "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    out.push(required(child(path, "values"), detail));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length === 0) return;
    const detail =
      "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    out.push(invalidValue(child(path, "values"), values, detail));
  } else out.push(notSupported(at, operator, operators));
}

export function validateQuotaUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateQuota(next);
  const scopes = texts(part(next, "spec"), "scopes");
  const before = texts(part(old, "spec"), "scopes");
  if (!semanticEqual([...scopes].sort(), [...before].sort())) {
    out.push(invalidValue("spec.scopes", scopes, immutableText));
  }
  return out;
}

export function validateQuotaStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  for (const field of ["hard", "used"]) {
    checkResourceList(out, part(status, field), checkQuotaResourceName, child("status", field));
  }
  return out;
}
