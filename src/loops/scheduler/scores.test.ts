/** What single plugins score, restated from upstream's documented arithmetic, by which node a Pod goes to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod, Service } from "#api/gen/types.ts";
import { Cache } from "./cache.ts";
import { Cycle } from "./cycle.ts";
import { NodeTable } from "./node-table.ts";
import type { Plugin } from "./plugin.ts";
import { PodClasses } from "./pod-class.ts";
import { podInfo } from "./pod-info.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { ignoresNothing, nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread.ts";
import { reasonOf } from "./reasons.ts";
import { podRequests } from "./requests.ts";
import { strategyScore } from "./scoring-strategy.ts";
import { makeNode, makePod } from "./testing.ts";

const mebibyte = 1024 * 1024;
const noRules = { nodeFilters: [], nodeScores: [], roomFilters: [], roomScores: [] };

/** By node; undefined: the plugin has nothing to say. */
function scoresOf(
  plugin: Plugin,
  nodes: readonly Node[],
  placed: readonly (readonly [Pod, string])[],
  pod: Pod,
): Readonly<Record<string, number>> | undefined {
  const cache = new Cache({ namespaces: () => undefined });
  for (const node of nodes) cache.setNode(node);
  placed.forEach(([one, name], i) => {
    const { metadata } = one;
    cache.assume(podInfo({ ...one, metadata: { ...metadata, uid: `placed${i}` } }), name);
  });
  const classes = new PodClasses({ nodes: cache.nodes }, noRules);
  const slots = cache.nodes.live.slice(0, cache.nodes.size);
  const cycle = new Cycle({ cache, classes }, podInfo(pod), slots, slots.length);
  const scores = new Float64Array(cache.nodes.capacity);
  if (plugin.score?.run(cycle, scores) !== true) return undefined;
  return Object.fromEntries([...slots].map((slot) => [cache.nodes.name(slot), scores[slot] ?? 0]));
}

const withImages = (name: string, images: Readonly<Record<string, number>>): Node => {
  const node = makeNode(name);
  const listed = Object.entries(images).map(([image, sizeBytes]) => ({
    names: [image],
    sizeBytes: sizeBytes * mebibyte,
  }));
  return { ...node, status: { ...node.status, images: listed } };
};

test("ImageLocality: large images that many nodes have score, small ones do not", () => {
  const pod = makePod("p", { spec: { containers: [{ name: "c", image: "web" }] } });
  const nodes = [withImages("with", { "web:latest": 1_046 }), makeNode("without")];
  // 1046 MiB on half of the nodes count as 523; of the span from 23 to 1000 that is 51 %.
  assert.deepEqual(scoresOf(imageLocality(), nodes, [], pod), { with: 51, without: 0 });
  const small = [withImages("with", { "web:latest": 40 }), makeNode("without")];
  assert.equal(scoresOf(imageLocality(), small, [], pod), undefined);
  const tagged = makePod("p", { spec: { containers: [{ name: "c", image: "r:5000/web" }] } });
  const port = [withImages("a", { "r:5000/web:latest": 9_000 }), makeNode("b")];
  assert.deepEqual(scoresOf(imageLocality(), port, [], tagged), { a: 100, b: 0 });
});

test("ImageLocality: what a node no longer has, or a node that is gone, counts no more", () => {
  const nodes = new NodeTable();
  nodes.set(withImages("a", { "web:latest": 100 }));
  nodes.set(withImages("b", { "web:latest": 100 }));
  assert.equal(nodes.images.find("web:latest")?.slots.size, 2);
  nodes.set(makeNode("a"));
  assert.equal(nodes.images.find("web:latest")?.slots.size, 1);
  nodes.delete("b");
  assert.equal(nodes.images.find("web:latest"), undefined);
});

function balanced(resources: readonly string[], used: Pod, pod: Pod): number | undefined {
  const nodes = new NodeTable();
  const node = makeNode("n", { cpu: "10", memory: "10Gi" });
  const allocatable = { ...node.status?.allocatable, "example.com/gpu": "10" };
  const slot = nodes.set({ ...node, status: { ...node.status, allocatable } });
  nodes.use(slot, podRequests(used.spec ?? { containers: [] }), 1);
  const { roomScore } = nodeResourcesBalancedAllocation(undefined, resources);
  return roomScore?.score(nodes, podRequests(pod.spec ?? { containers: [] }), slot);
}

test("BalancedAllocation: 75 leaves the balance, more mends it, less spoils it, nothing asked scores nothing", () => {
  const both = ["cpu", "memory"];
  const even = makePod("u", { cpu: "2", memory: "2Gi" });
  assert.equal(balanced(both, even, makePod("p", { cpu: "1", memory: "1Gi" })), 75);
  // Shares 7 and 2 of 10: 25 less than even.
  assert.equal(balanced(both, even, makePod("p", { cpu: "5" })), 62);
  const skewed = makePod("u", { cpu: "6", memory: "2Gi" });
  assert.equal(balanced(both, skewed, makePod("p", { memory: "4Gi" })), 85);
  assert.equal(balanced(both, even, makePod("p")), 0);
});

const withGpu = (name: string, cpu: string, gpus: string): Pod => ({
  ...makePod(name),
  spec: {
    containers: [
      { name: "c", image: "i", resources: { requests: { cpu, "example.com/gpu": gpus } } },
    ],
  },
});

test("an extended resource is balanced and scored for Pods that ask for it", () => {
  const all = ["cpu", "memory", "example.com/gpu"];
  const even = makePod("u", { cpu: "2", memory: "2Gi" });
  // Shares 0.2, 0.2, 0 become 0.3, 0.2, 0.5: deviations 0.0943 and 0.1247 make 90 and 87.
  assert.equal(balanced(all, even, withGpu("p", "1", "5")), 73);
  const nodes = new NodeTable();
  const node = makeNode("n", { cpu: "10" });
  const allocatable = { ...node.status?.allocatable, "example.com/gpu": "10" };
  const slot = nodes.set({ ...node, status: { ...node.status, allocatable } });
  const resources = [{ name: "example.com/gpu", weight: 1 }];
  const score = strategyScore({ type: "MostAllocated", resources, shape: [] });
  const of = (pod: Pod): number => score(nodes, podRequests(pod.spec ?? { containers: [] }), slot);
  assert.deepEqual([of(withGpu("p", "1", "4")), of(makePod("q", { cpu: "1" }))], [40, 0]);
});

test("ignored resources and groups are left to others; what is no extended resource is not", () => {
  const nodes = new NodeTable();
  const slot = nodes.set(makeNode("n"));
  const requests = podRequests(withGpu("p", "1", "1").spec ?? { containers: [] });
  const lack = (ignored: typeof ignoresNothing): readonly string[] => {
    const { roomFilter } = nodeResourcesFit(undefined, undefined, ignored);
    return (roomFilter?.(nodes, requests, slot) ?? []).map((id) => reasonOf(id).text);
  };
  assert.deepEqual(lack(ignoresNothing), ["Insufficient example.com/gpu"]);
  assert.deepEqual(lack({ names: new Set(["example.com/gpu"]), groups: new Set() }), []);
  assert.deepEqual(lack({ names: new Set(), groups: new Set(["example.com"]) }), []);
  assert.deepEqual(lack({ names: new Set(), groups: new Set(["example"]) }), [
    "Insufficient example.com/gpu",
  ]);
});

const owned = (name: string, kind: string, labels = { app: "web" }): Pod => {
  const pod = makePod(name, { labels });
  const owner = { apiVersion: "apps/v1", kind, name: "o", uid: "o", controller: true };
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
};
const zones = ["a", "b"].map((zone) => makeNode(zone, { zone }));

test("default spreading: by ReplicaSet and StatefulSet; Pods of other owners only by Services", () => {
  const plugin = podTopologySpread();
  const of = (kind: string) => scoresOf(plugin, zones, [[owned("x", kind), "a"]], owned("p", kind));
  for (const kind of ["ReplicaSet", "StatefulSet"]) {
    const scores = of(kind) ?? {};
    assert.ok((scores["b"] ?? 0) > (scores["a"] ?? 0), kind);
  }
  assert.equal(of("DaemonSet"), undefined);
});

test("default spreading by Services: what all Services of the Pod select", () => {
  const service = (selector: Readonly<Record<string, string>>): Service => ({ spec: { selector } });
  const services = () => [service({ app: "web" }), service({ app: "db" })];
  const plugin = podTopologySpread({ services });
  const labels = { app: "web" };
  const placed = [
    [makePod("x", { labels }), "a"],
    [makePod("y", { labels: { app: "db" } }), "b"],
  ] as const;
  const scores = scoresOf(plugin, zones, placed, makePod("p", { labels })) ?? {};
  assert.ok((scores["b"] ?? 0) > (scores["a"] ?? 0));
  assert.equal(scoresOf(plugin, zones, placed, makePod("p", { labels: { app: "x" } })), undefined);
  assert.equal(scoresOf(podTopologySpread(), zones, placed, makePod("p", { labels })), undefined);
});

test("default constraints of a profile: soft ones score by their key alone, and ask for it", () => {
  const constraints = [{ maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" }];
  const racks = [
    makeNode("a", { labels: { rack: "1" } }),
    makeNode("b", { labels: { rack: "2" } }),
    makeNode("none"),
  ];
  const plugin = podTopologySpread({}, constraints);
  const placed = [[owned("x", "ReplicaSet"), "a"]] as const;
  const scores = scoresOf(plugin, racks, placed, owned("p", "ReplicaSet"));
  assert.deepEqual(scores, { a: 0, b: 100, none: 0 });
  assert.equal(
    scoresOf(podTopologySpread({}, []), racks, placed, owned("p", "ReplicaSet")),
    undefined,
  );
});
