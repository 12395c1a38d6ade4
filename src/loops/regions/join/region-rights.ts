/**
 * What the coordinator may do in a region: the kinds that it places, reading of nodes and pods for the summary, and its own
 * namespace. No impersonation, no RBAC objects, no nodes to change.
 *
 * Trust  who may create workloads in a namespace may use its Secrets and service accounts: keep `kinds` to what is placed.
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
  readonly resourceNames?: readonly string[];
}

/** In the order in which they are made. */
export function regionObjects(kinds: readonly string[]): readonly AnyObject[] {
  const name = managerName;
  const subject = { kind: "ServiceAccount", name, namespace: regionNamespace };
  const rbac = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: regionNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: regionNamespace } },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name },
      rules: clusterRules(kinds),
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects: [subject],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata: { name, namespace: regionNamespace },
      rules: ownRules,
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name, namespace: regionNamespace },
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [subject],
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: {
        name: `${name}-token`,
        namespace: regionNamespace,
        annotations: { "kubernetes.io/service-account.name": name },
      },
    },
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
    { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["list", "watch"] },
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] },
  ];
}

/** The summary and the fence of the region's agent. */
const ownRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "patch"],
  },
];
