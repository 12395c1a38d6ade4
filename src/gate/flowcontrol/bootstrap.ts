/**
 * The FlowSchemas and PriorityLevelConfigurations that every cluster starts with, as data. They are those of upstream
 * (apiserver pkg/apis/flowcontrol/bootstrap).
 *
 * exempt and catch-all are mandatory: objects with `isMandatory` are always restored to the values here. The others are
 * restored only while their annotation apf.kubernetes.io/autoupdate-spec is "true".
 */
import type { AnyObject } from "#api/object.ts";

const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
const annotations = { "apf.kubernetes.io/autoupdate-spec": "true" };

interface LevelRow {
  readonly name: string;
  readonly shares: number;
  readonly lendablePercent: number;
  /** Number of queues. Absent: the level is exempt or rejects excess requests. */
  readonly queues?: number;
  readonly handSize?: number;
}

const queueLengthLimit = 50;

const levels: readonly LevelRow[] = [
  { name: "exempt", shares: 0, lendablePercent: 0 },
  { name: "system", shares: 30, lendablePercent: 33, queues: 64, handSize: 6 },
  { name: "node-high", shares: 40, lendablePercent: 25, queues: 64, handSize: 6 },
  { name: "leader-election", shares: 10, lendablePercent: 0, queues: 16, handSize: 4 },
  { name: "workload-high", shares: 40, lendablePercent: 50, queues: 128, handSize: 6 },
  { name: "workload-low", shares: 100, lendablePercent: 90, queues: 128, handSize: 6 },
  { name: "global-default", shares: 20, lendablePercent: 50, queues: 128, handSize: 6 },
  { name: "catch-all", shares: 5, lendablePercent: 0 },
];

export function isMandatory(name: string): boolean {
  return name === "exempt" || name === "catch-all";
}

export function bootstrapPriorityLevels(): readonly AnyObject[] {
  return levels.map((row) => ({
    apiVersion,
    kind: "PriorityLevelConfiguration",
    metadata: { name: row.name, annotations },
    spec: levelSpec(row),
  }));
}

function levelSpec(row: LevelRow): object {
  const amounts = { nominalConcurrencyShares: row.shares, lendablePercent: row.lendablePercent };
  if (row.name === "exempt") return { type: "Exempt", exempt: amounts };
  const { queues, handSize } = row;
  const limitResponse =
    queues === undefined
      ? { type: "Reject" }
      : { type: "Queue", queuing: { queues, handSize, queueLengthLimit } };
  return { type: "Limited", limited: { ...amounts, limitResponse } };
}

const group = (name: string): object => ({ kind: "Group", group: { name } });
const user = (name: string): object => ({ kind: "User", user: { name } });
const accountsOf = (namespace: string): object => ({
  kind: "ServiceAccount",
  serviceAccount: { name: "*", namespace },
});

const everyone = [group("system:unauthenticated"), group("system:authenticated")];
const everyResource = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  namespaces: ["*"],
  clusterScope: true,
};
const everything = {
  resourceRules: [everyResource],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

interface SchemaRow {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly distinguisher?: "ByUser" | "ByNamespace";
  readonly rule: object;
}

const leases = {
  verbs: ["*"],
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  namespaces: ["*"],
};

const schemas: readonly SchemaRow[] = [
  {
    name: "exempt",
    level: "exempt",
    precedence: 1,
    rule: { subjects: [group("system:masters")], ...everything },
  },
  {
    name: "probes",
    level: "exempt",
    precedence: 2,
    rule: {
      subjects: everyone,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    },
  },
  {
    name: "system-leader-election",
    level: "leader-election",
    precedence: 100,
    distinguisher: "ByUser",
    rule: {
      subjects: [
        user("system:kube-controller-manager"),
        user("system:kube-scheduler"),
        accountsOf("kube-system"),
      ],
      resourceRules: [{ ...leases, verbs: ["get", "create", "update"] }],
    },
  },
  {
    name: "system-node-high",
    level: "node-high",
    precedence: 400,
    distinguisher: "ByUser",
    rule: {
      subjects: [group("system:nodes")],
      resourceRules: [
        { ...everyResource, apiGroups: [""], resources: ["nodes", "nodes/status"] },
        leases,
      ],
    },
  },
  {
    name: "system-nodes",
    level: "system",
    precedence: 500,
    distinguisher: "ByUser",
    rule: { subjects: [group("system:nodes")], ...everything },
  },
  {
    name: "kube-controller-manager",
    level: "workload-high",
    precedence: 800,
    distinguisher: "ByNamespace",
    rule: { subjects: [user("system:kube-controller-manager")], ...everything },
  },
  {
    name: "kube-scheduler",
    level: "workload-high",
    precedence: 800,
    distinguisher: "ByNamespace",
    rule: { subjects: [user("system:kube-scheduler")], ...everything },
  },
  {
    name: "kube-system-service-accounts",
    level: "workload-high",
    precedence: 900,
    distinguisher: "ByNamespace",
    rule: { subjects: [accountsOf("kube-system")], ...everything },
  },
  {
    name: "service-accounts",
    level: "workload-low",
    precedence: 9000,
    distinguisher: "ByUser",
    rule: { subjects: [group("system:serviceaccounts")], ...everything },
  },
  {
    name: "global-default",
    level: "global-default",
    precedence: 9900,
    distinguisher: "ByUser",
    rule: { subjects: everyone, ...everything },
  },
  {
    name: "catch-all",
    level: "catch-all",
    precedence: 10_000,
    distinguisher: "ByUser",
    rule: { subjects: everyone, ...everything },
  },
];

export function bootstrapFlowSchemas(): readonly AnyObject[] {
  return schemas.map((row) => ({
    apiVersion,
    kind: "FlowSchema",
    metadata: { name: row.name, annotations },
    spec: {
      priorityLevelConfiguration: { name: row.level },
      matchingPrecedence: row.precedence,
      ...(row.distinguisher === undefined
        ? {}
        : { distinguisherMethod: { type: row.distinguisher } }),
      rules: [row.rule],
    },
  }));
}
