/**
 * RBAC: who may do what, from roles and bindings.
 *
 * In     Role, ClusterRole, RoleBinding, ClusterRoleBinding through Lookup.
 * Holds  an index subject -> grants, rebuilt on the first question after any of the four changed;
 *        between changes a question costs a few Map look-ups and the rules of the user's own grants.
 * Out    allowed, or no opinion. RBAC never denies.
 * A binding whose role is missing grants nothing; the reason of a refusal says so, as upstream.
 */
import type { Lookup } from "#api/lookup.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import { ruleAllows } from "#api/policy-rules.ts";
import type { PolicyRule } from "#api/policy-rules.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, ResourceRule } from "./auth.ts";
import { serviceAccountUser } from "./groups.ts";

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** What one subject of one binding gives. */
interface Grant {
  /** "" for a ClusterRoleBinding: everywhere. */
  readonly namespace: string;
  readonly bindingName: string;
  readonly roleRef: RoleRef;
  readonly subject: Subject;
  /** Undefined: the role does not exist. */
  readonly rules: readonly PolicyRule[] | undefined;
}

const rbac = (resource: string): GroupResource => ({
  group: "rbac.authorization.k8s.io",
  resource,
});
const watched = [
  rbac("clusterroles"),
  rbac("roles"),
  rbac("clusterrolebindings"),
  rbac("rolebindings"),
] as const;

export class RbacAuthorizer implements Authorizer {
  readonly #lookup: Lookup;
  readonly #policyVersion: (() => number) | undefined;
  #builtAt: number | undefined;
  #builtFrom: readonly AnyObject[] = [];
  #users = new Map<string, Grant[]>();
  #groups = new Map<string, Grant[]>();

  /**
   * `policyVersion` changes whenever one of the four kinds does; without it each question compares
   * the lists entry by entry, which is honest but costs with the number of roles and bindings.
   */
  constructor(deps: { readonly lookup: Lookup; readonly policyVersion?: () => number }) {
    this.#lookup = deps.lookup;
    this.#policyVersion = deps.policyVersion;
  }

  authorize(attributes: Attributes): Decision {
    const missing: string[] = [];
    for (const grant of this.#grantsOf(attributes.user, attributes.namespace)) {
      if (grant.rules === undefined) missing.push(missingRole(grant.roleRef));
      else if (grant.rules.some((rule) => ruleAllows(rule, attributes))) {
        return { allowed: true, denied: false, reason: `RBAC: allowed by ${describe(grant)}` };
      }
    }
    return { allowed: false, denied: false, reason: missingReason(missing) };
  }

  rulesFor(
    user: UserInfo,
    namespace: string,
  ): { readonly rules: readonly ResourceRule[]; readonly incomplete: boolean } {
    const rules: ResourceRule[] = [];
    for (const grant of this.#grantsOf(user, namespace)) rules.push(...(grant.rules ?? []));
    return { rules, incomplete: false };
  }

  /** The rules behind a reference made in `namespace`, or undefined when the role does not exist. */
  rulesOfRole(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const role =
      roleRef.kind === "ClusterRole"
        ? this.#lookup.get(rbac("clusterroles"), "", roleRef.name)
        : this.#lookup.get(rbac("roles"), namespace, roleRef.name);
    return role === undefined ? undefined : ((role["rules"] ?? []) as readonly PolicyRule[]);
  }

  /** Cluster-wide grants and those of `namespace`, of the user and all of the groups. */
  *#grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    this.#refresh();
    const applies = (grant: Grant): boolean =>
      grant.namespace === "" || (namespace !== "" && grant.namespace === namespace);
    for (const grant of this.#users.get(user.name) ?? []) if (applies(grant)) yield grant;
    for (const group of user.groups) {
      for (const grant of this.#groups.get(group) ?? []) if (applies(grant)) yield grant;
    }
  }

  #refresh(): void {
    if (this.#policyVersion !== undefined) {
      const version = this.#policyVersion();
      if (version === this.#builtAt) return;
      this.#builtAt = version;
      this.#rebuild();
      return;
    }
    const now = watched.flatMap((resource) => this.#lookup.list(resource, ""));
    if (sameEntries(now, this.#builtFrom)) return;
    this.#builtFrom = now;
    this.#rebuild();
  }

  #rebuild(): void {
    this.#users = new Map();
    this.#groups = new Map();
    for (const resource of ["clusterrolebindings", "rolebindings"]) {
      for (const binding of this.#lookup.list(rbac(resource), "")) this.#addBinding(binding);
    }
  }

  #addBinding(binding: AnyObject): void {
    const roleRef = binding["roleRef"] as RoleRef | undefined;
    if (roleRef === undefined) return;
    const namespace = binding.metadata?.namespace ?? "";
    const bindingName = binding.metadata?.name ?? "";
    const rules = this.rulesOfRole(roleRef, namespace);
    for (const subject of (binding["subjects"] ?? []) as readonly Subject[]) {
      this.#addGrant({ namespace, bindingName, roleRef, subject, rules });
    }
  }

  #addGrant(grant: Grant): void {
    const { subject } = grant;
    const accountNamespace = subject.namespace ?? grant.namespace;
    if (subject.kind === "User") pushTo(this.#users, subject.name, grant);
    else if (subject.kind === "Group") pushTo(this.#groups, subject.name, grant);
    else if (subject.kind === "ServiceAccount" && accountNamespace !== "") {
      pushTo(this.#users, serviceAccountUser(accountNamespace, subject.name), grant);
    }
  }
}

function pushTo(map: Map<string, Grant[]>, key: string, grant: Grant): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [grant]);
  else list.push(grant);
}

function sameEntries(a: readonly AnyObject[], b: readonly AnyObject[]): boolean {
  return a.length === b.length && a.every((object, index) => object === b[index]);
}

function describe(grant: Grant): string {
  const { roleRef, subject, namespace, bindingName } = grant;
  const binding =
    namespace === ""
      ? `ClusterRoleBinding "${bindingName}"`
      : `RoleBinding "${bindingName}/${namespace}"`;
  const who =
    subject.kind === "ServiceAccount"
      ? `${subject.name}/${subject.namespace ?? namespace}`
      : subject.name;
  return `${binding} of ${roleRef.kind} "${roleRef.name}" to ${subject.kind} "${who}"`;
}

function missingRole(roleRef: RoleRef): string {
  if (roleRef.kind !== "Role" && roleRef.kind !== "ClusterRole") {
    return `unsupported role reference kind: "${roleRef.kind}"`;
  }
  const resource = `${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io`;
  return `${resource} "${roleRef.name}" not found`;
}

function missingReason(missing: readonly string[]): string {
  const distinct = [...new Set(missing)];
  if (distinct.length === 0) return "";
  return `RBAC: ${distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`}`;
}
