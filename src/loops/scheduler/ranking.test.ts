/** Decisions by what changed against scores of every node, for random clusters, pods and changes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { Nominations } from "./nominations.ts";
import { podInfo, type PodInfo } from "./pod-info.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "./testing.ts";

function randomNode(random: FakeRandom, at: number): Node {
  const taints = random.below(5) === 0 ? [{ key: "t", effect: "NoSchedule" }] : [];
  const labels = { disk: random.below(2) === 0 ? "ssd" : "hdd" };
  return makeNode(`n${at}`, { cpu: String(2 + random.below(4)), pods: "12", taints, labels });
}

function randomPod(random: FakeRandom, at: number): PodInfo {
  const cpu = `${100 * (1 + random.below(3))}m`;
  const nodeSelector = random.below(3) === 0 ? { nodeSelector: { disk: "ssd" } } : {};
  const pod: Pod = makePod(`p${at}`, { cpu, memory: "100Mi", spec: nodeSelector });
  return podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${at}` } });
}

function bestOf({ nodes }: Cache, decider: ScheduleAlgorithm, info: PodInfo): readonly string[] {
  const { feasible, parts } = decider.examine(info);
  const total = (slot: number): number =>
    [...parts.values()].reduce((sum, scores) => sum + (scores[slot] ?? 0), 0);
  const most = Math.max(...feasible.map(total));
  return feasible.filter((slot) => total(slot) === most).map((slot) => nodes.name(slot));
}

function checkSeed(seed: number): void {
  const random = new FakeRandom(seed);
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const decider = new ScheduleAlgorithm({
    cache,
    random,
    namespaces,
    volumes: noVolumes,
    nominations: new Nominations(),
    plugins: defaultPlugins,
  });
  const placed: string[] = [];
  for (let at = 0; at < 12; at++) cache.setNode(randomNode(random, at));
  for (let step = 0; step < 200; step++) {
    const roll = random.below(12);
    if (roll === 0) cache.setNode(randomNode(random, random.below(16)));
    else if (roll === 1) cache.deleteNode(`n${random.below(16)}`);
    else if (roll < 5 && placed.length > 0) {
      const [uid = ""] = placed.splice(random.below(placed.length), 1);
      cache.removePod(uid);
    } else {
      const info = randomPod(random, step);
      const best = bestOf(cache, decider, info);
      const decision = decider.decide(info);
      const where = `seed ${seed} step ${step}`;
      assert.equal(decision.kind === "node", best.length > 0, where);
      if (decision.kind !== "node") continue;
      assert.ok(
        best.includes(decision.nodeName),
        `${where}: ${decision.nodeName} of ${best.join()}`,
      );
      cache.assume(info, decision.nodeName);
      placed.push(info.uid);
    }
  }
}

test("a decision by what changed is one of the best of all nodes, for any history", () => {
  for (let seed = 1; seed <= 30; seed++) checkSeed(seed);
});
