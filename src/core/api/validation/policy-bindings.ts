/** Bindings of admission policies, of both types. Texts as upstream's. */
import { dnsSubdomainName } from "../names.ts";
import type { FieldError } from "../status.ts";
import { append, forbiddenField, invalidEach, notSupported, required } from "./errors.ts";
import type { Fields } from "./fields.ts";
import { has, maybe, part, text } from "./fields.ts";
import { checkMatchResources, checkMutableOperations } from "./policy-parts.ts";
import { validateLabelSelector } from "../meta.ts";

const actions = ["Deny", "Allow"];
const exclusive = "name and selector are mutually exclusive";

export function validatePolicyBinding(binding: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(binding, "spec");
  const name = text(spec, "policyName");
  if (name === "") out.push(required("spec.policyName"));
  else append(out, invalidEach("spec.policyName", name, dnsSubdomainName(name, false)));
  const paramRef = maybe(spec, "paramRef");
  if (paramRef !== undefined) checkParamRef(out, paramRef);
  const resources = maybe(spec, "matchResources");
  if (resources !== undefined) checkMatchResources(out, resources, "spec.matchResources");
  return out;
}

export function validateMutatingBinding(binding: Fields): FieldError[] {
  const out: FieldError[] = [];
  const resources = maybe(part(binding, "spec"), "matchResources");
  checkMutableOperations(out, resources, "spec.matchResources");
  return out;
}

function checkParamRef(out: FieldError[], paramRef: Fields): void {
  const path = "spec.paramRef";
  const isNamed = text(paramRef, "name") !== "";
  const selector = maybe(paramRef, "selector");
  if (isNamed && has(paramRef, "selector")) out.push(forbiddenField(`${path}.name`, exclusive));
  if (selector !== undefined) {
    append(out, validateLabelSelector(selector, `${path}.selector`));
    if (isNamed) out.push(forbiddenField(`${path}.selector`, exclusive));
  }
  if (!isNamed && selector === undefined) {
    out.push(required(path, "one of name or selector must be specified"));
  }
  const action = text(paramRef, "parameterNotFoundAction");
  const at = `${path}.parameterNotFoundAction`;
  if (action === "") out.push(required(at));
  else if (!actions.includes(action)) out.push(notSupported(at, action, actions));
}
