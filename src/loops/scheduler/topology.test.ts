/** Topology spread and inter-pod affinity, end to end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodAffinityTerm, PodSpec } from "#api/gen/types.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";

const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";

function spread(topologyKey: string, whenUnsatisfiable = "DoNotSchedule"): Partial<PodSpec> {
  const labelSelector = { matchLabels: { app: "web" } };
  return {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector }],
  };
}

function near(topologyKey: string, app: string): PodAffinityTerm {
  return { topologyKey, labelSelector: { matchLabels: { app } } };
}

function affinity(term: PodAffinityTerm): Partial<PodSpec> {
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

function antiAffinity(term: PodAffinityTerm): Partial<PodSpec> {
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  return { affinity: { podAntiAffinity: required } };
}

const web = { app: "web" };

test("hard spreading keeps zones within the skew", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("a1", { zone: "a", cpu: "64" }));
    api.put(nodesRef, makeNode("b1", { zone: "b", cpu: "1" }));
    api.put(nodesRef, makeNode("none", { cpu: "64" }));
    for (let i = 0; i < 4; i++) {
      api.put(podsRef, makePod(`p${i}`, { cpu: "500m", labels: web, spec: spread(zone) }));
    }
    api.put(podsRef, makePod("p4", { cpu: "600m", labels: web, spec: spread(zone) }));
    api.put(podsRef, makePod("p5", { cpu: "600m", labels: web, spec: spread(zone) }));
  });
  const count = (node: string) =>
    [0, 1, 2, 3, 4, 5].filter((i) => rig.nodeOf(`p${i}`) === node).length;
  assert.equal(count("a1"), 3);
  assert.equal(count("b1"), 2);
  assert.equal(count("none"), 0);
  const text =
    "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, " +
    "1 node(s) didn't match pod topology spread constraints (missing required label).";
  const waiting = rig.verdictOn("p5") === "" ? "p4" : "p5";
  assert.ok(rig.verdictOn(waiting).startsWith(text), rig.verdictOn(waiting));
  await rig.end();
});

test("terminating pods do not count for spreading, and their going wakes who waits", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("a1", { zone: "a" }));
    api.put(nodesRef, makeNode("b1", { zone: "b", unschedulable: true }));
    api.put(podsRef, makePod("p0", { labels: web, nodeName: "a1" }));
    api.put(podsRef, makePod("p1", { labels: web, spec: spread(zone) }));
  });
  assert.equal(rig.nodeOf("p1"), "");
  await rig.api.delete(podsRef, "a", "p0");
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("p1"), "a1");
  await rig.end();
});

test("pods of one owner are spread without being asked", async () => {
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "u", controller: true },
  ];
  const rig = await startRig((api) => {
    for (const name of ["n1", "n2", "n3"]) api.put(nodesRef, makeNode(name));
    for (let i = 0; i < 6; i++) {
      const pod = makePod(`p${i}`);
      api.put(podsRef, { ...pod, metadata: { ...pod.metadata, ownerReferences } });
    }
  });
  for (const node of ["n1", "n2", "n3"]) {
    assert.equal([0, 1, 2, 3, 4, 5].filter((i) => rig.nodeOf(`p${i}`) === node).length, 2);
  }
  await rig.end();
});

test("required anti-affinity keeps equals apart, also against those already there", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.put(nodesRef, makeNode("n2"));
    const spec = antiAffinity(near(host, "web"));
    for (let i = 0; i < 3; i++) api.put(podsRef, makePod(`p${i}`, { labels: web, spec }));
  });
  const nodes = [0, 1, 2].map((i) => rig.nodeOf(`p${i}`));
  assert.deepEqual(nodes.filter((n) => n !== "").sort(), ["n1", "n2"]);
  const waiting = `p${nodes.indexOf("")}`;
  assert.match(rig.verdictOn(waiting), /2 node\(s\) didn't match pod anti-affinity rules/);
  await rig.end();
});

test("an existing pod's required anti-affinity keeps others away from its whole zone", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("a1", { zone: "a" }));
    api.put(nodesRef, makeNode("a2", { zone: "a" }));
    const spec = antiAffinity(near(zone, "web"));
    api.put(podsRef, makePod("hermit", { nodeName: "a1", spec }));
    api.put(podsRef, makePod("web", { labels: web }));
    api.put(podsRef, makePod("other", { labels: { app: "db" } }));
  });
  assert.match(
    rig.verdictOn("web"),
    /2 node\(s\) didn't satisfy existing pods anti-affinity rules/,
  );
  assert.notEqual(rig.nodeOf("other"), "");
  rig.api.drop(podsRef, "a", "hermit");
  await rig.clock.advance(1_100);
  assert.notEqual(rig.nodeOf("web"), "");
  await rig.end();
});

test("required affinity follows; the first of its kind may go anywhere", async () => {
  const rig = await startRig((api) => {
    for (const z of ["a", "b", "c"]) api.put(nodesRef, makeNode(`${z}1`, { zone: z }));
    api.put(nodesRef, makeNode("c2", { zone: "c" }));
    const spec = affinity(near(zone, "web"));
    for (let i = 0; i < 4; i++) api.put(podsRef, makePod(`p${i}`, { labels: web, spec }));
    api.put(podsRef, makePod("lost", { spec: affinity(near(zone, "nobody")) }));
  });
  const zones = new Set([0, 1, 2, 3].map((i) => rig.nodeOf(`p${i}`)[0]));
  assert.equal(zones.size, 1);
  assert.match(rig.verdictOn("lost"), /4 node\(s\) didn't match pod affinity rules/);
  rig.api.put(podsRef, makePod("leader", { labels: { app: "nobody" }, nodeName: "b1" }));
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("lost"), "b1");
  await rig.end();
});

test("namespace selectors follow the labels of namespaces", async () => {
  const namespaces = { group: "", version: "v1", resource: "namespaces" };
  const term = { ...near(host, "web"), namespaceSelector: { matchLabels: { team: "x" } } };
  const rig = await startRig((api) => {
    api.put(namespaces, { metadata: { name: "b" } });
    api.put(nodesRef, makeNode("n1"));
    const far = makePod("far", { labels: web, nodeName: "n1" });
    api.put(podsRef, { ...far, metadata: { ...far.metadata, namespace: "b" } });
    api.put(podsRef, makePod("p", { spec: affinity(term) }));
  });
  assert.equal(rig.nodeOf("p"), "");
  rig.api.put(namespaces, { metadata: { name: "b", labels: { team: "x" } } });
  await rig.clock.advance(1_100);
  assert.equal(rig.nodeOf("p"), "n1");
  await rig.end();
});

test("preferred affinity draws, preferred anti-affinity repels", async () => {
  const wish = (weight: number, app: string) => [{ weight, podAffinityTerm: near(host, app) }];
  const rig = await startRig((api) => {
    for (const name of ["n1", "n2", "n3"]) api.put(nodesRef, makeNode(name));
    api.put(podsRef, makePod("db", { labels: { app: "db" }, nodeName: "n2" }));
    const preferred = (key: "podAffinity" | "podAntiAffinity", app: string) => ({
      affinity: { [key]: { preferredDuringSchedulingIgnoredDuringExecution: wish(100, app) } },
    });
    api.put(podsRef, makePod("fan", { spec: preferred("podAffinity", "db") }));
    api.put(podsRef, makePod("shy", { spec: preferred("podAntiAffinity", "db") }));
  });
  assert.equal(rig.nodeOf("fan"), "n2");
  assert.notEqual(rig.nodeOf("shy"), "n2");
  await rig.end();
});
