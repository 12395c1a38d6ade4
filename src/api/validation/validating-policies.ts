/** Validating admission policies: actions and parts, not the expressions. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybe, part, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  index,
  invalidValue,
  notSupported,
  required,
  repeatedAt,
} from "./errors.ts";
import { checkIfGiven } from "./choices.ts";
import { checkResourceRule } from "./webhooks.ts";

const actions = ["Audit", "Deny", "Warn"];

export function validateAdmissionPolicy(policy: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(policy, "spec");
  const failure = spec["failurePolicy"];
  checkIfGiven(out, failure, ["Fail", "Ignore"], "spec.failurePolicy");
  checkConstraints(out, spec);
  if (count(spec, "validations") === 0 && count(spec, "auditAnnotations") === 0) {
    const detail = "validations or auditAnnotations must be specified";
    out.push(required("spec.validations", detail));
  }
  items(spec, "validations").forEach((validation, at) => {
    if (text(validation, "expression").trim() !== "") return;
    const path = child(index("spec.validations", at), "expression");
    out.push(required(path, "expression is not specified"));
  });
  return out;
}

function checkConstraints(out: FieldError[], spec: Fields): void {
  const constraints = maybe(spec, "matchConstraints");
  const path = "spec.matchConstraints";
  if (constraints === undefined) {
    out.push(required(path));
    return;
  }
  const rules = child(path, "resourceRules");
  if (count(constraints, "resourceRules") === 0) out.push(required(rules));
  items(constraints, "resourceRules").forEach((rule, at) => {
    checkResourceRule(out, rule, index(rules, at));
  });
}

export function validateValidatingBinding(binding: Fields): FieldError[] {
  const out: FieldError[] = [];
  const given = texts(part(binding, "spec"), "validationActions");
  const path = "spec.validationActions";
  if (given.length === 0) out.push(required(path));
  const repeated = new Set(repeatedAt(given));
  given.forEach((action, at) => {
    const here = index(path, at);
    if (!actions.includes(action)) out.push(notSupported(here, action, actions));
    if (repeated.has(at)) out.push(duplicate(here, action));
  });
  if (given.includes("Deny") && given.includes("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    out.push(invalidValue(path, given, detail));
  }
  return out;
}
