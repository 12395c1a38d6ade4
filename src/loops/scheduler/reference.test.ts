/**
 * The incremental filters against an oracle too simple to be wrong: for random clusters, random
 * comings and goings, each node's verdict must be the one that walking all Pods gives.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Node, Pod, PodAffinityTerm, PodSpec } from "#api/gen/types.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { Nominations } from "./nominations.ts";
import { podInfo } from "./pod-info.ts";
import { makeNode, makePod, noVolumes } from "./testing.ts";

const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
type Random = FakeRandom;

const nodesMax = 8;

interface World {
  readonly nodes: Node[];
  readonly placed: Map<string, Pod>;
}

function pick<T>(random: Random, from: readonly T[]): T {
  const item = from[random.below(from.length)];
  assert.ok(item !== undefined);
  return item;
}

function randomNode(random: Random, i: number): Node {
  const taints = random.below(4) === 0 ? [{ key: "t", value: "v", effect: "NoSchedule" }] : [];
  const zoned = random.below(6) === 0 ? {} : { zone: pick(random, ["a", "b", "c"]) };
  const labels = { disk: pick(random, ["ssd", "hdd"]) };
  return makeNode(`n${i}`, { cpu: "4", pods: "8", taints, labels, ...zoned });
}

function randomTerm(random: Random): PodAffinityTerm {
  const matchLabels = { app: pick(random, ["x", "y", "z"]) };
  return { topologyKey: pick(random, [zone, host]), labelSelector: { matchLabels } };
}

function randomSpec(random: Random): Partial<PodSpec> {
  const term = randomTerm(random);
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  switch (random.below(8)) {
    case 0:
      return { affinity: { podAffinity: required } };
    case 1:
    case 2:
      return { affinity: { podAntiAffinity: required } };
    case 3:
      return {
        topologySpreadConstraints: [
          { ...term, maxSkew: 1 + random.below(2), whenUnsatisfiable: "DoNotSchedule" },
        ],
      };
    case 4:
      return { tolerations: [{ key: "t", operator: "Exists" }] };
    case 5:
      return { nodeSelector: { disk: "ssd" } };
    default:
      return {};
  }
}

function randomPod(random: Random, i: number): Pod {
  const labels = { app: pick(random, ["x", "y", "z"]) };
  const cpu = pick(random, ["100m", "500m", "1"]);
  const port = random.below(6) === 0 ? { hostPort: 80 + random.below(2) } : {};
  const pod = makePod(`p${i}`, { cpu, labels, spec: randomSpec(random), ...port });
  // Pods of an owner that name no constraint are spread by the built-in ones, which only score.
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "rs",
    uid: "u",
    controller: true,
  };
  const owned = random.below(3) === 0 ? { ownerReferences: [owner] } : {};
  return { ...pod, metadata: { ...pod.metadata, uid: `u${i}`, ...owned } };
}

/** A node goes with its Pods on it, comes, or has other labels and taints than before. */
function changeNode(random: Random, { nodes }: World, cache: Cache): void {
  const i = random.below(nodesMax);
  const name = `n${i}`;
  const at = nodes.findIndex((node) => node.metadata?.name === name);
  if (at >= 0) nodes.splice(at, 1);
  if (at >= 0 && random.below(2) === 0) return cache.deleteNode(name);
  const node = randomNode(random, i);
  nodes.push(node);
  cache.setNode(node);
}

/** What upstream's documentation says, word for word, by walking everything. */
function reference(world: World, pod: Pod, node: Node): boolean {
  const spec = pod.spec;
  const here = podsOn(world, node);
  const tolerated = (spec?.tolerations ?? []).length > 0;
  if ((node.spec?.taints ?? []).length > 0 && !tolerated) return false;
  if (!selectorFits(spec, node)) return false;
  if (here.length + 1 > 8) return false;
  if (here.reduce((sum, p) => sum + cpuOf(p), cpuOf(pod)) > 4_000) return false;
  if (portOf(pod) !== 0 && here.some((p) => portOf(p) === portOf(pod))) return false;
  return spreadFits(world, pod, node) && affinityFits(world, pod, node);
}

function podsOn(world: World, node: Node): Pod[] {
  return [...world.placed.values()].filter((p) => p.spec?.nodeName === node.metadata?.name);
}

function selectorFits(spec: PodSpec | undefined, node: Node): boolean {
  const disk = spec?.nodeSelector?.["disk"];
  return disk === undefined || node.metadata?.labels?.["disk"] === disk;
}

function cpuOf(pod: Pod): number {
  const text = pod.spec?.containers[0]?.resources?.requests?.["cpu"] ?? "0";
  return text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1_000;
}

function portOf(pod: Pod): number {
  return pod.spec?.containers[0]?.ports?.[0]?.hostPort ?? 0;
}

function domain(node: Node, key: string): string | undefined {
  return node.metadata?.labels?.[key];
}

function selects(term: { labelSelector?: PodAffinityTerm["labelSelector"] }, pod: Pod): boolean {
  return pod.metadata?.labels?.["app"] === term.labelSelector?.matchLabels?.["app"];
}

function spreadFits(world: World, pod: Pod, node: Node): boolean {
  const [constraint] = pod.spec?.topologySpreadConstraints ?? [];
  if (constraint === undefined) return true;
  const key = constraint.topologyKey;
  const own = domain(node, key);
  if (own === undefined) return false;
  const counts = new Map<string, number>();
  for (const candidate of world.nodes) {
    const name = domain(candidate, key);
    if (name === undefined || !selectorFits(pod.spec, candidate)) continue;
    const matching = podsOn(world, candidate).filter((p) => selects(constraint, p)).length;
    counts.set(name, (counts.get(name) ?? 0) + matching);
  }
  const self = selects(constraint, pod) ? 1 : 0;
  return (counts.get(own) ?? 0) + self - Math.min(...counts.values()) <= constraint.maxSkew;
}

function affinityFits(world: World, pod: Pod, node: Node): boolean {
  const near = (term: PodAffinityTerm, other: Pod): boolean => {
    const home = world.nodes.find((n) => n.metadata?.name === other.spec?.nodeName);
    const theirs = home === undefined ? undefined : domain(home, term.topologyKey);
    return theirs !== undefined && theirs === domain(node, term.topologyKey);
  };
  const others = [...world.placed.values()];
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  for (const term of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (others.some((p) => selects(term, p) && near(term, p))) return false;
  }
  for (const other of others) {
    const theirs = other.spec?.affinity?.podAntiAffinity;
    for (const term of theirs?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (selects(term, pod) && near(term, other)) return false;
    }
  }
  for (const term of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (domain(node, term.topologyKey) === undefined) return false;
    const matching = others.filter((p) => selects(term, p));
    const located = matching.some((p) => {
      const home = world.nodes.find((n) => n.metadata?.name === p.spec?.nodeName);
      return home !== undefined && domain(home, term.topologyKey) !== undefined;
    });
    if (!located && selects(term, pod)) continue;
    if (!matching.some((p) => near(term, p))) return false;
  }
  return true;
}

function checkSeed(seed: number): void {
  const random = new FakeRandom(seed);
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const plugins = defaultPlugins;
  const deps = { cache, random, namespaces, volumes: noVolumes, nominations, plugins };
  const decider = new ScheduleAlgorithm(deps);
  const nodes = Array.from({ length: nodesMax }, (_, i) => randomNode(random, i));
  for (const node of nodes) cache.setNode(node);
  const world: World = { nodes, placed: new Map() };
  for (let step = 0; step < 120; step++) {
    if (random.below(8) === 0) changeNode(random, world, cache);
    if (random.below(3) === 0 && world.placed.size > 0) {
      const uid = pick(random, [...world.placed.keys()]);
      world.placed.delete(uid);
      cache.removePod(uid);
      continue;
    }
    const pod = randomPod(random, step);
    const info = podInfo(pod);
    const expected = nodes.filter((node) => reference(world, pod, node));
    const names = expected.map((node) => node.metadata?.name ?? "");
    for (const node of nodes) {
      const name = node.metadata?.name ?? "";
      const passes = decider.passes(info, cache.nodes.slotOf(name) ?? -1);
      assert.equal(passes, names.includes(name), `seed ${seed} step ${step} node ${name}`);
    }
    const decision = decider.decide(info);
    assert.equal(decision.kind === "node", names.length > 0, `seed ${seed} step ${step}`);
    if (decision.kind !== "node") continue;
    assert.ok(names.includes(decision.nodeName));
    cache.assume(info, decision.nodeName);
    world.placed.set(info.uid, {
      ...pod,
      spec: { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName: decision.nodeName },
    });
  }
}

test("incremental filters agree with walking all pods, for any history", () => {
  for (let seed = 1; seed <= 40; seed++) checkSeed(seed);
});
