/** Disruption budgets, priority classes, runtime classes. Texts as upstream's. */
import { ownEntry } from "#base/own.ts";
import type { FieldError } from "../status.ts";
import { dns1123LabelErrors } from "../names.ts";
import { validateLabelSelector, validateLabels } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { flag, has, items, maybe, number, part, text, textMap } from "./fields.ts";
import { forbiddenField, invalidEach, invalidValue, required, append } from "./errors.ts";
import { checkIfGiven, checkOneOf } from "./choices.ts";
import { goStruct } from "./go-struct.ts";
import { checkImmutable } from "./immutable.ts";
import { checkAtMost100Percent, checkCounters, checkIntOrPercent } from "./numbers.ts";
import { checkContainerResourceName, checkResourceList } from "./resources.ts";
import { checkTolerations } from "./scheduling.ts";

const evictionPolicies = ["AlwaysAllow", "IfHealthyBudget"];

const budgetSpec = {
  minAvailable: null,
  selector: null,
  maxUnavailable: null,
  unhealthyPodEvictionPolicy: null,
};

export function validateBudget(budget: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(budget, "spec");
  if (has(spec, "minAvailable") && has(spec, "maxUnavailable")) {
    const detail = "minAvailable and maxUnavailable cannot be both set";
    out.push(invalidValue("spec", goStruct(spec, budgetSpec), detail));
  }
  for (const field of ["minAvailable", "maxUnavailable"]) {
    if (!has(spec, field)) continue;
    checkIntOrPercent(out, spec[field], `spec.${field}`);
    checkAtMost100Percent(out, spec[field], `spec.${field}`);
  }
  append(out, validateLabelSelector(maybe(spec, "selector"), "spec.selector"));
  const policy = spec["unhealthyPodEvictionPolicy"];
  checkIfGiven(out, policy, evictionPolicies, "spec.unhealthyPodEvictionPolicy");
  return out;
}

export function validateBudgetStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  const counters = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
  checkCounters(out, part(next, "status"), counters, "status");
  return out;
}

const userPriorityMax = 1_000_000_000;
const systemPrefix = "system-";
const systemClasses: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

export function validatePriorityClass(priority: Fields): FieldError[] {
  const out: FieldError[] = [];
  const name = text(part(priority, "metadata"), "name");
  const value = number(priority, "value");
  if (name.startsWith(systemPrefix)) {
    const problem = systemClassProblem(name, priority);
    if (problem !== undefined) {
      const detail = `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`;
      out.push(forbiddenField("metadata.name", detail));
    }
  } else if (value > userPriorityMax) {
    const detail = `maximum allowed value of a user defined priority is ${userPriorityMax}`;
    out.push(forbiddenField("value", detail));
  }
  if (has(priority, "preemptionPolicy")) {
    const policies = ["PreemptLowerPriority", "Never"];
    checkOneOf(out, text(priority, "preemptionPolicy"), policies, "preemptionPolicy");
  }
  return out;
}

/** The two system classes are fixed, and no other class may use their prefix. */
function systemClassProblem(name: string, priority: Fields): string | undefined {
  const expected = ownEntry(systemClasses, name);
  if (expected === undefined) return `${name} is not a known system priority class`;
  if (number(priority, "value") !== expected) {
    return `value of ${name} PriorityClass must be ${expected}`;
  }
  return flag(priority, "globalDefault")
    ? `globalDefault of ${name} PriorityClass must be false`
    : undefined;
}

export function validatePriorityClassUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  if (number(next, "value") !== number(old, "value")) {
    out.push(forbiddenField("value", "may not be changed in an update."));
  }
  checkImmutable(out, next, old, { field: "preemptionPolicy", path: "" });
  return out;
}

export function validateRuntimeClass(runtime: Fields): FieldError[] {
  const out: FieldError[] = [];
  const handler = text(runtime, "handler");
  if (handler === "") out.push(required("handler"));
  else append(out, invalidEach("handler", handler, dns1123LabelErrors(handler)));
  const fixed = part(part(runtime, "overhead"), "podFixed");
  checkResourceList(out, fixed, checkContainerResourceName, "overhead.podFixed");
  const scheduling = maybe(runtime, "scheduling");
  if (scheduling === undefined) return out;
  const selector = textMap(scheduling, "nodeSelector");
  append(out, validateLabels(selector, "scheduling.nodeSelector"));
  checkTolerations(out, items(scheduling, "tolerations"), "scheduling.tolerations");
  return out;
}

export function validateRuntimeClassUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateRuntimeClass(next);
  checkImmutable(out, next, old, { field: "handler", path: "" });
  return out;
}
