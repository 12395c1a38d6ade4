/**
 * One loop over a large cluster: node src/loops/autoscaler/plan.bench.ts [nodes] [pending] [kinds] [groups]
 *
 * Nodes are nearly full; of the kinds of pending Pods a fifth spread over zones, a tenth keep apart by host, and half of
 * the rest fit on nodes that are there.
 */
import { FakeRandom } from "#platform/testing/random.ts";
import type { PodShape } from "#scheduler/testing.ts";
import { makeNode } from "#scheduler/testing.ts";
import { Book } from "./book.ts";
import { plan } from "./plan.ts";
import {
  groupNode,
  instancesOf,
  ownedPod,
  snapshotOf,
  testCluster,
  testGroup,
  testOptions,
} from "./testing.ts";

const [nodeCount = 15_000, podCount = 5_000, kindCount = 200, groupCount = 20] = process.argv
  .slice(2)
  .map(Number);
const podsPerNode = 8;
const zones = 3;
const loops = Number(process.env["LOOPS"] ?? 7);

const cluster = testCluster();
const shapeOf = (group: number) => ({
  cpu: String(4 * (1 + (group % 4))),
  memory: `${16 * (1 + (group % 4))}Gi`,
  zone: `z${group % zones}`,
  labels: { pool: `p${group % 10}` },
});
const members = Array.from({ length: groupCount }, (): string[] => []);
for (let i = 0; i < nodeCount; i++) {
  const group = i % groupCount;
  const name = `n${i}`;
  members[group]?.push(name);
  cluster.setNode(groupNode(name, shapeOf(group)));
  const cpu = 4_000 * (1 + (group % 4));
  // One node in ten has a low utilization, so that scale-down examines it.
  const share = i % 10 === 0 ? 0.3 : 0.95;
  for (let p = 0; p < podsPerNode; p++) {
    const each = `${Math.floor((cpu * share) / podsPerNode)}m`;
    const labels = { app: `placed-${p}` };
    cluster.setPod(
      ownedPod(`${name}-${p}`, { nodeName: name, cpu: each, memory: "100Mi", labels }),
    );
  }
}
const groups = members.map((names, at) =>
  testGroup(`g${at}`, {
    max: nodeCount,
    instances: instancesOf(names),
    target: names.length,
    template: makeNode(`g${at}-template`, shapeOf(at)),
  }),
);

function kindShape(kind: number): PodShape {
  const app = `app-${kind}`;
  const labelSelector = { matchLabels: { app } };
  const base = {
    cpu: `${kind % 2 === 0 ? 3_000 + kind : 200 + kind}m`,
    memory: `${256 + kind}Mi`,
    labels: { app },
  };
  if (kind % 10 < 2) {
    const spread = {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector,
    };
    return { ...base, spec: { topologySpreadConstraints: [spread] } };
  }
  if (kind % 10 === 2) {
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector };
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    return { ...base, spec: { affinity: { podAntiAffinity } } };
  }
  return kind % 10 === 3 ? { ...base, spec: { nodeSelector: { pool: `p${kind % 10}` } } } : base;
}
for (let i = 0; i < podCount; i++) {
  cluster.setPod(ownedPod(`pending-${i}`, kindShape(i % kindCount)));
}

const book = new Book();
const random = new FakeRandom(1);
const asked = () => ({ snapshot: snapshotOf(cluster, groups), book, options: testOptions, random });
const times: number[] = [];
let last = plan(asked());
for (let i = 0; i < loops; i++) {
  const startMs = performance.now();
  last = plan(asked());
  times.push(performance.now() - startMs);
}
const added = last.actions.reduce((sum, a) => sum + (a.kind === "increase" ? a.delta : 0), 0);
console.log(
  `${nodeCount} nodes, ${podCount} pending pods of ${kindCount} kinds, ${groupCount} groups`,
);
console.log(
  `unschedulable ${last.unschedulable}, unhelped ${last.unhelped.length}, nodes to add ${added}`,
);
const sorted = times.toSorted((a, b) => a - b);
const ms = (at: number): string => (sorted[at] ?? 0).toFixed(0);
console.log(`scale-up loop: median ${ms(3)} ms, ${ms(0)} to ${ms(loops - 1)}, n=${loops}`);

for (const info of cluster.pending) cluster.deletePod(info.pod);
const down: number[] = [];
for (let i = 0; i < loops; i++) {
  const startMs = performance.now();
  last = plan(asked());
  down.push(performance.now() - startMs);
}
const quiet = down.toSorted((a, b) => a - b);
const text = `${quiet[3]?.toFixed(0)} ms, ${quiet[0]?.toFixed(0)} to ${quiet.at(-1)?.toFixed(0)}`;
console.log(
  `scale-down loop: median ${text}, n=${loops}, unneeded ${last.scaleDown.unneeded.size}`,
);
