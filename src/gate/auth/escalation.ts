/**
 * Privilege escalation checks for writes of roles and bindings.
 *
 * A role may contain only rules its writer has, unless the writer has verb `escalate`; a binding may name
 * only a role whose rules its writer has, unless the writer has verb `bind` on it.
 */
import type { AnyObject, GroupResource } from "#api/object.ts";
import { uncoveredParts } from "#api/policy/policy-cover.ts";
import { describeRules, quoteAll } from "#api/policy/policy-rules.ts";
import type { CoverLimits } from "#api/policy/policy-cover.ts";
import type { PolicyRule } from "#api/policy/policy-rules.ts";
import { ApiError, forbidden, notFound } from "#api/status.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Authorizer } from "./auth.ts";
import { groups } from "./groups.ts";
import type { RbacAuthorizer, RoleRef } from "./rbac.ts";

const rbacGroup = "rbac.authorization.k8s.io";

interface PolicyWrite {
  readonly user: UserInfo;
  /** Resource: roles, clusterroles, rolebindings or clusterrolebindings. */
  readonly resource: string;
  /** Namespace, or "" for the two cluster-wide resources. */
  readonly namespace: string;
  readonly object: AnyObject;
  readonly oldObject: AnyObject | undefined;
}

interface EscalationDeps {
  /** The whole chain, because any authorizer may allow `escalate` and `bind`. */
  readonly authorizer: Authorizer;
  /** Knows the rules that the user holds and the rules of roles. */
  readonly rbac: RbacAuthorizer;
}

/** Returns the refusal of a write that would grant more rights than its user has, or undefined. */
export async function escalationError(
  deps: EscalationDeps,
  write: PolicyWrite,
): Promise<ApiError | undefined> {
  if (write.user.groups.includes(groups.masters)) return undefined;
  if (write.oldObject !== undefined && grantsSame(write.object, write.oldObject)) return undefined;
  const binding = write.resource.endsWith("bindings");
  return binding ? bindingError(deps, write) : roleError(deps, write);
}

/** Returns whether only metadata differs. The garbage collector may change finalizers and owners. */
function grantsSame(a: AnyObject, b: AnyObject): boolean {
  const essence = (object: AnyObject): string =>
    JSON.stringify([
      object["rules"],
      object["aggregationRule"],
      object["roleRef"],
      object["subjects"],
      object.metadata?.labels,
      object.metadata?.annotations,
    ]);
  return essence(a) === essence(b);
}

async function roleError(deps: EscalationDeps, write: PolicyWrite): Promise<ApiError | undefined> {
  const { object, user, resource, namespace } = write;
  const name = object.metadata?.name ?? "";
  if (await mayDo(deps, write, "escalate", resource, name)) return undefined;
  const rules = (object["rules"] ?? []) as readonly PolicyRule[];
  const fault = missingRights(deps, user, namespace, rules);
  if (fault !== undefined) return refuse(resource, name, fault);
  const gathers = [object, write.oldObject].some((role) => hasAggregationRule(role));
  if (!gathers || missingRights(deps, user, "", fullAuthority) === undefined) return undefined;
  return refuse(resource, name, "must have cluster-admin privileges to use the aggregationRule");
}

function hasAggregationRule(role: AnyObject | undefined): boolean {
  const rule = role?.["aggregationRule"] as
    | { readonly clusterRoleSelectors?: readonly unknown[] }
    | undefined;
  return (rule?.clusterRoleSelectors?.length ?? 0) > 0;
}

/** An aggregated role can collect any rule, so its writer must hold all rights. */
const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

async function bindingError(
  deps: EscalationDeps,
  write: PolicyWrite,
): Promise<ApiError | undefined> {
  const { object, user, namespace, resource } = write;
  const roleRef = object["roleRef"] as RoleRef | undefined;
  // Validation refuses a binding without a role.
  if (roleRef === undefined) return undefined;
  const roleResource = roleRef.kind === "ClusterRole" ? "clusterroles" : "roles";
  if (await mayDo(deps, write, "bind", roleResource, roleRef.name)) return undefined;
  const rules = deps.rbac.rulesOfRole(roleRef, namespace);
  if (rules === undefined) return notFound(rbac(roleResource), roleRef.name);
  const fault = missingRights(deps, user, namespace, rules);
  return fault === undefined ? undefined : refuse(resource, object.metadata?.name ?? "", fault);
}

async function mayDo(
  deps: EscalationDeps,
  write: PolicyWrite,
  verb: "escalate" | "bind",
  resource: string,
  name: string,
): Promise<boolean> {
  const decision = await deps.authorizer.authorize({
    user: write.user,
    verb,
    path: "",
    isResourceRequest: true,
    group: rbacGroup,
    version: "*",
    resource,
    subresource: "",
    namespace: write.namespace,
    name,
  });
  return decision.allowed;
}

/** Limits to some 20 ms of work and a message of some 200 KB. Upstream continues until its request times out. */
const limits: CoverLimits = { stepsMax: 1_000_000, missingMax: 5000 };
const notAllLooked = "(not all of the rules were looked at: there are too many)";

function missingRights(
  deps: EscalationDeps,
  user: UserInfo,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const owned = deps.rbac.rulesFor(user, namespace).rules;
  const { missing, complete } = uncoveredParts(owned, rules, limits);
  if (complete && missing.length === 0) return undefined;
  const who = `user ${JSON.stringify(user.name)} (groups=${quoteAll(user.groups)})`;
  const list = [...describeRules(missing), ...(complete ? [] : [notAllLooked])].join("\n");
  return `${who} is attempting to grant RBAC permissions not currently held:\n${list}`;
}

function refuse(resource: string, name: string, why: string): ApiError {
  return forbidden(rbac(resource), name, why);
}

function rbac(resource: string): GroupResource {
  return { group: rbacGroup, resource };
}
