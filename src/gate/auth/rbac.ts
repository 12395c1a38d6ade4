/**
 * RBAC: authorization from roles and bindings.
 *
 * In     Role, ClusterRole, RoleBinding, ClusterRoleBinding through Lookup.
 * Holds  an index namespace -> subject -> grants. It is updated at the first question after a change of one of the four
 *        kinds, in time linear in the changed bindings. Also an index of the rules of each role that was used. A
 *        question costs a few Map look-ups for each of the user's own grants.
 * Out    allowed, or no opinion. RBAC never denies.
 * A binding whose role is missing grants nothing; the reason of a refusal says so, as in upstream.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import { RuleIndex } from "#api/policy/policy-index.ts";
import type { PolicyRule } from "#api/policy/policy-rules.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, ResourceRule, Rules } from "./auth.ts";
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

/** Role that one binding gives to one of its subjects. */
interface Grant {
  /** Namespace of the binding. "": a ClusterRoleBinding, which applies everywhere. */
  readonly namespace: string;
  readonly bindingName: string;
  readonly roleRef: RoleRef;
  readonly subject: Subject;
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
  readonly #lookup: Lister;
  readonly #policyVersion: (() => number) | undefined;
  #builtAt: number | undefined;
  #builtFrom: readonly AnyObject[] = [];
  #bindings: ReadonlySet<AnyObject> = new Set();
  /** By namespace of the binding; "" for a ClusterRoleBinding. */
  readonly #grants = new Map<string, SubjectGrants>();
  /** Indexed rules of roles in this version of the policy. */
  #roles = new Map<string, RuleIndex | undefined>();
  /** Decisions of grants that have allowed a request. */
  readonly #decisions = new WeakMap<Grant, Decision>();
  readonly #indexes = new WeakMap<readonly PolicyRule[], RuleIndex>();

  /**
   * `policyVersion` changes whenever an object of the four kinds does. Without it, each question compares the lists
   * entry by entry: this is correct, but its cost grows with the number of roles and bindings.
   */
  constructor(deps: { readonly lookup: Lister; readonly policyVersion?: () => number }) {
    this.#lookup = deps.lookup;
    this.#policyVersion = deps.policyVersion;
  }

  authorize(attributes: Attributes): Decision {
    this.#refresh();
    const { namespace } = attributes;
    const missing = new Set<string>();
    const allowing =
      this.#allowingIn("", attributes, missing) ??
      (namespace === "" ? undefined : this.#allowingIn(namespace, attributes, missing));
    if (allowing !== undefined) return this.#allowed(allowing);
    return { allowed: false, denied: false, reason: missingReason([...missing]) };
  }

  /** Returns the first grant at `at` that allows the request. Adds each role that does not exist to `missing` once. */
  #allowingIn(at: string, attributes: Attributes, missing: Set<string>): Grant | undefined {
    const grants = this.#grants.get(at);
    if (grants === undefined) return undefined;
    const { name, groups } = attributes.user;
    const own = this.#allowingOf(grants.users.get(name), attributes, missing);
    if (own !== undefined) return own;
    for (const group of groups) {
      const found = this.#allowingOf(grants.groups.get(group), attributes, missing);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #allowingOf(
    grants: ReadonlyMap<unknown, Grant> | undefined,
    attributes: Attributes,
    missing: Set<string>,
  ): Grant | undefined {
    if (grants === undefined) return undefined;
    for (const grant of grants.values()) {
      const index = this.#indexOf(grant);
      if (index?.allows(attributes) === true) return grant;
      if (index !== undefined) continue;
      missing.add(missingRole(grant.roleRef));
    }
    return undefined;
  }

  /** Returns the decision of a grant. It is made once, because the same few grants allow most requests. */
  #allowed(grant: Grant): Decision {
    const known = this.#decisions.get(grant);
    if (known !== undefined) return known;
    const reason = `RBAC: allowed by ${describe(grant)}`;
    const decision = { allowed: true, denied: false, reason };
    this.#decisions.set(grant, decision);
    return decision;
  }

  rulesFor(user: UserInfo, namespace: string): Rules {
    const lists: (readonly ResourceRule[])[] = [];
    for (const { roleRef, namespace: at } of this.#grantsOf(user, namespace)) {
      lists.push(this.rulesOfRole(roleRef, at) ?? []);
    }
    return { rules: lists.flat(), incomplete: false };
  }

  /** Returns the rules of the role that a reference in `namespace` names. Undefined: the role does not exist. */
  rulesOfRole(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const role =
      roleRef.kind === "ClusterRole"
        ? this.#lookup.get(rbac("clusterroles"), "", roleRef.name)
        : this.#lookup.get(rbac("roles"), namespace, roleRef.name);
    return role === undefined ? undefined : ((role["rules"] ?? noRules) as readonly PolicyRule[]);
  }

  #indexOf({ roleRef, namespace }: Grant): RuleIndex | undefined {
    const key = roleRef.kind === "ClusterRole" ? roleRef.name : `${namespace}/${roleRef.name}`;
    if (this.#roles.has(key)) return this.#roles.get(key);
    const rules = this.rulesOfRole(roleRef, namespace);
    const known = rules === undefined ? undefined : this.#indexes.get(rules);
    const index = known ?? (rules === undefined ? undefined : new RuleIndex(rules));
    if (rules !== undefined && index !== undefined) this.#indexes.set(rules, index);
    this.#roles.set(key, index);
    return index;
  }

  /** Yields the cluster-wide grants and those of `namespace`, for the user and all of the user's groups. */
  *#grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    this.#refresh();
    const inForce = new Set(["", namespace]);
    for (const at of inForce) {
      const grants = this.#grants.get(at);
      if (grants === undefined) continue;
      yield* grants.users.get(user.name)?.values() ?? [];
      for (const group of user.groups) yield* grants.groups.get(group)?.values() ?? [];
    }
  }

  #refresh(): void {
    if (this.#policyVersion !== undefined) {
      const version = this.#policyVersion();
      if (version === this.#builtAt) return;
      this.#builtAt = version;
      this.#update();
      return;
    }
    const now = watched.flatMap((resource) => this.#lookup.list(resource, ""));
    if (sameEntries(now, this.#builtFrom)) return;
    this.#builtFrom = now;
    this.#update();
  }

  /** Reads the changed bindings again, and only these. */
  #update(): void {
    this.#roles = new Map();
    const now = new Set(
      ["clusterrolebindings", "rolebindings"].flatMap((kind) => this.#lookup.list(rbac(kind), "")),
    );
    for (const binding of this.#bindings) if (!now.has(binding)) this.#removeBinding(binding);
    for (const binding of now) if (!this.#bindings.has(binding)) this.#addBinding(binding);
    this.#bindings = now;
  }

  #addBinding(binding: AnyObject): void {
    const roleRef = binding["roleRef"] as RoleRef | undefined;
    if (roleRef === undefined) return;
    const { namespace = "", name: bindingName = "" } = binding.metadata ?? {};
    const grants = this.#grants.get(namespace) ?? { users: new Map(), groups: new Map() };
    this.#grants.set(namespace, grants);
    for (const subject of subjectsOf(binding)) {
      const at = placeOf(subject, namespace);
      if (at === undefined) continue;
      const byBinding = grants[at.map].get(at.key) ?? new Map<AnyObject, Grant>();
      grants[at.map].set(at.key, byBinding);
      if (!byBinding.has(binding)) {
        byBinding.set(binding, { namespace, bindingName, roleRef, subject });
      }
    }
  }

  #removeBinding(binding: AnyObject): void {
    const namespace = binding.metadata?.namespace ?? "";
    const grants = this.#grants.get(namespace);
    if (grants === undefined) return;
    for (const subject of subjectsOf(binding)) {
      const at = placeOf(subject, namespace);
      const byBinding = at === undefined ? undefined : grants[at.map].get(at.key);
      byBinding?.delete(binding);
      if (at !== undefined && byBinding?.size === 0) grants[at.map].delete(at.key);
    }
    if (grants.users.size === 0 && grants.groups.size === 0) this.#grants.delete(namespace);
  }
}

const noRules: readonly PolicyRule[] = [];

/** Grants of the bindings of one namespace, by subject and binding. */
interface SubjectGrants {
  readonly users: Map<string, Map<AnyObject, Grant>>;
  readonly groups: Map<string, Map<AnyObject, Grant>>;
}

function subjectsOf(binding: AnyObject): readonly Subject[] {
  return (binding["subjects"] ?? []) as readonly Subject[];
}

/** Returns where a grant is filed. Undefined: no user can match the subject. */
function placeOf(
  subject: Subject,
  bindingNamespace: string,
): { readonly map: keyof SubjectGrants; readonly key: string } | undefined {
  const namespace = subject.namespace ?? bindingNamespace;
  if (subject.kind === "User") return { map: "users", key: subject.name };
  if (subject.kind === "Group") return { map: "groups", key: subject.name };
  if (subject.kind !== "ServiceAccount" || namespace === "") return undefined;
  return { map: "users", key: serviceAccountUser(namespace, subject.name) };
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
