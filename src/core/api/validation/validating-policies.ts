/** Validating admission policies, except the contents of their expressions. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { count, items, part, text, texts } from "./fields.ts";
import {
  append,
  child,
  duplicate,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  repeatedAt,
} from "./errors.ts";
import { checkIfGiven } from "./choices.ts";
import { checkPolicy, checkPolicyExpressions } from "./policy-parts.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";

const actions = ["Audit", "Deny", "Warn"];

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const annotationsMax = 20;
const annotationBytesMax = 5 * 1024;

export function validateAdmissionPolicy(policy: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(policy, "spec");
  checkPolicy(out, spec);
  checkPolicyExpressions(out, spec);
  if (count(spec, "validations") === 0 && count(spec, "auditAnnotations") === 0) {
    const detail = "validations or auditAnnotations must contain at least one item";
    out.push(required("spec.validations", detail), required("spec.auditAnnotations", detail));
  }
  items(spec, "validations").forEach((validation, at) => {
    checkValidation(out, validation, index("spec.validations", at));
  });
  checkAnnotations(out, policy, items(spec, "auditAnnotations"), "spec.auditAnnotations");
  return out;
}

function checkValidation(out: FieldError[], validation: Fields, path: string): void {
  if (text(validation, "expression").trim() === "") {
    out.push(required(child(path, "expression"), "expression is not specified"));
  }
  for (const field of ["messageExpression", "message"]) {
    const given = text(validation, field);
    if (given === "") continue;
    const at = child(path, field);
    if (given.trim() === "") out.push(invalidValue(at, given, "must be non-empty if specified"));
    else if (field === "message" && /[\n\r]/.test(given.trim())) {
      out.push(invalidValue(at, given, "must not contain line breaks"));
    }
  }
  checkIfGiven(out, validation["reason"], reasons, child(path, "reason"));
}

function checkAnnotations(
  out: FieldError[],
  policy: Fields,
  annotations: readonly Fields[],
  path: string,
): void {
  if (annotations.length > annotationsMax) {
    const detail = `must not have more than ${annotationsMax} auditAnnotations`;
    out.push(invalidValue(path, annotations, detail));
  }
  const name = text(part(policy, "metadata"), "name");
  const seen = new Set<string>();
  annotations.forEach((annotation, at) => {
    const here = index(path, at);
    const key = text(annotation, "key");
    const keyPath = child(here, "key");
    if (name === "") out.push(invalidValue(keyPath, key, "requires metadata.name be non-empty"));
    else {
      const whole = `${name}/${key}`;
      append(out, invalidEach(keyPath, whole, qualifiedNameErrors(whole)));
    }
    checkValueExpression(out, text(annotation, "valueExpression").trim(), here);
    if (seen.has(key)) out.push(duplicate(keyPath, key));
    seen.add(key);
  });
}

function checkValueExpression(out: FieldError[], expression: string, path: string): void {
  const at = child(path, "valueExpression");
  if (expression === "") out.push(required(at, "valueExpression is not specified"));
  else if (new TextEncoder().encode(expression).length > annotationBytesMax) {
    out.push(required(at, `must not exceed ${annotationBytesMax} bytes in length`));
  }
}

export function validateValidatingBinding(binding: Fields): FieldError[] {
  const out: FieldError[] = [];
  const given = texts(part(binding, "spec"), "validationActions");
  const path = "spec.validationActions";
  if (given.length === 0) out.push(required(path, "at least one validation action is required"));
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
