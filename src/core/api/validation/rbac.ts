/** Roles and their bindings. Texts as upstream's rbac/validation. */
import type { FieldError } from "../status.ts";
import { dnsSubdomainName, pathSegmentName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybe, part, text, texts } from "./fields.ts";
import {
  child,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { goStruct } from "./go-struct.ts";

const group = "rbac.authorization.k8s.io";

export function validateRole(role: Fields): FieldError[] {
  const out: FieldError[] = [];
  items(role, "rules").forEach((rule, at) => checkRule(out, rule, true, index("rules", at)));
  return out;
}

export function validateClusterRole(role: Fields): FieldError[] {
  const out: FieldError[] = [];
  items(role, "rules").forEach((rule, at) => checkRule(out, rule, false, index("rules", at)));
  const aggregation = maybe(role, "aggregationRule");
  if (aggregation === undefined) return out;
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = items(aggregation, "clusterRoleSelectors");
  if (selectors.length === 0) {
    const detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
    out.push(required(path, detail));
  }
  selectors.forEach((selector, at) => {
    const findings = validateLabelSelector(selector, index(path, at));
    append(out, findings);
    // Upstream makes a selector of it, too, and shows what it got: nothing.
    if (findings.length > 0)
      out.push(invalidValue(index(path, at), null, "invalid label selector."));
  });
  return out;
}

function checkRule(out: FieldError[], rule: Fields, namespaced: boolean, path: string): void {
  if (count(rule, "verbs") === 0) {
    out.push(required(child(path, "verbs"), "verbs must contain at least one value"));
  }
  const urls = texts(rule, "nonResourceURLs");
  if (urls.length > 0) {
    const at = child(path, "nonResourceURLs");
    if (namespaced) {
      out.push(invalidValue(at, urls, "namespaced rules cannot apply to non-resource URLs"));
    }
    if (["apiGroups", "resources", "resourceNames"].some((field) => count(rule, field) > 0)) {
      const detail = "rules cannot apply to both regular resources and non-resource URLs";
      out.push(invalidValue(at, urls, detail));
    }
    return;
  }
  if (count(rule, "apiGroups") === 0) {
    const detail = "resource rules must supply at least one api group";
    out.push(required(child(path, "apiGroups"), detail));
  }
  if (count(rule, "resources") === 0) {
    const detail = "resource rules must supply at least one resource";
    out.push(required(child(path, "resources"), detail));
  }
}

export function validateRoleBinding(binding: Fields): FieldError[] {
  return checkBinding(binding, ["Role", "ClusterRole"], true);
}

export function validateClusterRoleBinding(binding: Fields): FieldError[] {
  return checkBinding(binding, ["ClusterRole"], false);
}

function checkBinding(
  binding: Fields,
  kinds: readonly string[],
  namespaced: boolean,
): FieldError[] {
  const out: FieldError[] = [];
  const role = part(binding, "roleRef");
  const apiGroup = text(role, "apiGroup") || group; // empty is defaulted
  if (apiGroup !== group) out.push(notSupported("roleRef.apiGroup", apiGroup, [group]));
  const kind = text(role, "kind");
  if (!kinds.includes(kind)) out.push(notSupported("roleRef.kind", kind, kinds));
  const name = text(role, "name");
  if (name === "") out.push(required("roleRef.name"));
  else append(out, invalidEach("roleRef.name", name, pathSegmentName(name, false)));
  items(binding, "subjects").forEach((subject, at) => {
    checkSubject(out, subject, namespaced, index("subjects", at));
  });
  return out;
}

function checkSubject(out: FieldError[], subject: Fields, namespaced: boolean, path: string): void {
  const name = text(subject, "name");
  const kind = text(subject, "kind");
  const apiGroup = text(subject, "apiGroup");
  if (name === "") out.push(required(child(path, "name")));
  if (kind === "ServiceAccount") {
    if (name !== "") {
      append(out, invalidEach(child(path, "name"), name, dnsSubdomainName(name, false)));
    }
    if (apiGroup !== "") out.push(notSupported(child(path, "apiGroup"), apiGroup, [""]));
    if (!namespaced && text(subject, "namespace") === "") {
      out.push(required(child(path, "namespace")));
    }
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== group) out.push(notSupported(child(path, "apiGroup"), apiGroup, [group]));
  } else out.push(notSupported(child(path, "kind"), kind, ["ServiceAccount", "User", "Group"]));
}

/** roleRef is immutable, so that a binding always grants the same role. */
export function validateRoleBindingUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateRoleBinding(next);
  checkRoleKept(out, next, old);
  return out;
}

export function validateClusterRoleBindingUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateClusterRoleBinding(next);
  checkRoleKept(out, next, old);
  return out;
}

function checkRoleKept(out: FieldError[], next: Fields, old: Fields): void {
  if (semanticEqual(next["roleRef"], old["roleRef"])) return;
  const shown = goStruct(part(next, "roleRef"), { apiGroup: "", kind: "", name: "" });
  out.push(invalidValue("roleRef", shown, "cannot change roleRef"));
}
