/** percentageOfNodesToScore: how many nodes are scored, and that each has its turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { Nominations } from "./nominations.ts";
import { podInfo } from "./pod-info.ts";
import { nodesToScore, type SampleSize } from "./sample-size.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "./testing.ts";

test("upstream's arithmetic", () => {
  const cases: readonly [SampleSize, number, number][] = [
    ["all", 5_000, 5_000],
    ["adaptive", 99, 99],
    ["adaptive", 100, 100],
    ["adaptive", 1_000, 420],
    ["adaptive", 5_000, 500],
    ["adaptive", 100_000, 5_000],
    [1, 5_000, 100],
    [40, 1_000, 400],
    [100, 1_000, 1_000],
  ];
  for (const [size, nodes, wanted] of cases) {
    assert.equal(nodesToScore(size, nodes), wanted, `${size} of ${nodes}`);
  }
});

function deciderOf(sample: SampleSize, nodeCount: number) {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  for (let i = 0; i < nodeCount; i++) cache.setNode(makeNode(`n${i}`, { cpu: `${i + 1}` }));
  const random = new FakeRandom(1);
  const nominations = new Nominations();
  const shared = { cache, random, namespaces, volumes: noVolumes, nominations };
  const decider = new ScheduleAlgorithm({ ...shared, plugins: defaultPlugins, sample });
  return { decider, nominations };
}

test("each decision goes on where the last one stopped", () => {
  const { decider } = deciderOf(1, 300);
  const hundreds = Array.from({ length: 4 }, (_, i) => {
    const decision = decider.decide(podInfo(makePod(`p${i}`, { cpu: "100m", memory: "1Mi" })));
    return decision.kind === "node" ? Math.floor(Number(decision.nodeName.slice(1)) / 100) : -1;
  });
  assert.deepEqual(hundreds, [0, 1, 2, 0]);
});

test("nodes that do not fit are passed over, and a Pod that fits one node alone finds it", () => {
  const { decider } = deciderOf(1, 300);
  for (let i = 0; i < 3; i++) {
    const decision = decider.decide(podInfo(makePod(`p${i}`, { cpu: "300" })));
    assert.deepEqual(decision, { kind: "node", nodeName: "n299" });
  }
});

test("a nominated node goes before all others while it fits", () => {
  const { decider, nominations } = deciderOf("all", 10);
  const pod = makePod("p", { cpu: "1" });
  const info = podInfo({ ...pod, status: { nominatedNodeName: "n2" } });
  assert.deepEqual(decider.decide(info), { kind: "node", nodeName: "n2" });
  nominations.set(info, "n4");
  assert.deepEqual(decider.decide(info), { kind: "node", nodeName: "n4" });
  const large = podInfo({ ...makePod("q", { cpu: "9" }), status: { nominatedNodeName: "n2" } });
  assert.deepEqual(decider.decide(large), { kind: "node", nodeName: "n9" });
});
