/**
 * The RBAC objects that every cluster starts with, as in upstream's bootstrappolicy.
 *
 * Out    ClusterRoles, ClusterRoleBindings, then Roles and RoleBindings of kube-system and kube-public.
 *        All carry label kubernetes.io/bootstrapping=rbac-defaults and the autoupdate annotation.
 * Holds  admin, edit and view already contain their aggregated rules, so they work before the aggregation controller
 *        has run, and its first pass changes nothing.
 * How to use: at start, `reconcilePolicy` says what to write for each; an annotation
 *        rbac.authorization.kubernetes.io/autoupdate=false keeps an object as the operator made it.
 */
import { given } from "#base/given.ts";
import { ownEntry } from "#base/own.ts";
import { assert, must } from "#base/assert.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";
import type { PolicyRule } from "#api/policy/policy-rules.ts";
import { uncoveredParts } from "#api/policy/policy-cover.ts";
import { clusterRoleRules, podGroupRules } from "./bootstrap-cluster-roles.ts";
import { absentControllerRules, namespaceRoleRules } from "./bootstrap-controller-roles.ts";
import { groups } from "./groups.ts";

const apiGroup = "rbac.authorization.k8s.io";
const apiVersion = `${apiGroup}/v1`;
const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";

const verbSets: Readonly<Record<string, readonly string[]>> = {
  read: ["get", "list", "watch"],
  write: ["create", "delete", "deletecollection", "patch", "update"],
  readwrite: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
};

/** Aggregated roles with the roles whose rules they collect, in the order in which the rules are stored. */
const aggregated = [
  { name: "edit", label: "edit", from: ["system:aggregate-to-edit", "view"], goesInto: "admin" },
  { name: "view", label: "view", from: ["system:aggregate-to-view"], goesInto: "edit" },
  { name: "admin", label: "admin", from: ["edit", "system:aggregate-to-admin"], goesInto: "" },
] as const;

interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
  readonly namespace?: string;
  readonly apiGroup?: string;
}

const user = (name: string): Subject => ({ apiGroup, kind: "User", name });
const group = (name: string): Subject => ({ apiGroup, kind: "Group", name });
const account = (name: string): Subject => ({
  kind: "ServiceAccount",
  name,
  namespace: "kube-system",
});

const clusterBindings: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [group(groups.masters)],
  "system:basic-user": [group(groups.authenticated)],
  "system:discovery": [group(groups.authenticated)],
  "system:kube-controller-manager": [user("system:kube-controller-manager")],
  "system:kube-dns": [account("kube-dns")],
  "system:kube-scheduler": [user("system:kube-scheduler")],
  "system:monitoring": [group("system:monitoring")],
  // This role is bound to no subject, because the node authorizer grants its rules.
  "system:node": [],
  "system:node-proxier": [user("system:kube-proxy")],
  "system:public-info-viewer": [group(groups.authenticated), group(groups.unauthenticated)],
  "system:service-account-issuer-discovery": [group(groups.serviceAccounts)],
  "system:volume-scheduler": [user("system:kube-scheduler")],
};

const leaderLocking = "system::leader-locking-";
const controllerPrefix = "system:controller:";

/** By `namespace/binding`: role of the same namespace, and its subjects. */
const namespaceBindings: readonly {
  readonly namespace: string;
  readonly name: string;
  readonly role: string;
  readonly subjects: readonly Subject[];
}[] = [
  {
    namespace: "kube-system",
    name: "system::extension-apiserver-authentication-reader",
    role: "extension-apiserver-authentication-reader",
    subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
  },
  {
    namespace: "kube-system",
    name: `${leaderLocking}kube-controller-manager`,
    role: `${leaderLocking}kube-controller-manager`,
    subjects: [
      user("system:kube-controller-manager"),
      account("kube-controller-manager"),
      account("leader-election-controller"),
    ],
  },
  {
    namespace: "kube-system",
    name: `${leaderLocking}kube-scheduler`,
    role: `${leaderLocking}kube-scheduler`,
    subjects: [user("system:kube-scheduler"), account("kube-scheduler")],
  },
  ...["bootstrap-signer", "cloud-provider", "token-cleaner"].map((name) => ({
    namespace: "kube-system",
    name: `${controllerPrefix}${name}`,
    role: `${controllerPrefix}${name}`,
    subjects: [account(name)],
  })),
  {
    namespace: "kube-public",
    name: `${controllerPrefix}bootstrap-signer`,
    role: `${controllerPrefix}bootstrap-signer`,
    subjects: [account("bootstrap-signer")],
  },
];

/** Rules of a controller's service account, one per text. The controller declares them beside its code. */
export interface AccountRole {
  readonly account: string;
  readonly rules: readonly string[];
}

/**
 * Returns new objects on each call. Namespaces kube-system and kube-public must exist before they are written.
 * `running`: roles of the controllers that run here. The roles of upstream's other controllers are built in.
 */
export function bootstrapPolicy(
  running: readonly AccountRole[],
  gates: ReadonlySet<string> = new Set(),
): readonly AnyObject[] {
  const roles = new Map(parseRoles(clusterRoleRules));
  if (gates.has("GenericWorkload")) {
    for (const [name, rules] of parseRoles(podGroupRules)) {
      roles.set(name, [...(roles.get(name) ?? []), ...rules]);
    }
  }
  const controllers = assembleControllers(running);
  return [
    ...aggregated.map((role) => makeAggregatedRole(role, roles)),
    ...[...roles].map(([name, rules]) => clusterRole(name, rules, aggregationLabel(name))),
    ...[...controllers].map(([name, rules]) => clusterRole(controllerPrefix + name, rules)),
    ...Object.entries(clusterBindings).map(([name, subjects]) => clusterBinding(name, subjects)),
    ...[...controllers.keys()].map((name) =>
      clusterBinding(controllerPrefix + name, [account(name)]),
    ),
    ...[...parseRoles(namespaceRoleRules)].map(([name, rules]) => namespaceRole(name, rules)),
    ...namespaceBindings.map(namespaceBinding),
  ];
}

/** Returns the rules of a bootstrap ClusterRole. The node authorizer uses those of `system:node`. */
export function bootstrapClusterRoleRules(name: string): readonly PolicyRule[] {
  return must(parseRoles(clusterRoleRules).get(name), `${name} is a bootstrap role`);
}

/**
 * Returns the object to store for `wanted` when `current` exists. Undefined: no change is needed. Missing rules,
 * subjects, labels and annotations are added; the operator's additions stay.
 */
export function reconcilePolicy(
  wanted: AnyObject,
  current: AnyObject | undefined,
): AnyObject | undefined {
  if (current === undefined) return wanted;
  if (current.metadata?.annotations?.[autoupdate] === "false") return undefined;
  const next =
    wanted["roleRef"] === undefined ? withRules(wanted, current) : withSubjects(wanted, current);
  const labels = { ...wanted.metadata?.labels, ...current.metadata?.labels };
  const annotations = { ...wanted.metadata?.annotations, ...current.metadata?.annotations };
  const sameMeta =
    sameSize(labels, current.metadata?.labels) &&
    sameSize(annotations, current.metadata?.annotations);
  if (next === current && sameMeta) return undefined;
  return { ...next, metadata: { ...current.metadata, labels, annotations } };
}

/** Adds the missing rules. The aggregation controller sets the rules of aggregated roles, so only their selectors are set here. */
function withRules(wanted: AnyObject, current: AnyObject): AnyObject {
  if (wanted["aggregationRule"] !== undefined) {
    if (current["aggregationRule"] !== undefined) return current;
    return { ...current, aggregationRule: wanted["aggregationRule"] };
  }
  const have = (current["rules"] ?? []) as readonly PolicyRule[];
  const rules = (wanted["rules"] ?? []) as readonly PolicyRule[];
  // These roles are the product's own, so no client can make them large.
  const limits = { stepsMax: Number.POSITIVE_INFINITY, missingMax: Number.POSITIVE_INFINITY };
  const { missing } = uncoveredParts(have, rules, limits);
  return missing.length === 0 ? current : { ...current, rules: [...have, ...missing] };
}

/** Adds the missing subjects. A binding to another role is left to the operator, because a role cannot be changed in place. */
function withSubjects(wanted: AnyObject, current: AnyObject): AnyObject {
  if (!jsonEqual(wanted["roleRef"], current["roleRef"])) return current;
  const have = (current["subjects"] ?? []) as readonly Subject[];
  const known = new Set(have.map(subjectKey));
  const missing = ((wanted["subjects"] ?? []) as readonly Subject[]).filter(
    (subject) => !known.has(subjectKey(subject)),
  );
  return missing.length === 0 ? current : { ...current, subjects: [...have, ...missing] };
}

function subjectKey(subject: Subject): string {
  return `${subject.kind}/${subject.namespace ?? ""}/${subject.name}`;
}

function sameSize(a: object, b: object | undefined): boolean {
  return Object.keys(a).length === Object.keys(b ?? {}).length;
}

/** Returns the rules by account, sorted by name as upstream. */
function assembleControllers(
  running: readonly AccountRole[],
): ReadonlyMap<string, readonly PolicyRule[]> {
  const roles = new Map(parseRoles(absentControllerRules));
  for (const { account, rules } of running) {
    assert(!roles.has(account), "a service account has one role", { account });
    roles.set(account, rules.map(parseRule));
  }
  return new Map([...roles].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the rules by name of the role, in the order of the text. */
function parseRoles(text: string): ReadonlyMap<string, readonly PolicyRule[]> {
  const roles = new Map<string, PolicyRule[]>();
  let current: PolicyRule[] = [];
  // A line that is indented by six spaces continues the line above.
  for (const line of text.replaceAll(/\n {6}/g, "").split("\n")) {
    if (line === "") continue;
    if (line.startsWith("  ")) current.push(parseRule(line.trim()));
    else roles.set(line, (current = []));
  }
  return roles;
}

function parseRule(line: string): PolicyRule {
  if (line === "events") return parseRule("create,patch,update | core,events.k8s.io | events");
  const [verbs = "", second = "", resources, names] = line.split(" | ");
  const list = { verbs: ownEntry(verbSets, verbs) ?? verbs.split(",") };
  if (resources === undefined) return { ...list, nonResourceURLs: second.split(",") };
  return {
    apiGroups: second.split(",").map((name) => (name === "core" ? "" : name)),
    resources: resources.split(","),
    ...(names === undefined ? {} : { resourceNames: names.split(",") }),
    ...list,
  };
}

function metadata(name: string, labels: Readonly<Record<string, string>> = {}, namespace?: string) {
  return {
    name,
    ...given({ namespace }),
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations: { [autoupdate]: "true" },
  };
}

function aggregationLabel(name: string): Readonly<Record<string, string>> {
  const [, into] = /^system:aggregate-to-(.+)$/.exec(name) ?? [];
  return into === undefined ? {} : { [`rbac.authorization.k8s.io/aggregate-to-${into}`]: "true" };
}

function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  labels?: Readonly<Record<string, string>>,
): AnyObject {
  return { apiVersion, kind: "ClusterRole", metadata: metadata(name, labels), rules };
}

function makeAggregatedRole(
  role: (typeof aggregated)[number],
  roles: ReadonlyMap<string, readonly PolicyRule[]>,
): AnyObject {
  const gathered = (name: string): readonly PolicyRule[] => {
    const from = aggregated.find((other) => other.name === name)?.from;
    return from === undefined ? must(roles.get(name), name) : from.flatMap(gathered);
  };
  const label = `rbac.authorization.k8s.io/aggregate-to-${role.label}`;
  const into = role.goesInto;
  return {
    ...clusterRole(
      role.name,
      gathered(role.name),
      into === "" ? {} : { [`rbac.authorization.k8s.io/aggregate-to-${into}`]: "true" },
    ),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
  };
}

function clusterBinding(name: string, subjects: readonly Subject[]): AnyObject {
  return {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: metadata(name),
    roleRef: { apiGroup, kind: "ClusterRole", name },
    ...(subjects.length === 0 ? {} : { subjects }),
  };
}

function namespaceRole(qualified: string, rules: readonly PolicyRule[]): AnyObject {
  const [namespace, name = ""] = qualified.split("/");
  return { apiVersion, kind: "Role", metadata: metadata(name, {}, namespace), rules };
}

function namespaceBinding(binding: (typeof namespaceBindings)[number]): AnyObject {
  const { namespace, name, role, subjects } = binding;
  return {
    apiVersion,
    kind: "RoleBinding",
    metadata: metadata(name, {}, namespace),
    roleRef: { apiGroup, kind: "Role", name: role },
    subjects,
  };
}
