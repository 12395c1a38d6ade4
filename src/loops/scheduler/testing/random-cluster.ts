/** Random nodes and Pods with all features of the slow reference; few values per field, so that matches are frequent. */
import type {
  LabelSelector,
  Node,
  Pod,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import type { FakeRandom } from "#platform/testing/random.ts";
import { makeNode, makePod } from "../testing.ts";

export const namespaces: readonly string[] = ["a", "b", "c"];
const zone = "topology.kubernetes.io/zone";
const hostname = "kubernetes.io/hostname";
const keys: readonly string[] = [zone, hostname, "rack"];
const mebibyte = 1024 * 1024;

export function pick<T>(random: FakeRandom, from: readonly T[]): T {
  return must(from[random.below(from.length)], "a choice of at least one");
}

/** True with probability 1 in `n`. */
export function once(random: FakeRandom, n: number): boolean {
  return random.below(n) === 0;
}

export function randomNode(random: FakeRandom, name: string): Node {
  const effects = ["NoSchedule", "NoExecute", "PreferNoSchedule"] as const;
  const taints = effects
    .filter(() => once(random, 5))
    .map((effect) => ({ key: pick(random, ["t", "u"]), value: "v", effect }));
  const labels: Record<string, string> = {
    disk: pick(random, ["ssd", "hdd"]),
    ...(once(random, 4) ? {} : { rack: pick(random, ["r1", "r2"]) }),
    ...(once(random, 8) ? { [hostname]: "shared" } : {}),
    size: String(random.below(3)),
  };
  const zoned = once(random, 6) ? {} : { zone: pick(random, ["x", "y", "z"]) };
  const node = makeNode(name, {
    cpu: String(2 + random.below(4)),
    memory: `${2 + random.below(4)}Gi`,
    pods: String(3 + random.below(7)),
    taints,
    labels,
    unschedulable: once(random, 12),
    ...zoned,
  });
  if (!once(random, 3)) return node;
  const images = [{ names: ["big:latest"], sizeBytes: 700 * mebibyte }];
  return { ...node, status: { ...node.status, images } };
}

/** Returns a node of the same name that differs in one respect. */
export function changedNode(random: FakeRandom, node: Node): Node {
  const other = randomNode(random, node.metadata?.name ?? "");
  switch (random.below(4)) {
    case 0:
      return { ...node, metadata: { ...node.metadata, ...other.metadata } };
    case 1:
      return { ...node, ...(other.spec === undefined ? {} : { spec: other.spec }) };
    case 2:
      return { ...node, ...(other.status === undefined ? {} : { status: other.status }) };
    default:
      return other;
  }
}

function randomSelector(random: FakeRandom): LabelSelector {
  const app = pick(random, ["x", "y", "z"]);
  switch (random.below(8)) {
    case 0:
      return {};
    case 1:
      return { matchExpressions: [{ key: "app", operator: "In", values: ["x", "y"] }] };
    case 2:
      return { matchExpressions: [{ key: "app", operator: "NotIn", values: ["z"] }] };
    case 3:
      return { matchExpressions: [{ key: "ver", operator: "DoesNotExist" }] };
    case 4:
      return { matchLabels: { app }, matchExpressions: [{ key: "ver", operator: "Exists" }] };
    default:
      return { matchLabels: { app } };
  }
}

function randomTerm(random: FakeRandom): PodAffinityTerm {
  const scope = [
    {},
    {},
    {},
    { namespaces: ["b"] },
    { namespaceSelector: {} },
    { namespaceSelector: { matchLabels: { team: "t" } } },
    { namespaces: ["a"], namespaceSelector: { matchLabels: { team: "u" } } },
  ];
  const like = [{}, {}, {}, { matchLabelKeys: ["ver"] }, { mismatchLabelKeys: ["ver"] }];
  return {
    topologyKey: pick(random, keys),
    ...(once(random, 20) ? {} : { labelSelector: randomSelector(random) }),
    ...pick(random, scope),
    ...pick(random, like),
  };
}

function randomSpread(random: FakeRandom, topologyKey: string): TopologySpreadConstraint {
  const isHard = once(random, 2);
  return {
    topologyKey,
    maxSkew: 1 + random.below(2),
    whenUnsatisfiable: isHard ? "DoNotSchedule" : "ScheduleAnyway",
    labelSelector: randomSelector(random),
    ...(isHard && once(random, 3) ? { minDomains: 1 + random.below(4) } : {}),
    ...(once(random, 3) ? { nodeAffinityPolicy: pick(random, ["Honor", "Ignore"]) } : {}),
    ...(once(random, 3) ? { nodeTaintsPolicy: pick(random, ["Honor", "Ignore"]) } : {}),
    ...(once(random, 4) ? { matchLabelKeys: ["ver"] } : {}),
  };
}

type PodAffinity = NonNullable<NonNullable<PodSpec["affinity"]>["podAffinity"]>;

function randomPodAffinity(random: FakeRandom): PodAffinity {
  // Weights whose shares are inexact: in floating point, 29 / 100 * 100 is below 29, and 29 / 50 * 100 below 58.
  const weight = once(random, 2) ? pick(random, [29, 50, 100]) : 1 + random.below(100);
  const wish = { weight, podAffinityTerm: randomTerm(random) };
  return once(random, 2)
    ? { preferredDuringSchedulingIgnoredDuringExecution: [wish] }
    : {
        requiredDuringSchedulingIgnoredDuringExecution: once(random, 4)
          ? [randomTerm(random), randomTerm(random)]
          : [randomTerm(random)],
      };
}

function randomNodeAffinity(random: FakeRandom) {
  const expression = pick(random, [
    { key: "disk", operator: "In", values: ["ssd"] },
    { key: "rack", operator: "Exists" },
    { key: "rack", operator: "DoesNotExist" },
    { key: "size", operator: "Gt", values: ["0"] },
  ]);
  const term = { matchExpressions: [expression] };
  return once(random, 2)
    ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
    : {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1 + random.below(100), preference: term },
        ],
      };
}

function randomSpec(random: FakeRandom): Partial<PodSpec> {
  const spreads = keys
    .filter(() => once(random, 3))
    .map((topologyKey) => randomSpread(random, topologyKey));
  const affinity = {
    ...(once(random, 5) ? { podAffinity: randomPodAffinity(random) } : {}),
    ...(once(random, 4) ? { podAntiAffinity: randomPodAffinity(random) } : {}),
    ...(once(random, 5) ? { nodeAffinity: randomNodeAffinity(random) } : {}),
  };
  const tolerations = [
    { operator: "Exists" },
    { key: "t", operator: "Exists" },
    { key: "u", value: "v", effect: "NoSchedule" },
    { key: "t", operator: "Equal", value: "w" },
  ].filter(() => once(random, 6));
  return {
    ...(once(random, 2) && spreads.length > 0 ? { topologySpreadConstraints: spreads } : {}),
    ...(Object.keys(affinity).length > 0 ? { affinity } : {}),
    ...(tolerations.length > 0 ? { tolerations } : {}),
    ...(once(random, 6) ? { nodeSelector: { disk: "ssd" } } : {}),
  };
}

/** `at`: number of the Pod; its uid is `u` and the number, and its start time rises with the number. */
export function randomPod(random: FakeRandom, at: number): Pod {
  const labels = {
    app: pick(random, ["x", "y", "z"]),
    ...(once(random, 2) ? { ver: pick(random, ["1", "2"]) } : {}),
  };
  const amounts = {
    ...(once(random, 5) ? {} : { cpu: pick(random, ["100m", "500m", "1"]) }),
    ...(once(random, 3) ? {} : { memory: pick(random, ["100Mi", "512Mi", "1Gi"]) }),
  };
  const port = once(random, 8) ? { hostPort: 80 + random.below(2) } : {};
  const spec = randomSpec(random);
  const pod = makePod(`p${at}`, { ...amounts, ...port, labels, spec, priority: random.below(3) });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "rs" };
  const owned = once(random, 3) ? { ownerReferences: [{ ...owner, controller: true }] } : {};
  const uid = `u${at}`;
  // Pods of one owner must be in one namespace.
  const namespace = "ownerReferences" in owned ? "a" : pick(random, namespaces);
  const startTime = new Date(at * 1_000).toISOString();
  const [container] = pod.spec?.containers ?? [];
  const image = pick(random, ["i", "big"]);
  return {
    ...pod,
    metadata: { ...pod.metadata, uid, namespace, ...owned },
    spec: { ...pod.spec, containers: [{ name: "c", ...container, image }] },
    status: { ...pod.status, startTime },
  };
}
