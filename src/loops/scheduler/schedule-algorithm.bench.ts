/**
 * Decisions per second of the pure core, by kind of Pod and number of nodes; every node is examined. Run: node
 * src/loops/scheduler/schedule-algorithm.bench.ts [nodes] [pods]
 */
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { Nominations } from "./nominations.ts";
import { podInfo } from "./pod-info.ts";
import type { PodShape } from "./testing.ts";
import { makeNode, makePod, noVolumes } from "./testing.ts";

const nodeCount = Number(process.argv[2] ?? 1_000);
const podCount = Number(process.argv[3] ?? 5_000);

const labelSelector = { matchLabels: { app: "web" } };
const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
const required = (topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
});
const spread = (whenUnsatisfiable: string) => [
  { maxSkew: 1, topologyKey: zone, whenUnsatisfiable, labelSelector },
];
const wishes = [{ weight: 1, podAffinityTerm: { topologyKey: host, labelSelector } }];

const cases: Record<string, PodShape> = {
  simple: {},
  "hard spread": { spec: { topologySpreadConstraints: spread("DoNotSchedule") } },
  "soft spread": { spec: { topologySpreadConstraints: spread("ScheduleAnyway") } },
  affinity: { spec: { affinity: { podAffinity: required(zone) } } },
  "anti-affinity": { spec: { affinity: { podAntiAffinity: required(host) } } },
  "preferred anti-affinity": {
    spec: {
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: wishes } },
    },
  },
  unschedulable: { cpu: "1000" },
};

function bench(name: string, shape: PodShape): void {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const decider = new ScheduleAlgorithm({
    cache,
    random: new FakeRandom(1),
    namespaces,
    volumes: noVolumes,
    nominations,
    plugins: defaultPlugins,
  });
  for (let i = 0; i < nodeCount; i++) {
    cache.setNode(makeNode(`n${i}`, { cpu: "64", memory: "256Gi", zone: `z${i % 10}` }));
  }
  const pods = Array.from({ length: podCount }, (_, i) => {
    const pod = makePod(`p${i}`, {
      cpu: "100m",
      memory: "100Mi",
      labels: { app: "web" },
      ...shape,
    });
    return { ...pod, metadata: { ...pod.metadata, uid: `u${i}` } };
  });
  const startMs = performance.now();
  let placed = 0;
  for (const pod of pods) {
    const info = podInfo(pod);
    const decision = decider.decide(info);
    if (decision.kind !== "node") continue;
    cache.assume(info, decision.nodeName);
    placed++;
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const rate = Math.round(podCount / seconds);
  console.log(`${name.padEnd(24)} ${String(rate).padStart(8)} decisions/s  placed ${placed}`);
}

console.log(`${nodeCount} nodes, ${podCount} pods`);
for (const [name, shape] of Object.entries(cases)) bench(name, shape);
