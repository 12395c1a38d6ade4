/**
 * Checks whether a resource rule of a webhook or of an admission policy covers a request.
 *
 * Holds  as in upstream's rules.Matcher: scope, operation, group, version, and resource with subresource (`pods`,
 *        `pods/status`, `pods/*`, `*` for no subresource, `*` + `/*` for all) must match.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { GroupVersion } from "#api/object.ts";

type Operation = AdmissionRequest["operation"];

/** RuleWithOperations of admissionregistration.k8s.io. */
export interface ResourceRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
}

/** The facts of a request that a rule matches. */
export interface RuleSubject extends GroupVersion {
  readonly operation: Operation;
  readonly resource: string;
  readonly subresource: string;
  /** Whether the request is about an object in a namespace. False for a Namespace itself. */
  readonly isInNamespace: boolean;
}

export function ruleCovers(rule: ResourceRule, subject: RuleSubject): boolean {
  return (
    scopeCovers(rule.scope ?? "*", subject) &&
    isAmong(rule.operations, subject.operation) &&
    isAmong(rule.apiGroups, subject.group) &&
    isAmong(rule.apiVersions, subject.version) &&
    (rule.resources ?? []).some((pattern) => resourceCovers(pattern, subject))
  );
}

function scopeCovers(scope: string, { isInNamespace }: RuleSubject): boolean {
  switch (scope) {
    case "*":
      return true;
    case "Namespaced":
      return isInNamespace;
    case "Cluster":
      return !isInNamespace;
    default:
      return false;
  }
}

function isAmong(items: readonly string[] | undefined, wanted: string): boolean {
  return items?.some((item) => item === "*" || item === wanted) ?? false;
}

function resourceCovers(pattern: string, { resource, subresource }: RuleSubject): boolean {
  const slash = pattern.indexOf("/");
  const wanted = slash < 0 ? pattern : pattern.slice(0, slash);
  const sub = slash < 0 ? "" : pattern.slice(slash + 1);
  return (wanted === "*" || wanted === resource) && (sub === "*" || sub === subresource);
}

const registrationKinds: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

/** Returns whether admission skips the object. It skips its own configuration, because a mistake there could not be corrected otherwise. */
export function isExempt({ info }: Pick<AdmissionRequest, "info">): boolean {
  return info.group === "admissionregistration.k8s.io" && registrationKinds.has(info.kind);
}
