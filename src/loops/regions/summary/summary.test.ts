/** A region's summary: equal to a walk over everything, never claiming more than there is, at most 4 KB. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { freePods } from "./free-pods.ts";
import { SummaryKeeper } from "./region-summary.ts";
import { parseSummary, summaryProperties } from "./summary-text.ts";

function node(
  name: string,
  cpu: number,
  memoryGi: number,
  fields: Partial<Node["spec"]> = {},
): Node {
  return {
    metadata: { name, labels: { "node.kubernetes.io/instance-type": "m5" } },
    spec: { ...fields },
    status: {
      allocatable: { cpu: String(cpu), memory: `${memoryGi}Gi`, pods: "110" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function pod(nodeName: string, cpu: string, memory: string): Pod {
  const resources = { requests: { cpu, memory } };
  return {
    spec: { ...(nodeName === "" ? {} : { nodeName }), containers: [{ name: "a", resources }] },
    status: { phase: "Running" },
  };
}

const keeper = (): SummaryKeeper => new SummaryKeeper({ podsMax: 10_000 });

test("room is what pods leave, and a pod of its shape fits so often", () => {
  const summary = keeper();
  summary.setNode(node("a", 4, 16));
  summary.setNode(node("b", 4, 16));
  summary.setPod("d/x", pod("a", "1", "1Gi"));
  assert.equal(freePods(summary.summary(), pod("", "1", "1Gi")), 2 + 3);
  summary.removePod("d/x");
  assert.equal(freePods(summary.summary(), pod("", "1", "1Gi")), 6);
  summary.removeNode("b");
  assert.equal(freePods(summary.summary(), pod("", "1", "1Gi")), 3);
});

test("nodes that are cordoned or tainted have room for nobody, or for those who tolerate it", () => {
  const summary = keeper();
  summary.setNode(node("a", 4, 16, { unschedulable: true }));
  const taints = [{ key: "gpu", value: "yes", effect: "NoSchedule" }];
  summary.setNode(node("b", 4, 16, { taints }));
  const plain = pod("", "1", "1Gi");
  assert.equal(freePods(summary.summary(), plain), 0);
  const tolerating = {
    ...plain,
    spec: { containers: [], tolerations: [{ key: "gpu", operator: "Exists" }] },
  };
  assert.ok(freePods(summary.summary(), tolerating) > 0);
});

test("deltas in any order equal a walk, and what is claimed always fits", () => {
  const random = new FakeRandom(3);
  const kept = keeper();
  const nodes = new Map<string, Node>();
  const pods = new Map<string, Pod>();
  for (let step = 0; step < 800; step++) {
    const name = `n${random.below(12)}`;
    const key = `d/p${random.below(60)}`;
    switch (random.below(5)) {
      case 0:
        nodes.set(name, node(name, 1 + random.below(16), 1 + random.below(64)));
        kept.setNode(nodes.get(name) ?? {});
        break;
      case 1:
        nodes.delete(name);
        kept.removeNode(name);
        break;
      case 2:
        pods.delete(key);
        kept.removePod(key);
        break;
      default:
        pods.set(
          key,
          pod(
            random.below(8) === 0 ? "" : name,
            `${random.below(900)}m`,
            `${random.below(3_000)}Mi`,
          ),
        );
        kept.setPod(key, pods.get(key) ?? {});
    }
    if (step % 50 !== 49) continue;
    const walked = keeper();
    for (const [at, each] of pods) walked.setPod(at, each);
    for (const each of nodes.values()) walked.setNode(each);
    assert.deepEqual(kept.summary(), walked.summary());
    const claimed = freePods(kept.summary(), pod("", "500m", "1Gi"));
    assert.ok(claimed <= trulyFitting(nodes, pods), `step ${step}`);
  }
});

function trulyFitting(nodes: ReadonlyMap<string, Node>, pods: ReadonlyMap<string, Pod>): number {
  let all = 0;
  for (const [name, each] of nodes) {
    let cpu = Number(each.status?.allocatable?.["cpu"]) * 1_000;
    let memory = Number.parseInt(String(each.status?.allocatable?.["memory"]), 10) * 1_024;
    for (const one of pods.values()) {
      if (one.spec?.nodeName !== name) continue;
      const { requests = {} } = one.spec.containers[0]?.resources ?? {};
      cpu -= Number.parseInt(String(requests["cpu"]), 10);
      memory -= Number.parseInt(String(requests["memory"]), 10);
    }
    all += Math.max(0, Math.min(Math.floor(cpu / 500), Math.floor(memory / 1_024)));
  }
  return all;
}

test("10,000 nodes of 40 classes are at most 4 KB, and what was cut off is not claimed", () => {
  const random = new FakeRandom(5);
  const kept = keeper();
  for (let i = 0; i < 10_000; i++) {
    const each = node(`n${i}`, 1 + random.below(96), 1 + random.below(500));
    const labels = { "node.kubernetes.io/instance-type": `type-${random.below(40)}.xlarge` };
    kept.setNode({ ...each, metadata: { name: `n${i}`, labels } });
  }
  const summary = kept.summary();
  const properties = summaryProperties(summary);
  const bytes = properties.reduce((all, { name, value }) => all + name.length + value.length, 0);
  assert.ok(bytes <= 4_096, `${bytes} bytes`);
  assert.ok(properties.every(({ value }) => value.length <= 1_024 && value.length > 0));
  const read = parseSummary(properties);
  assert.equal(read?.nodes, 10_000);
  const shape = pod("", "1", "2Gi");
  const claimed = freePods(read, shape);
  assert.ok(claimed > 0 && claimed <= freePods(summary, shape));
});

test("a small summary is read as it was written", () => {
  const kept = keeper();
  kept.setNode(node("a", 4, 16));
  kept.setPod("d/x", pod("", "1", "1Gi"));
  assert.deepEqual(parseSummary(summaryProperties(kept.summary())), kept.summary());
});

test("a summary that lies in its numbers counts as nothing, or up to a bound", () => {
  const suffix = "summary.regions.pilothouse.dev";
  const cells = "9e99*1*1*1,-4*1*1*1,1*1*1,NaN*2*2*2,8*8*8*Infinity";
  const read = parseSummary([
    { name: suffix, value: "nodes=99999999999999999999 ready=-1 pods=x pending=2" },
    { name: `class-0.${suffix}`, value: `any/any n=1 t= c=${cells}` },
    { name: `class-1.${suffix}`, value: "no class" },
  ]);
  assert.equal(read?.nodes, 0);
  assert.equal(read.pendingPods, 2);
  assert.ok(freePods(read, pod("", "0", "0")) <= 8e9);
  assert.equal(parseSummary([]), undefined);
});
