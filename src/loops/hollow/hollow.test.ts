/** Hollow nodes against the API in memory: the lives of nodes and pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease, Node, Pod } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { bound, conditionOf, nodesRef, podsRef, startRig } from "./testing.ts";

const leasesRef = { group: "coordination.k8s.io", version: "v1", resource: "leases" };

test("nodes register once, ready, with addresses of their own", async () => {
  const rig = await startRig();
  await rig.hollow.registered;
  const nodes = rig.api.peekAll<Node>(nodesRef);
  assert.deepEqual(
    nodes.map((n) => n.metadata?.name),
    ["hollow-0", "hollow-1"],
  );
  const [first, second] = nodes;
  assert.equal(first?.metadata?.annotations?.["pilothouse.dev/hollow"], "true");
  assert.equal(first?.metadata?.labels?.["kubernetes.io/hostname"], "hollow-0");
  assert.equal(first?.status?.conditions?.find((c) => c.type === "Ready")?.status, "True");
  assert.equal(first?.spec?.podCIDR, "10.128.0.0/24");
  assert.equal(second?.spec?.podCIDR, "10.128.1.0/24");
  assert.notEqual(first?.status?.addresses?.[0]?.address, second?.status?.addresses?.[0]?.address);
  await rig.end();
});

test("leases are renewed every ten seconds on one timer, status every five minutes", async () => {
  const rig = await startRig({ count: 10 });
  assert.equal(rig.clock.armed().filter((name) => name === "hollow.heartbeat").length, 1);
  await rig.clock.advance(20_000);
  rig.api.calls.length = 0;
  await rig.clock.advance(300_000);
  const leases = rig.api.calls.filter((c) => c.resource === "leases" && c.verb === "update");
  const statuses = rig.api.calls.filter((c) => c.resource === "nodes" && c.verb === "patch");
  assert.equal(leases.length, 300);
  assert.equal(statuses.length, 10);
  const lease = rig.api.peek<Lease>(leasesRef, "kube-node-lease", "hollow-3");
  assert.equal(lease?.spec?.holderIdentity, "hollow-3");
  assert.equal(lease?.metadata?.ownerReferences?.[0]?.kind, "Node");
  await rig.end();
});

test("a lease that someone else wrote or took away is taken up again", async () => {
  const rig = await startRig({ count: 1 });
  const lease = rig.api.peek<Lease>(leasesRef, "kube-node-lease", "hollow-0");
  assert.ok(lease);
  rig.api.put(leasesRef, { ...lease, spec: { holderIdentity: "other" } });
  await rig.clock.advance(11_000);
  const again = rig.api.peek<Lease>(leasesRef, "kube-node-lease", "hollow-0");
  assert.equal(again?.spec?.holderIdentity, "hollow-0");
  rig.api.drop(leasesRef, "kube-node-lease", "hollow-0");
  await rig.clock.advance(11_000);
  assert.ok(rig.api.peek(leasesRef, "kube-node-lease", "hollow-0"));
  await rig.end();
});

test("a node that was given up on answers at once; a deleted one stays away", async () => {
  const rig = await startRig();
  const node = rig.api.peek<Node>(nodesRef, "", "hollow-0");
  assert.ok(node);
  const conditions = [{ type: "Ready", status: "Unknown" }];
  rig.api.put<Node>(nodesRef, { ...node, status: { ...node.status, conditions } });
  await rig.clock.advance(10);
  const ready = rig.api.peek<Node>(nodesRef, "", "hollow-0")?.status?.conditions;
  assert.equal(ready?.find((c) => c.type === "Ready")?.status, "True");
  await rig.api.delete(nodesRef, "", "hollow-1");
  await rig.clock.advance(400_000);
  assert.equal(rig.api.peek(nodesRef, "", "hollow-1"), undefined);
  await rig.end();
});

test("a pod is ready after one write, with address, statuses and conditions", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("web"));
  await rig.clock.advance(10);
  const pod = rig.pod("web");
  assert.equal(pod?.status?.phase, "Running");
  assert.equal(pod?.status?.podIP, "10.128.0.1");
  assert.deepEqual(pod?.status?.podIPs, [{ ip: "10.128.0.1" }]);
  for (const type of ["Initialized", "Ready", "ContainersReady", "PodScheduled"]) {
    assert.equal(conditionOf(pod, type), "True", type);
  }
  const [container] = pod?.status?.containerStatuses ?? [];
  assert.match(container?.containerID ?? "", /^containerd:\/\/[0-9a-f]{64}$/);
  assert.equal(container?.ready, true);
  assert.equal(rig.writes().length, 1);
  await rig.clock.advance(600_000);
  assert.equal(rig.writes().length, 1);
  await rig.end();
});

test("slow starts and late probes take a write each", async () => {
  const rig = await startRig({ startMs: 500 });
  const container = { name: "c", readinessProbe: { initialDelaySeconds: 5 } };
  rig.api.put(podsRef, bound("web", { spec: { containers: [container] } }));
  await rig.clock.advance(100);
  const waiting = rig.pod("web")?.status?.containerStatuses?.[0]?.state?.waiting;
  assert.equal(waiting?.reason, "ContainerCreating");
  await rig.clock.advance(1_000);
  assert.equal(rig.pod("web")?.status?.phase, "Running");
  assert.equal(conditionOf(rig.pod("web"), "Ready"), "False");
  await rig.clock.advance(5_000);
  assert.equal(conditionOf(rig.pod("web"), "Ready"), "True");
  for (const condition of rig.pod("web")?.status?.conditions ?? []) {
    assert.equal(condition.reason, undefined, `${condition.type} holds`);
    assert.equal(condition.message, undefined);
  }
  assert.equal(rig.writes().length, 3);
  await rig.end();
});

test("readiness gates hold a pod back until they open", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("web", { spec: { readinessGates: [{ conditionType: "x/y" }] } }));
  await rig.clock.advance(10);
  assert.equal(conditionOf(rig.pod("web"), "Ready"), "False");
  assert.equal(conditionOf(rig.pod("web"), "ContainersReady"), "True");
  const patch = { status: { conditions: [{ type: "x/y", status: "True" }] } };
  await rig.api.patch(podsRef, "a", "web", "strategic", patch, { subresource: "status" });
  await rig.clock.advance(10);
  assert.equal(conditionOf(rig.pod("web"), "Ready"), "True");
  await rig.end();
});

test("pods that may end run to their end, by annotation or command line", async () => {
  const rig = await startRig();
  const never = { restartPolicy: "Never" };
  rig.api.put(podsRef, bound("job", { spec: never }));
  const annotations = { "pilothouse.dev/run-seconds": "5", "pilothouse.dev/exit-code": "3" };
  rig.api.put(podsRef, bound("fails", { spec: never, annotations }));
  const containers = [{ name: "c", command: ["sh", "-c", "sleep 20; exit 7"] }];
  rig.api.put(podsRef, bound("sleeps", { spec: { ...never, containers } }));
  await rig.clock.advance(1_100);
  assert.equal(rig.pod("job")?.status?.phase, "Running"); // nginx runs until it is stopped
  assert.equal(rig.pod("fails")?.status?.phase, "Running");
  await rig.clock.advance(5_000);
  assert.equal(rig.pod("fails")?.status?.phase, "Failed");
  const exit = rig.pod("fails")?.status?.containerStatuses?.[0]?.state?.terminated;
  assert.equal(exit?.exitCode, 3);
  await rig.clock.advance(20_000);
  const slept = rig.pod("sleeps")?.status?.containerStatuses?.[0]?.state?.terminated;
  assert.equal(slept?.exitCode, 7);
  await rig.end();
});

test("a crashing pod is restarted with back-off and counts its restarts", async () => {
  const rig = await startRig();
  const annotations = { "pilothouse.dev/run-seconds": "1", "pilothouse.dev/exit-code": "1" };
  rig.api.put(podsRef, bound("crash", { annotations }));
  await rig.clock.advance(1_100);
  const waiting = rig.pod("crash")?.status?.containerStatuses?.[0]?.state?.waiting;
  assert.equal(waiting?.reason, "CrashLoopBackOff");
  await rig.clock.advance(10_000);
  const [container] = rig.pod("crash")?.status?.containerStatuses ?? [];
  assert.equal(container?.restartCount, 1);
  assert.ok(container?.state?.running);
  await rig.end();
});

test("an active deadline ends a pod as the kubelet words it", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("late", { spec: { activeDeadlineSeconds: 30 } }));
  await rig.clock.advance(31_000);
  assert.equal(rig.pod("late")?.status?.phase, "Failed");
  assert.equal(rig.pod("late")?.status?.reason, "DeadlineExceeded");
  await rig.end();
});

test("a deleted pod goes after its stop time, and its address is free again", async () => {
  const rig = await startRig({ stopMs: 2_000 });
  rig.api.put(podsRef, bound("web"));
  await rig.clock.advance(10);
  await rig.api.delete(podsRef, "a", "web");
  await rig.clock.advance(1_000);
  assert.ok(rig.pod("web"));
  await rig.clock.advance(1_100);
  assert.equal(rig.pod("web"), undefined);
  assert.equal(rig.hollow.metrics().pods, 0);
  await rig.end();
});

test("a pod with finalizers shows how it ended before it goes", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("web", { finalizers: ["batch.kubernetes.io/job-tracking"] }));
  await rig.clock.advance(10);
  await rig.api.delete(podsRef, "a", "web");
  await rig.clock.advance(10);
  assert.equal(rig.pod("web")?.status?.phase, "Failed");
  const patch = { metadata: { finalizers: null } };
  await rig.api.patch(podsRef, "a", "web", "merge", patch);
  await rig.clock.advance(10);
  assert.equal(rig.pod("web"), undefined);
  await rig.end();
});

test("after a restart pods keep their addresses and new ones get others", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("one"));
  rig.api.put(podsRef, bound("two"));
  await rig.clock.advance(10);
  await rig.end();
  const writes = rig.writes().length;
  const second = rig.start();
  rig.api.put(podsRef, bound("three"));
  await rig.clock.advance(10);
  assert.equal(rig.pod("one")?.status?.podIP, "10.128.0.1");
  assert.equal(rig.pod("two")?.status?.podIP, "10.128.0.2");
  assert.equal(rig.pod("three")?.status?.podIP, "10.128.0.3");
  assert.equal(rig.writes().length, writes + 1);
  await second.end();
});

test("failed writes are tried again; pods of other nodes are left alone", async () => {
  const rig = await startRig();
  rig.api.fail((c) => c.verb === "patch", failure(500, "InternalError", "down"), 3);
  rig.api.put(podsRef, bound("web"));
  rig.api.put(podsRef, bound("other", {}, "real-node"));
  await rig.clock.advance(5_000);
  assert.equal(rig.pod("web")?.status?.phase, "Running");
  assert.equal(rig.pod("other")?.status?.phase, "Pending");
  await rig.end();
});

test("a thousand pods on a hundred nodes take one write each", async () => {
  const rig = await startRig({ count: 100 });
  for (let i = 0; i < 1_000; i++) {
    rig.api.put(podsRef, bound(`p${i}`, {}, `hollow-${i % 100}`));
  }
  await rig.clock.advance(1);
  const ready = rig.api.peekAll<Pod>(podsRef).filter((p) => conditionOf(p, "Ready") === "True");
  assert.equal(ready.length, 1_000);
  assert.equal(new Set(ready.map((p) => p.status?.podIP)).size, 1_000);
  assert.equal(rig.writes().length, 1_000);
  await rig.end();
});
