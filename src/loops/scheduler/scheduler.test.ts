/** The scheduler against the API in memory: placing, waiting, failing, preempting, telling why. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";

test("a pod goes to the node with most room, and says so", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("small", { cpu: "1", memory: "2Gi" }));
    api.put(nodesRef, makeNode("large", { cpu: "8", memory: "32Gi" }));
    api.put(podsRef, makePod("web", { cpu: "500m", memory: "512Mi" }));
  });
  assert.equal(rig.nodeOf("web"), "large");
  assert.deepEqual(rig.events("Scheduled"), ["Successfully assigned a/web to large"]);
  await rig.end();
});

test("why no node fits is told in upstream's words", async () => {
  const taints = [{ key: "dedicated", value: "db", effect: "NoSchedule" }];
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(nodesRef, makeNode("n2", { cpu: "1" }));
    api.put(nodesRef, makeNode("n3", { taints }));
    api.put(podsRef, makePod("web", { cpu: "2" }));
  });
  const text =
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. " +
    "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
  assert.equal(rig.verdictOn("web"), text);
  assert.deepEqual(rig.events("FailedScheduling"), [text]);
  await rig.end();
});

test("why preemption did not help is told node by node in upstream's words", async () => {
  const rig = await startRig((api) => {
    for (const name of ["empty", "equal", "port"]) api.put(nodesRef, makeNode(name, { cpu: "2" }));
    api.put(nodesRef, makeNode("small", { cpu: "500m" }));
    api.put(podsRef, makePod("peer", { cpu: "2", nodeName: "equal", priority: 5 }));
    api.put(podsRef, makePod("low", { cpu: "1", nodeName: "port" }));
    api.put(podsRef, makePod("proxy", { hostPort: 80, nodeName: "port", priority: 9 }));
    api.put(podsRef, makePod("other", { hostPort: 80, nodeName: "empty", priority: 9 }));
    api.put(podsRef, makePod("web", { cpu: "2", hostPort: 80, priority: 5 }));
  });
  assert.equal(
    rig.verdictOn("web"),
    "0/4 nodes are available: 2 Insufficient cpu, " +
      "2 node(s) didn't have free ports for the requested pod ports. preemption: 0/4 nodes are available: " +
      "1 Preemption is not helpful for scheduling, " +
      "1 node(s) didn't have free ports for the requested pod ports, " +
      "2 No preemption victims found for incoming pod.",
  );
  await rig.end();
});

test("without any node the message says so", async () => {
  const rig = await startRig((api) => api.put(podsRef, makePod("web")));
  assert.equal(rig.verdictOn("web"), "no nodes available to schedule pods");
  rig.api.put(nodesRef, makeNode("n1"));
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("web"), "n1");
  await rig.end();
});

test("a pod waits for room and takes it when another leaves", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("first", { cpu: "800m", nodeName: "n1" }));
    api.put(podsRef, makePod("second", { cpu: "800m" }));
  });
  assert.equal(rig.nodeOf("second"), "");
  rig.api.drop(podsRef, "a", "first");
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("second"), "n1");
  await rig.end();
});

test("assumed pods count at once: ten pods never overfill two nodes", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "2" }));
    api.put(nodesRef, makeNode("n2", { cpu: "2" }));
    for (let i = 0; i < 10; i++) api.put(podsRef, makePod(`p${i}`, { cpu: "500m" }));
  });
  const nodes = Array.from({ length: 10 }, (_, i) => rig.nodeOf(`p${i}`));
  assert.equal(nodes.filter((n) => n === "n1").length, 4);
  assert.equal(nodes.filter((n) => n === "n2").length, 4);
  assert.equal(rig.scheduler.metrics().pending, 2);
  await rig.end();
});

test("a failed bind is forgotten and tried again after backoff", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.fail((c) => c.subresource === "binding", failure(500, "InternalError", "no disk"));
    api.put(podsRef, makePod("web"));
  });
  assert.equal(rig.nodeOf("web"), "");
  assert.equal(rig.scheduler.metrics().placedPods, 0);
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("web"), "n1");
  await rig.end();
});

test("cordoned nodes, selectors, affinity and tolerations are honoured", async () => {
  const taints = [{ key: "gpu", value: "yes", effect: "NoSchedule" }];
  const required = {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd", "nvme"] }] },
    ],
  };
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("cordoned", { unschedulable: true }));
    api.put(nodesRef, makeNode("tainted", { taints }));
    api.put(nodesRef, makeNode("ssd", { labels: { disk: "ssd" }, cpu: "1" }));
    api.put(podsRef, makePod("selects", { spec: { nodeSelector: { disk: "ssd" } } }));
    api.put(
      podsRef,
      makePod("affine", {
        spec: {
          affinity: {
            nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
          },
        },
      }),
    );
    const tolerations = [{ key: "gpu", operator: "Exists" }];
    const nodeSelector = { "kubernetes.io/hostname": "tainted" };
    api.put(podsRef, makePod("tolerates", { spec: { tolerations, nodeSelector } }));
  });
  assert.equal(rig.nodeOf("selects"), "ssd");
  assert.equal(rig.nodeOf("affine"), "ssd");
  assert.equal(rig.nodeOf("tolerates"), "tainted");
  await rig.end();
});

test("a host port is had once per node", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.put(podsRef, makePod("one", { hostPort: 80 }));
    api.put(podsRef, makePod("two", { hostPort: 80 }));
  });
  const placed = ["one", "two"].filter((name) => rig.nodeOf(name) === "n1");
  assert.equal(placed.length, 1);
  const waiting = placed[0] === "one" ? "two" : "one";
  assert.match(rig.verdictOn(waiting), /1 node\(s\) didn't have free ports for the requested pod/);
  await rig.end();
});

test("gated pods wait until the last gate is gone", async () => {
  const gated = makePod("web", { spec: { schedulingGates: [{ name: "wait" }] } });
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.put(podsRef, gated);
  });
  assert.equal(rig.nodeOf("web"), "");
  rig.api.put(podsRef, makePod("web"));
  await rig.clock.advance(100);
  assert.equal(rig.nodeOf("web"), "n1");
  await rig.end();
});

test("pods of higher priority go first", async () => {
  const rig = await startRig((api) => {
    api.put(podsRef, makePod("low", { cpu: "1", priority: 1 }));
    api.put(podsRef, makePod("high", { cpu: "1", priority: 100 }));
  });
  rig.api.put(nodesRef, makeNode("n1", { cpu: "1" }));
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("high"), "n1");
  assert.equal(rig.nodeOf("low"), "");
  await rig.end();
});

test("a pod of higher priority preempts the least harmful victims and gets their room", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "2" }));
    api.put(nodesRef, makeNode("n2", { cpu: "2" }));
    api.put(podsRef, makePod("v1", { cpu: "2", priority: 5, nodeName: "n1" }));
    api.put(podsRef, makePod("v2", { cpu: "1", priority: 1, nodeName: "n2" }));
    api.put(podsRef, makePod("v3", { cpu: "1", priority: 1, nodeName: "n2" }));
    api.put(podsRef, makePod("boss", { cpu: "1", priority: 10 }));
  });
  const boss = rig.api.peek<Pod>(podsRef, "a", "boss");
  assert.equal(boss?.status?.nominatedNodeName, "n2");
  const victims = ["v1", "v2", "v3"].filter(
    (name) => rig.api.peek(podsRef, "a", name)?.metadata?.deletionTimestamp !== undefined,
  );
  assert.equal(victims.length, 1);
  assert.notEqual(victims[0], "v1");
  const victim = rig.api.peek<Pod>(podsRef, "a", victims[0] ?? "");
  const target = victim?.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual(
    [target?.status, target?.reason, target?.message],
    [
      "True",
      "PreemptionByScheduler",
      "default-scheduler: preempting to accommodate a higher priority pod",
    ],
  );
  rig.api.put(podsRef, makePod("thief", { cpu: "1", priority: 2 }));
  rig.api.drop(podsRef, "a", victims[0] ?? "");
  await rig.clock.advance(1_500);
  assert.equal(rig.nodeOf("boss"), "n2");
  assert.equal(rig.nodeOf("thief"), "");
  await rig.end();
});

test("preemptionPolicy Never waits instead", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("low", { cpu: "1", nodeName: "n1" }));
    const spec = { preemptionPolicy: "Never" };
    api.put(podsRef, makePod("polite", { cpu: "1", priority: 10, spec }));
  });
  assert.match(rig.verdictOn("polite"), /not eligible due to preemptionPolicy=Never\.$/);
  assert.equal(rig.api.peek(podsRef, "a", "low")?.metadata?.deletionTimestamp, undefined);
  await rig.end();
});

test("pods of other schedulers are left alone but counted", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("other", { spec: { schedulerName: "theirs" } }));
    api.put(podsRef, makePod("placed", { cpu: "1", nodeName: "n1", spec: { schedulerName: "x" } }));
    api.put(podsRef, makePod("ours", { cpu: "1" }));
  });
  assert.equal(rig.nodeOf("other"), "");
  assert.match(rig.verdictOn("ours"), /1 Insufficient cpu/);
  await rig.end();
});

test("a claim that is missing is named", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "none" } }];
    api.put(podsRef, makePod("vol", { spec: { volumes } }));
  });
  assert.match(rig.verdictOn("vol"), /persistentvolumeclaim "none" not found/);
  await rig.end();
});

test("a heartbeat of a node wakes nobody", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("big", { cpu: "2" }));
  });
  await rig.clock.advance(2_000);
  const before = rig.scheduler.metrics().decisions;
  const node = makeNode("n1", { cpu: "1" });
  rig.api.put<Node>(nodesRef, {
    ...node,
    status: { ...node.status, conditions: [{ type: "Ready", status: "True" }] },
  });
  await rig.clock.advance(2_000);
  assert.equal(rig.scheduler.metrics().decisions, before);
  rig.api.put(nodesRef, makeNode("n1", { cpu: "3" }));
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("big"), "n1");
  await rig.end();
});
