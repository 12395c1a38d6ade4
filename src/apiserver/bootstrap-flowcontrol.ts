/**
 * The FlowSchemas and PriorityLevelConfigurations every server starts with, with upstream's numbers
 * (apiserver pkg/apis/flowcontrol/bootstrap). All carry the autoupdate annotation; exempt and
 * catch-all are mandatory.
 */
import type { AnyObject } from "#api/object.ts";

const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
const annotations = { "apf.kubernetes.io/autoupdate-spec": "true" };

interface Queueing {
  readonly queues: number;
  readonly handSize: number;
}

interface Level {
  readonly name: string;
  readonly shares: number;
  readonly lendablePercent: number;
  /** Absent: what does not get a seat at once is rejected. */
  readonly queueing?: Queueing;
}

const queueLengthLimit = 50;
const wide: Queueing = { queues: 128, handSize: 6 };
const middle: Queueing = { queues: 64, handSize: 6 };

const levels: readonly Level[] = [
  { name: "catch-all", shares: 5, lendablePercent: 0 },
  { name: "global-default", shares: 20, lendablePercent: 50, queueing: wide },
  {
    name: "leader-election",
    shares: 10,
    lendablePercent: 0,
    queueing: { queues: 16, handSize: 4 },
  },
  { name: "node-high", shares: 40, lendablePercent: 25, queueing: middle },
  { name: "system", shares: 30, lendablePercent: 33, queueing: middle },
  { name: "workload-high", shares: 40, lendablePercent: 50, queueing: wide },
  { name: "workload-low", shares: 100, lendablePercent: 90, queueing: wide },
];

type Subject = object;

const user = (name: string): Subject => ({ kind: "User", user: { name } });
const group = (name: string): Subject => ({ kind: "Group", group: { name } });
const account = (name: string): Subject => ({
  kind: "ServiceAccount",
  serviceAccount: { namespace: "kube-system", name },
});

const allNamespaces = { namespaces: ["*"] };
const allResources = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  clusterScope: true,
  ...allNamespaces,
};
const allPaths = { verbs: ["*"], nonResourceURLs: ["*"] };
const leases = {
  verbs: ["get", "create", "update"],
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  ...allNamespaces,
};
const everything = { resourceRules: [allResources], nonResourceRules: [allPaths] };
const everybody = [group("system:unauthenticated"), group("system:authenticated")];

interface Schema {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: "ByUser" | "ByNamespace";
  readonly rules: readonly object[];
}

const schemas: readonly Schema[] = [
  {
    name: "exempt",
    level: "exempt",
    precedence: 1,
    rules: [{ subjects: [group("system:masters")], ...everything }],
  },
  {
    name: "probes",
    level: "exempt",
    precedence: 2,
    rules: [
      {
        subjects: everybody,
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
      },
    ],
  },
  {
    name: "system-leader-election",
    level: "leader-election",
    precedence: 100,
    by: "ByUser",
    rules: [
      {
        subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
        resourceRules: [leases],
      },
    ],
  },
  {
    name: "endpoint-controller",
    level: "workload-high",
    precedence: 150,
    by: "ByUser",
    rules: [
      {
        subjects: [
          user("system:kube-controller-manager"),
          account("endpoint-controller"),
          account("endpointslicemirroring-controller"),
        ],
        resourceRules: [
          {
            verbs: ["get", "create", "update"],
            apiGroups: [""],
            resources: ["endpoints"],
            ...allNamespaces,
          },
        ],
      },
    ],
  },
  {
    name: "workload-leader-election",
    level: "leader-election",
    precedence: 200,
    by: "ByUser",
    rules: [{ subjects: [account("*")], resourceRules: [leases] }],
  },
  {
    name: "system-node-high",
    level: "node-high",
    precedence: 400,
    by: "ByUser",
    rules: [
      {
        subjects: [group("system:nodes")],
        resourceRules: [
          {
            verbs: ["*"],
            apiGroups: [""],
            resources: ["nodes", "nodes/status"],
            clusterScope: true,
            ...allNamespaces,
          },
          {
            verbs: ["*"],
            apiGroups: ["coordination.k8s.io"],
            resources: ["leases"],
            ...allNamespaces,
          },
        ],
      },
    ],
  },
  {
    name: "system-nodes",
    level: "system",
    precedence: 500,
    by: "ByUser",
    rules: [{ subjects: [group("system:nodes")], ...everything }],
  },
  {
    name: "kube-controller-manager",
    level: "workload-high",
    precedence: 800,
    by: "ByNamespace",
    rules: [{ subjects: [user("system:kube-controller-manager")], ...everything }],
  },
  {
    name: "kube-scheduler",
    level: "workload-high",
    precedence: 800,
    by: "ByNamespace",
    rules: [{ subjects: [user("system:kube-scheduler")], ...everything }],
  },
  {
    name: "kube-system-service-accounts",
    level: "workload-high",
    precedence: 900,
    by: "ByNamespace",
    rules: [{ subjects: [account("*")], ...everything }],
  },
  {
    name: "service-accounts",
    level: "workload-low",
    precedence: 9000,
    by: "ByUser",
    rules: [{ subjects: [group("system:serviceaccounts")], ...everything }],
  },
  {
    name: "global-default",
    level: "global-default",
    precedence: 9900,
    by: "ByUser",
    rules: [{ subjects: everybody, ...everything }],
  },
  {
    name: "catch-all",
    level: "catch-all",
    precedence: 10_000,
    by: "ByUser",
    rules: [{ subjects: everybody, ...everything }],
  },
];

/** Fresh objects: levels first, so that no schema dangles. */
export function bootstrapFlowControl(): readonly AnyObject[] {
  return [exemptLevel(), ...levels.map(levelObject), ...schemas.map(schemaObject)];
}

function exemptLevel(): AnyObject {
  const exempt = { nominalConcurrencyShares: 0, lendablePercent: 0 };
  return priorityLevel("exempt", { type: "Exempt", exempt });
}

function levelObject(level: Level): AnyObject {
  const limitResponse =
    level.queueing === undefined
      ? { type: "Reject" }
      : { type: "Queue", queuing: { ...level.queueing, queueLengthLimit } };
  const limited = {
    nominalConcurrencyShares: level.shares,
    lendablePercent: level.lendablePercent,
    limitResponse,
  };
  return priorityLevel(level.name, { type: "Limited", limited });
}

function priorityLevel(name: string, spec: object): AnyObject {
  return { apiVersion, kind: "PriorityLevelConfiguration", metadata: { name, annotations }, spec };
}

function schemaObject(schema: Schema): AnyObject {
  const { name, level, precedence, by, rules } = schema;
  const spec = {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules,
  };
  return { apiVersion, kind: "FlowSchema", metadata: { name, annotations }, spec };
}
