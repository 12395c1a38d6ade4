/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeenObject } from "../evidence.ts";
import { named, secondsAgo, seen } from "../testing/evidence.ts";
import { leaders } from "./leaders.ts";

function lease(name: string, seconds: number, holderIdentity = "host-1_a"): SeenObject {
  const spec = { holderIdentity, leaseDurationSeconds: 15, renewTime: secondsAgo(seconds) };
  return named(name, { spec });
}

test("a lease that nobody renews names its loop and its holder", () => {
  const [verdict] = leaders.judge(seen({ leases: [lease("kube-scheduler", 60)] }));
  assert.equal(verdict?.culprit, "kube-scheduler, held by host-1_a");
});

test("one renewed lately, one given back, and one of an API server that went away are well", () => {
  const leases = [
    lease("kube-scheduler", 40),
    lease("kube-controller-manager", 600, ""),
    lease("apiserver-abc", 600),
    named("no-times"),
  ];
  assert.deepEqual(leaders.judge(seen({ leases })), []);
});
