/**
 * What the coordinator may do in a region: the kinds that it places, reading of nodes and pods for the summary, and its own
 * namespace. No impersonation, no RBAC objects, no nodes to change.
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

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** In the order in which they are made. The agent's account is made where there is one. */
export function regionObjects(kinds: readonly string[], hasAgent: boolean): readonly AnyObject[] {
  const name = managerName;
  const token: AnyObject = {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    metadata: {
      name: `${name}-token`,
      namespace: regionNamespace,
      annotations: { "kubernetes.io/service-account.name": name },
    },
  };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: regionNamespace } },
    ...accountObjects(name, clusterRules(kinds), ownRules),
    token,
    ...(hasAgent ? accountObjects(agentName, agentClusterRules, agentOwnRules) : []),
  ];
}

const agentName = "pilothouse-region-agent";

/** An account with rights in the whole region, and in its own namespace. */
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
    { apiVersion, kind: "Role", metadata: own, rules: here },
    { apiVersion, kind: "RoleBinding", metadata: own, roleRef: roleRef("Role"), subjects },
  ];
}

function clusterRules(kinds: readonly string[]): readonly Rule[] {
  const byGroup = Map.groupBy(kinds, (kind) => kind.split(".").slice(1).join("."));
  const placed = [...byGroup].map(([group, names]): Rule => ({
    apiGroups: [group],
    resources: names.map((kind) => kind.split(".")[0] ?? ""),
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
  }));
  return [
    ...placed,
    readNodesAndPods,
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] },
  ];
}

const readNodesAndPods: Rule = {
  apiGroups: [""],
  resources: ["nodes", "pods"],
  verbs: ["list", "watch"],
};

/** It stops fenced workloads, and starts none. */
const agentClusterRules: readonly Rule[] = [
  readNodesAndPods,
  {
    apiGroups: ["apps"],
    resources: ["deployments", "statefulsets"],
    verbs: ["list", "watch", "patch"],
  },
];

/** Its Leases, one of them for its own election, and its summary. */
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

/** The summary and the fence of the region's agent. */
const ownRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "patch"],
  },
];
