/** `npm run bench -- scheduler`: decisions of the scheduler's core on many nodes; see `usage`. */
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "#scheduler/cache.ts";
import { defaultPlugins } from "#scheduler/default-plugins.ts";
import { Nominations } from "#scheduler/nominations.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import { makeNode, makePod, noVolumes, type PodShape } from "#scheduler/testing.ts";
import { flagsOf } from "./flags.ts";

const usage = `npm run bench -- scheduler [flags]

  --nodes 5000     of 64 cores, in 10 zones
  --pods 20000     decided one after the other, each placed before the next
  --kinds 10       kinds of the mixed pods: other requests, every third with a node selector

Decisions per CPU second of the pure core, compiling included, every node counted; equal pods, mixed kinds, each kind of
constraint, and pods that fit nowhere; memory of nodes and of what the core keeps. Nothing is written anywhere.
`;
const flags = flagsOf(usage, { nodes: "5000", pods: "20000", kinds: "10" });
const [nodeCount, podCount, kinds] = [
  flags.number("nodes"),
  flags.number("pods"),
  flags.number("kinds"),
];

const labelSelector = { matchLabels: { app: "web" } };
const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
const required = (topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
});
const spread = (whenUnsatisfiable: string) => [
  { maxSkew: 1, topologyKey: zone, whenUnsatisfiable, labelSelector },
];

interface Case {
  readonly name: string;
  readonly shape: (at: number) => PodShape;
  /** Each looks at every node: fewer of them on many nodes. */
  readonly isSlow?: true;
}

const cases: readonly Case[] = [
  { name: "equal", shape: () => ({}) },
  { name: `mixed, ${kinds} kinds`, shape: (at) => mixed(at % kinds) },
  {
    name: "hard spread",
    isSlow: true,
    shape: () => ({ spec: { topologySpreadConstraints: spread("DoNotSchedule") } }),
  },
  {
    name: "soft spread",
    isSlow: true,
    shape: () => ({ spec: { topologySpreadConstraints: spread("ScheduleAnyway") } }),
  },
  {
    name: "anti-affinity",
    isSlow: true,
    shape: () => ({ spec: { affinity: { podAntiAffinity: required(host) } } }),
  },
  { name: "fits nowhere", shape: () => ({ cpu: "1000" }) },
];

function mixed(kind: number): PodShape {
  const spec = kind % 3 === 0 ? { nodeSelector: { "kubernetes.io/os": "linux" } } : {};
  return { cpu: `${100 + 10 * kind}m`, memory: `${100 + kind}Mi`, spec };
}

function megabytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
}

const namespaces = () => undefined;

function run({ name, shape, isSlow }: Case): void {
  const before = megabytes();
  const cache = new Cache({ namespaces });
  const decider = new ScheduleAlgorithm({
    cache,
    random: new FakeRandom(1),
    namespaces,
    volumes: noVolumes,
    nominations: new Nominations(),
    plugins: defaultPlugins,
  });
  for (let i = 0; i < nodeCount; i++) {
    const labels = { "kubernetes.io/os": "linux" };
    cache.setNode(makeNode(`n${i}`, { cpu: "64", memory: "256Gi", zone: `z${i % 10}`, labels }));
  }
  const withNodes = megabytes();
  // Each look at a million nodes takes milliseconds.
  const count = isSlow === true ? Math.min(podCount, Math.ceil(5e7 / nodeCount)) : podCount;
  const began = process.cpuUsage();
  let placed = 0;
  for (let i = 0; i < count; i++) {
    const pod = makePod(`p${i}`, {
      cpu: "100m",
      memory: "100Mi",
      labels: { app: "web" },
      ...shape(i),
    });
    const info = podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${i}` } });
    const decision = decider.decide(info);
    if (decision.kind !== "node") continue;
    cache.assume(info, decision.nodeName);
    placed++;
  }
  const { user, system } = process.cpuUsage(began);
  const rate = Math.round((count * 1e6) / (user + system));
  const cells = [
    name.padEnd(18),
    `${rate}/s`.padStart(12),
    `${placed} of ${count} placed`.padStart(26),
    `nodes ${Math.round(withNodes - before)} MB`.padStart(16),
    `all ${Math.round(megabytes())} MB`.padStart(14),
  ];
  process.stdout.write(`${cells.join("  ")}\n`);
}

process.stdout.write(`${nodeCount} nodes\n`);
for (const one of cases) run(one);
