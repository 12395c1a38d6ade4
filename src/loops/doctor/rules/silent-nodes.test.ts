/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { named, secondsAgo, seen } from "../testing/evidence.ts";
import { silentNodes } from "./silent-nodes.ts";

const lease = (name: string, seconds: number) =>
  named(name, { spec: { leaseDurationSeconds: 40, renewTime: secondsAgo(seconds) } });
const judge = (...seconds: number[]) =>
  silentNodes.judge(
    seen({ nodeLeases: seconds.map((second, index) => lease(`n${index}`, second)) }),
  );

test("one silent node is named, and most of them page", () => {
  const [one] = judge(5, 70, 5);
  assert.deepEqual([one?.culprit, one?.severity], ["node n1", "warn"]);
  assert.equal(judge(70, 80, 90, 5)[0]?.severity, "page");
});

test("when every node is silent, what they share is named and no node", () => {
  const [verdict] = judge(70, 70);
  assert.match(verdict?.sentence ?? "", /none of the 2 nodes/);
  assert.match(verdict?.culprit ?? "", /load balancer/);
});

test("silent nodes of one zone are the zone's, unless all nodes are of it or another's are silent too", () => {
  const culpritOf = (zoneOf: readonly string[], ...seconds: number[]): string | undefined => {
    const nodeLeases = seconds.map((second, index) => lease(`n${index}`, second));
    const zones = new Map(zoneOf.map((zone, index) => [`n${index}`, zone]));
    return silentNodes.judge({ ...seen({ nodeLeases }), zones })[0]?.culprit;
  };
  assert.equal(culpritOf(["a", "a", "b", "b"], 70, 80, 5, 5), "zone a: node n0, n1");
  assert.equal(culpritOf(["a", "a", "b", "b"], 70, 5, 80, 5), "node n0, n2");
  assert.equal(culpritOf(["a", "a", "a", "a"], 70, 80, 5, 5), "node n0, n1");
  assert.equal(culpritOf(["a", "a", "b", "b"], 70, 5, 5, 5), "node n0");
  assert.equal(culpritOf([], 70, 80, 5), "node n0, n1");
});

test("nodes that renewed late but in time, and a lease that was never renewed, are well", () => {
  assert.deepEqual(judge(5, 45, 50), []);
  assert.deepEqual(silentNodes.judge(seen({ nodeLeases: [named("new"), lease("n", 1)] })), []);
});
