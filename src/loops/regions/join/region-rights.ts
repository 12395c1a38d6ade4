/**
 * What the coordinator may do in a region: the kinds that it places, reading of nodes and pods for the summary, and its own
 * namespace. No impersonation, no RBAC objects, no nodes to change. What users read as themselves goes by another account.
 *
 * Trust  the right to create workloads in a namespace includes the use of its Secrets and service accounts, so `kinds` should
 *        name only what is placed.
 */
import type { AnyObject } from "#api/object.ts";
import { managerName, regionNamespace } from "../names.ts";

export const defaultKinds: readonly string[] = [
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "cronjobs.batch",
  "configmaps",
  "secrets",
  "serviceaccounts",
  "services",
  "ingresses.networking.k8s.io",
  "networkpolicies.networking.k8s.io",
  "poddisruptionbudgets.policy",
];

const placingVerbs = ["get", "list", "watch", "create", "patch", "delete"];

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

export interface RegionParts {
  readonly kinds: readonly string[];
  readonly hasAgent: boolean;
  readonly hasServices: boolean;
  /** Resources that home users may read in the region as themselves, through a separate account. Empty: none. */
  readonly reads: readonly string[];
  /** Whether the agent dials out. It then acts with the coordinator's permissions, and no token leaves the region. */
  readonly isPulled: boolean;
}

/** Returns the objects in the order of their creation. Includes the agent's account if the region has an agent. */
export function regionObjects(parts: RegionParts): readonly AnyObject[] {
  const { kinds, hasAgent, hasServices, reads, isPulled } = parts;
  const name = managerName;
  const everywhere = [...clusterRules(kinds), ...(hasServices ? serviceRules : [])];
  if (isPulled) {
    return [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: regionNamespace } },
      ...accountObjects(agentName, [...everywhere, ...agentClusterRules], agentOwnRules),
    ];
  }
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: regionNamespace } },
    ...accountObjects(name, everywhere, ownRules),
    tokenSecret(name),
    ...(reads.length > 0
      ? [...accountObjects(readerName, readerRules(reads), []), tokenSecret(readerName)]
      : []),
    ...(hasAgent ? accountObjects(agentName, agentClusterRules, agentOwnRules) : []),
  ];
}

const agentName = "pilothouse-region-agent";

export const readerName = "pilothouse-region-reader";

function tokenSecret(name: string): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    metadata: {
      name: `${name}-token`,
      namespace: regionNamespace,
      annotations: { "kubernetes.io/service-account.name": name },
    },
  };
}

/** Returns a service account with permissions in the whole region and in its own namespace. */
function accountObjects(
  name: string,
  everywhere: readonly Rule[],
  here: readonly Rule[],
): readonly AnyObject[] {
  const group = "rbac.authorization.k8s.io";
  const apiVersion = `${group}/v1`;
  const own = { name, namespace: regionNamespace };
  const subjects = [{ kind: "ServiceAccount", ...own }];
  const roleRef = (kind: string): object => ({ apiGroup: group, kind, name });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: own },
    { apiVersion, kind: "ClusterRole", metadata: { name }, rules: everywhere },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: roleRef("ClusterRole"),
      subjects,
    },
    ...(here.length === 0
      ? []
      : [
          { apiVersion, kind: "Role", metadata: own, rules: here },
          { apiVersion, kind: "RoleBinding", metadata: own, roleRef: roleRef("Role"), subjects },
        ]),
  ];
}

function clusterRules(kinds: readonly string[]): readonly Rule[] {
  return [
    ...kindRules(kinds, placingVerbs),
    readNodesAndPods,
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] },
  ];
}

/** Permissions to read exported services and to write imported ones. */
const serviceRules: readonly Rule[] = [
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceexports"],
    verbs: ["get", "list", "watch"],
  },
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceexports/status", "serviceimports/status"],
    verbs: ["update"],
  },
  { apiGroups: ["multicluster.x-k8s.io"], resources: ["serviceimports"], verbs: placingVerbs },
  { apiGroups: [""], resources: ["services"], verbs: placingVerbs },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: placingVerbs },
];

function kindRules(kinds: readonly string[], verbs: readonly string[]): readonly Rule[] {
  const byGroup = Map.groupBy(kinds, (kind) => kind.split(".").slice(1).join("."));
  return [...byGroup].map(([group, names]) => ({
    apiGroups: [group],
    resources: names.map((kind) => kind.split(".")[0] ?? ""),
    verbs,
  }));
}

/** Default of `--reads`. Leaves out Secrets and ConfigMaps, so that the account's token never gives access to them. */
export const defaultReads: readonly string[] = [
  "pods",
  "pods/log",
  "events",
  "events.events.k8s.io",
  "nodes",
  "namespaces",
  "services",
  "persistentvolumeclaims",
  "endpointslices.discovery.k8s.io",
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "cronjobs.batch",
];

/**
 * As anybody, but only to read these (KEP-5284): no rights of its own, no service account, no node and never
 * system:masters. A region before 1.36, which knows the plain right to impersonate alone, refuses it everything.
 */
function readerRules(reads: readonly string[]): readonly Rule[] {
  const mode = "user-info";
  const verbs = ["get", "list", "watch"].map((verb) => `impersonate-on:${mode}:${verb}`);
  return [
    {
      apiGroups: ["authentication.k8s.io"],
      resources: ["users", "groups"],
      verbs: [`impersonate:${mode}`],
    },
    ...kindRules(reads, verbs),
    {
      nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"],
      verbs: [`impersonate-on:${mode}:get`],
    },
  ];
}

const readNodesAndPods: Rule = {
  apiGroups: [""],
  resources: ["nodes", "pods"],
  verbs: ["list", "watch"],
};

/** The agent stops fenced workloads, and starts none. */
const agentClusterRules: readonly Rule[] = [
  readNodesAndPods,
  {
    apiGroups: ["apps"],
    resources: ["deployments", "statefulsets"],
    verbs: ["list", "watch", "patch"],
  },
];

/** Access to the agent's summary and its Leases, one of which serves its leader election. */
const agentOwnRules: readonly Rule[] = [
  {
    apiGroups: [""],
    resources: ["configmaps"],
    verbs: ["get", "list", "watch", "create", "patch"],
  },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "create", "update", "patch"],
  },
];

/** Access to the summary and the fence of the region's agent. */
const ownRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "patch"],
  },
];
