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

test("nodes that renewed late but in time, and a lease that was never renewed, are well", () => {
  assert.deepEqual(judge(5, 45, 50), []);
  assert.deepEqual(silentNodes.judge(seen({ nodeLeases: [named("new"), lease("n", 1)] })), []);
});
