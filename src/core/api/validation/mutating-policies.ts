/** Mutating admission policies, except the contents of their expressions. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import { child, index, invalidValue, notSupported, required } from "./errors.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, maybe, part, text } from "./fields.ts";
import { checkMutableOperations, checkPolicy, checkPolicyExpressions } from "./policy-parts.ts";

const reinvocations = ["IfNeeded", "Never"];
const patchTypes = ["ApplyConfiguration", "JSONPatch"];

export function validateMutatingPolicy(policy: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(policy, "spec");
  checkPolicy(out, spec);
  checkMutableOperations(out, maybe(spec, "matchConstraints"), "spec.matchConstraints");
  checkPolicyExpressions(out, spec);
  if (count(spec, "mutations") === 0) {
    out.push(required("spec.mutations", "mutations must contain at least one item"));
  }
  items(spec, "mutations").forEach((one, at) =>
    checkMutation(out, one, index("spec.mutations", at)),
  );
  const reinvocation = text(spec, "reinvocationPolicy");
  const path = "spec.reinvocationPolicy";
  if (reinvocation === "") out.push(required(path));
  else if (!reinvocations.includes(reinvocation)) {
    out.push(notSupported(path, reinvocation, reinvocations));
  }
  return out;
}

function checkMutation(out: FieldError[], mutation: Fields, path: string): void {
  const type = text(mutation, "patchType");
  if (type === "") out.push(required(child(path, "patchType")));
  else if (!patchTypes.includes(type)) {
    out.push(notSupported(child(path, "patchType"), type, patchTypes));
  }
  if (!patchTypes.includes(type)) return;
  const [own, other] =
    type === "JSONPatch"
      ? ["jsonPatch", "applyConfiguration"]
      : ["applyConfiguration", "jsonPatch"];
  if (!has(mutation, own)) {
    out.push(required(child(path, own), `must be specified when patchType is ${type}`));
  } else if (text(part(mutation, own), "expression").trim() === "") {
    out.push(required(child(path, own, "expression")));
  }
  if (!has(mutation, other)) return;
  const detail = `must not be specified when patchType is ${type}`;
  out.push(invalidValue(child(path, other), `{${other}}`, detail));
}
