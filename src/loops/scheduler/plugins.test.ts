/** The registry of plugins, what one plugin file can declare, and when a refused Pod is tried again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { PersistentVolumeClaim } from "#api/gen/types.ts";
import { AssertionError } from "#base/assert.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { fitErrorText } from "./fit-error.ts";
import { Framework } from "./framework.ts";
import { Nominations } from "./nominations.ts";
import type { Plugin, PluginFactory } from "./plugin.ts";
import { podInfo } from "./pod-info.ts";
import { queueTimes, SchedulingQueue } from "./queue.ts";
import { reasonId } from "./reasons.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import type { PodShape } from "./testing.ts";
import { makeNode, makePod, noVolumes, nodesRef, podsRef, startRig } from "./testing.ts";

const namespaces = () => undefined;
const volumesRef = { group: "", version: "v1", resource: "persistentvolumes" };
const claimsRef = { group: "", version: "v1", resource: "persistentvolumeclaims" };

function algorithmOf(plugins: readonly PluginFactory[]) {
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const deps = {
    cache,
    random: new FakeRandom(1),
    namespaces,
    volumes: noVolumes,
    nominations,
    plugins,
  };
  return { cache, algorithm: new ScheduleAlgorithm(deps) };
}

function infoOf(name: string, shape: PodShape = {}) {
  const pod = makePod(name, shape);
  return podInfo({ ...pod, metadata: { ...pod.metadata, uid: name } });
}

function boundClaim(name: string, accessMode: string): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "a", annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
    spec: { accessModes: [accessMode], volumeName: `pv-${name}` },
    status: { phase: "Bound" },
  };
}

function withClaim(claimName: string, shape: PodShape = {}): PodShape {
  const spec = { volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] };
  return { ...shape, spec };
}

test("plugins stand in upstream's order and have its default weights", () => {
  const deps = { namespaces, volumes: noVolumes };
  const lines = defaultPlugins.map((make) => {
    const { name, nodeScore, roomScore, score } = make(deps);
    return [name, (nodeScore ?? roomScore ?? score)?.weight ?? ""].join(" ").trimEnd();
  });
  assert.deepEqual(lines, [
    "NodeUnschedulable",
    "TaintToleration 3",
    "NodeAffinity 2",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit 1",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread 2",
    "InterPodAffinity 2",
    "NodeResourcesBalancedAllocation 1",
    "ImageLocality 1",
    "DynamicResources",
  ]);
});

test("a Pod that needs a feature of the kubelet waits for a node that declares it", () => {
  const { cache, algorithm } = algorithmOf(defaultPlugins);
  const feature = "RestartAllContainersOnContainerExits";
  const rule = { action: "RestartAllContainers", exitCodes: { operator: "In", values: [1] } };
  const container = { name: "c", restartPolicy: "Never", restartPolicyRules: [rule] };
  const needs = podInfo(makePod("needs", { spec: { containers: [container] } }));
  cache.setNode(makeNode("n1"));
  const refused = algorithm.decide(needs);
  assert.ok(refused.kind === "none");
  assert.equal(
    fitErrorText(refused.error),
    "0/1 nodes are available: 1 node(s) didn't match Pod's required features.",
  );
  assert.equal(algorithm.decide(infoOf("plain")).kind, "node", "another class of Pods");
  const node = makeNode("n1");
  cache.setNode({ ...node, status: { ...node.status, declaredFeatures: ["Other", feature] } });
  assert.deepEqual(algorithm.decide(needs), { kind: "node", nodeName: "n1" });
});

test("a plugin's filter, reason, score, signature and hint take effect by its line in the registry alone", () => {
  const wrongDay = reasonId("Days", "node(s) rest today", true);
  const days = (): Plugin => ({
    name: "Days",
    filter: (cycle) => {
      const rests = (slot: number) => cycle.cache.nodes.name(slot) === "n1";
      cycle.keep((slot) => (cycle.info.name === "tired" && rests(slot) ? wrongDay : -1));
    },
    score: {
      weight: 1_000,
      run(cycle, scores) {
        for (const slot of cycle.feasible.subarray(0, cycle.count)) {
          scores[slot] = cycle.cache.nodes.name(slot) === "n3" ? 100 : 0;
        }
        return true;
      },
    },
    sign: (info) => info.name,
    hint: (event) => (event.kind === "namespaces" ? "queue" : "skip"),
  });
  const { cache, algorithm } = algorithmOf([...defaultPlugins, days]);
  cache.setNode(makeNode("n1"));
  const refused = algorithm.decide(infoOf("tired"));
  assert.ok(refused.kind === "none");
  assert.equal(fitErrorText(refused.error), "0/1 nodes are available: 1 node(s) rest today.");
  assert.deepEqual([...refused.error.plugins], ["Days"]);
  const tired = infoOf("tired");
  assert.notEqual(algorithm.signatureOf(tired), algorithm.signatureOf(infoOf("fresh")));
  assert.ok(algorithm.mayHelp({ kind: "namespaces" }, tired, refused.error.plugins));
  assert.ok(!algorithm.mayHelp({ kind: "volumes" }, tired, refused.error.plugins));
  for (const name of ["n2", "n3", "n4"]) cache.setNode(makeNode(name));
  assert.deepEqual(algorithm.decide(infoOf("fresh")), { kind: "node", nodeName: "n3" });
  // The class was not remembered as refused, because the verdict is the Pod's own.
  assert.equal(algorithm.decide(infoOf("tired")).kind, "node");
});

test("a node that loses what one plugin refused, and is refused by another one now, is a reason to try again", () => {
  const { cache, algorithm } = algorithmOf(defaultPlugins);
  const small = makeNode("n1", { cpu: "1" });
  const taint = { key: "new", effect: "NoSchedule" };
  cache.setNode({ ...small, spec: { ...small.spec, taints: [taint] } });
  const pod = infoOf("a", { cpu: "2" });
  const rejectorsOf = (): ReadonlySet<string> => {
    const refused = algorithm.decide(pod);
    assert.ok(refused.kind === "none");
    return refused.error.plugins;
  };
  const before = rejectorsOf();
  assert.deepEqual([...before], ["TaintToleration"]);
  cache.setNode(small);
  const event = { kind: "node", slot: 0, isStatic: true } as const;
  assert.ok(
    algorithm.mayHelp(event, pod, before),
    "no event of sums would be asked of TaintToleration",
  );
  const after = rejectorsOf();
  assert.deepEqual([...after], ["NodeResourcesFit"]);
  assert.ok(!algorithm.mayHelp(event, pod, after), "the same plugin still refuses");
});

test("filters and scores of nodes and sums may come from several plugins", () => {
  const full = reasonId("Half", "node(s) would be more than half full", true);
  const half = (): Plugin => ({
    name: "Half",
    roomFilter: (nodes, requests, slot) =>
      2 * requests.cpu > (nodes.cpuMax[slot] ?? 0) ? [full] : [],
    hint: () => "queue-if-fits",
  });
  const far = (): Plugin => ({
    name: "Far",
    nodeScore: {
      weight: 1_000,
      isReversed: false,
      raw: (_info, node) => Number(node.metadata?.name?.slice(1)),
    },
  });
  const { cache, algorithm } = algorithmOf([far, ...defaultPlugins, half]);
  for (const name of ["n1", "n2", "n3"]) cache.setNode(makeNode(name, { cpu: "4" }));
  assert.deepEqual(algorithm.decide(infoOf("a")), { kind: "node", nodeName: "n3" });
  const refused = algorithm.decide(infoOf("b", { cpu: "5" }));
  assert.ok(refused.kind === "none");
  const text =
    "0/3 nodes are available: 3 Insufficient cpu, 3 node(s) would be more than half full.";
  assert.equal(fitErrorText(refused.error), text);
});

test("a registry that would break an invariant of the framework is a bug", () => {
  const make = (...plugins: readonly Plugin[]) =>
    new Framework(
      plugins.map((plugin) => () => plugin),
      { namespaces, volumes: noVolumes },
    );
  const filter = () => undefined;
  assert.throws(() => make({ name: "A" }, { name: "A" }), AssertionError);
  const late: Plugin = { name: "B", nodeFilter: () => -1 };
  assert.ok(make({ name: "A", filter }, late), "plugins of others come after those with filters");
});

test("a filter that loses a node, and a score that is no number, are bugs", () => {
  const loses = (): Plugin => ({ name: "Loses", filter: (cycle) => void cycle.count-- });
  const lost = algorithmOf([...defaultPlugins, loses]);
  lost.cache.setNode(makeNode("n1"));
  assert.throws(() => lost.algorithm.decide(infoOf("p")), /a filter lost or refused a node twice/);
  const score = {
    weight: 1,
    run: (_cycle: unknown, scores: Float64Array) => scores.fill(Number.NaN).length > 0,
  };
  const wild = algorithmOf([...defaultPlugins, (): Plugin => ({ name: "Wild", score })]);
  for (const name of ["n1", "n2"]) wild.cache.setNode(makeNode(name));
  assert.throws(() => wild.algorithm.decide(infoOf("p")), /has a score that is a number/);
});

test("pods that ask alike but wait for different claims are woken each by its own event", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    for (const name of ["pv-there", "pv-missing"]) api.put(volumesRef, { metadata: { name } });
    api.put(claimsRef, boundClaim("there", "ReadWriteOncePod"));
    api.put(podsRef, makePod("user", withClaim("there", { nodeName: "n1" })));
    api.put(podsRef, makePod("second", withClaim("there")));
    api.put(podsRef, makePod("third", withClaim("missing")));
  });
  assert.match(rig.verdictOn("second"), /ReadWriteOncePod access mode/);
  assert.match(rig.verdictOn("third"), /persistentvolumeclaim "missing" not found/);
  rig.api.put(claimsRef, boundClaim("missing", "ReadWriteOnce"));
  await rig.clock.advance(1_500);
  assert.equal(rig.nodeOf("third"), "n1");
  assert.equal(rig.nodeOf("second"), "");
  rig.api.drop(podsRef, "a", "user");
  await rig.clock.advance(1_500);
  assert.equal(rig.nodeOf("second"), "n1");
  await rig.end();
});

test("a pod without its claim does not keep pods of its class from preempting", async () => {
  const boss = { cpu: "1", priority: 10 };
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("low", { cpu: "1", nodeName: "n1" }));
    api.put(podsRef, makePod("a", withClaim("missing", boss)));
    api.put(podsRef, makePod("b", boss));
  });
  assert.match(rig.verdictOn("a"), /"missing" not found/);
  assert.notEqual(rig.api.peek(podsRef, "a", "low")?.metadata?.deletionTimestamp, undefined);
  await rig.end();
});

test("a selection first counted within a what-if leaves no wrong count behind", () => {
  const labels = { app: "web" };
  const term = {
    topologyKey: "kubernetes.io/hostname",
    labelSelector: { matchLabels: labels },
  };
  const spread = { ...term, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" };
  const cache = new Cache({ namespaces });
  const slot = cache.setNode(makeNode("n1"));
  const placed = infoOf("placed", { labels, nodeName: "n1" });
  cache.confirm(placed, "n1");
  const asking = infoOf("asking", { labels, spec: { topologySpreadConstraints: [spread] } });
  const [constraint] = asking.spreadHard;
  assert.ok(constraint !== undefined);
  const count = () => cache.counts.at(constraint.selection).perSlot.get(slot) ?? 0;
  cache.lift(placed, slot);
  assert.equal(count(), 0);
  cache.putBack(placed, slot);
  assert.equal(count(), 1);
  cache.removePod(placed.uid);
  assert.equal(count(), 0);
});

test("a pod that changes while it is active is popped once", () => {
  const queue = new SchedulingQueue({ clock: new FakeClock(), wake: () => undefined }, queueTimes);
  queue.put(infoOf("p", { cpu: "1" }));
  queue.put(infoOf("p", { cpu: "2" }));
  assert.equal(queue.activeCount, 1);
  assert.equal(queue.pop()?.info.requests.cpu, 2_000);
  assert.equal(queue.pop(), undefined);
  queue.close();
});
