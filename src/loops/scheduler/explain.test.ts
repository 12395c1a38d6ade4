/** What `explain` says of a Pod: refusals by plugin with a remedy, and scores by plugin. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { explainPod, explanationText } from "./explain.ts";
import { Nominations } from "./nominations.ts";
import { podInfo } from "./pod-info.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "./testing.ts";

function world(nodes: readonly Node[], placed: readonly Pod[] = []) {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  for (const node of nodes) cache.setNode(node);
  placed.forEach((pod, i) => {
    const info = podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${i}` } });
    cache.confirm(info, pod.spec?.nodeName ?? "");
  });
  const random = new FakeRandom(1);
  const nominations = new Nominations();
  const shared = { cache, random, namespaces, volumes: noVolumes, nominations };
  return { cache, decider: new ScheduleAlgorithm({ ...shared, plugins: defaultPlugins }) };
}

test("each plugin's nodes, the closest of them, and what would have to change", () => {
  const taints = [{ key: "gpu", value: "yes", effect: "NoSchedule" }];
  const nodes = [
    makeNode("n1", { cpu: "1" }),
    makeNode("n2", { cpu: "2" }),
    makeNode("n3", { taints }),
  ];
  const placed = [makePod("x", { cpu: "500m", nodeName: "n2" })];
  const text = explanationText(explainPod(world(nodes, placed), makePod("p", { cpu: "2" })));
  assert.equal(
    text,
    `Pod a/p (default-scheduler): none of 3 nodes takes it
  1 of 3 nodes refused by NodeResourcesFit: Insufficient cpu
      n1
      to change: ask for at most 1000m instead of 2000m, which n1 has free, or free 1000m there
  1 of 3 nodes refused by NodeResourcesFit: Insufficient cpu
      n2
      to change: ask for at most 1500m instead of 2000m, which n2 has free, or free 500m there; preemption may help
  1 of 3 nodes refused by TaintToleration: node(s) had untolerated taint(s)
      n3
      to change: tolerate gpu=yes:NoSchedule, or take it off the node
`,
  );
});

test("scores of the best nodes and of the Pod's own, which add up to what decides", () => {
  const nodes = Array.from({ length: 8 }, (_, i) => makeNode(`n${i}`, { cpu: `${i + 2}` }));
  const pod = makePod("p", { cpu: "1", nodeName: "n0" });
  const { cache, decider } = world(nodes);
  const found = explainPod({ cache, decider }, pod);
  assert.equal(found.feasible, 8);
  assert.equal(found.scores.at(-1)?.node, "n0");
  assert.equal(found.scores.length, 6);
  const [best] = found.scores;
  const decision = decider.decide(podInfo(pod));
  assert.ok(decision.kind === "node");
  const chosen = found.scores.find(({ node }) => node === decision.nodeName);
  assert.equal(chosen?.total, best?.total);
  assert.match(explanationText(found), /it is on n0; as things stand, 8 of 8 nodes would take it/);
});

test("a Pod with gates, or with a claim that is missing, is told so", () => {
  const gated = makePod("p", { spec: { schedulingGates: [{ name: "example.com/wait" }] } });
  const text = explanationText(explainPod(world([makeNode("n")]), gated));
  assert.match(text, /it waits for its scheduling gates: example\.com\/wait/);
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "c" } }];
  const found = explainPod(world([makeNode("n")]), makePod("q", { spec: { volumes } }));
  assert.match(explanationText(found), /VolumeBinding: persistentvolumeclaim "c" not found/);
});
