/** Parts common to validating and mutating admission policies: paramKind, matchConstraints, conditions, variables. */
import { dns1035LabelErrors } from "../names.ts";
import type { FieldError } from "../status.ts";
import { checkIfGiven } from "./choices.ts";
import {
  append,
  child,
  duplicate,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from "./errors.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybe, text, texts } from "./fields.ts";
import { checkConditions, checkOperations, checkResourceRule } from "./webhooks.ts";
import { validateLabelSelector } from "../meta.ts";

export function checkPolicy(out: FieldError[], spec: Fields): void {
  checkIfGiven(out, spec["failurePolicy"], ["Fail", "Ignore"], "spec.failurePolicy");
  checkParamKind(out, maybe(spec, "paramKind"), "spec.paramKind");
  const constraints = maybe(spec, "matchConstraints");
  const path = "spec.matchConstraints";
  if (constraints === undefined) out.push(required(path));
  else {
    checkMatchResources(out, constraints, path);
    if (count(constraints, "resourceRules") === 0) out.push(required(child(path, "resourceRules")));
  }
}

export function checkPolicyExpressions(out: FieldError[], spec: Fields): void {
  checkConditions(out, items(spec, "matchConditions"), "spec.matchConditions");
  items(spec, "variables").forEach((variable, at) => {
    const path = index("spec.variables", at);
    const name = text(variable, "name");
    if (name.trim() === "") out.push(required(child(path, "name"), "name is not specified"));
    else if (!isIdentifier(name)) {
      out.push(invalidValue(child(path, "name"), name, "must be a valid CEL identifier"));
    }
    if (text(variable, "expression").trim() !== "") return;
    out.push(required(child(path, "expression"), "expression is not specified"));
  });
}

const reserved: ReadonlySet<string> = new Set(
  `true false null in as break const continue else for function if import let loop package namespace return var void
   while`.split(/\s+/),
);

function isIdentifier(name: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);
}

function checkParamKind(out: FieldError[], paramKind: Fields | undefined, path: string): void {
  if (paramKind === undefined) return;
  const apiVersion = text(paramKind, "apiVersion");
  const at = child(path, "apiVersion");
  const [first = "", second, ...more] = apiVersion.split("/");
  if (apiVersion === "") out.push(required(at));
  else if (more.length > 0) {
    out.push(invalidValue(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else {
    const version = second ?? first;
    if (version === "") out.push(invalidValue(at, apiVersion, "version must be specified"));
    else {
      const errors = dns1035LabelErrors(version);
      if (errors.length > 0) out.push(invalidValue(at, version, errors.join(",")));
    }
  }
  const kind = text(paramKind, "kind");
  if (kind === "") out.push(required(child(path, "kind")));
  const errors = kind === "" ? [] : dns1035LabelErrors(kind.toLowerCase());
  if (errors.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${errors.join(",")}`;
    out.push(invalidValue(child(path, "kind"), kind, detail));
  }
}

export function checkMatchResources(out: FieldError[], resources: Fields, path: string): void {
  const policy = resources["matchPolicy"];
  checkIfGiven(out, policy, ["Equivalent", "Exact"], child(path, "matchPolicy"));
  for (const field of ["namespaceSelector", "objectSelector"]) {
    append(out, validateLabelSelector(maybe(resources, field), child(path, field)));
  }
  for (const field of ["resourceRules", "excludeResourceRules"]) {
    items(resources, field).forEach((rule, at) => {
      checkNamedRule(out, rule, index(child(path, field), at));
    });
  }
}

function checkNamedRule(out: FieldError[], rule: Fields, path: string): void {
  const seen = new Set<string>();
  texts(rule, "resourceNames").forEach((name, at) => {
    const here = index(child(path, "resourceNames"), at);
    append(out, invalidEach(here, name, pathSegmentErrors(name)));
    if (seen.has(name)) out.push(duplicate(here, name));
    seen.add(name);
  });
  checkOperations(out, rule, path);
  checkResourceRule(out, rule, path);
}

function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((one) => name.includes(one)).map((one) => `may not contain '${one}'`);
}

const mutable = ["*", "CONNECT", "CREATE", "UPDATE"];

/** A DELETE has no object to mutate. */
export function checkMutableOperations(
  out: FieldError[],
  resources: Fields | undefined,
  path: string,
): void {
  for (const rule of items(resources ?? {}, "resourceRules")) {
    for (const operation of texts(rule, "operations")) {
      if (mutable.includes(operation)) continue;
      out.push(notSupported(child(path, "resourceRules", "operations"), operation, mutable));
    }
  }
}
