/** Stages from files, played on a fake API. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { readStages, refs, startStages } from "./testing.ts";

function example(name: string): string {
  return readFileSync(new URL(`../../../examples/stages/${name}.yaml`, import.meta.url), "utf8");
}

function bound(name: string, more: Record<string, unknown> = {}): AnyObject {
  return {
    metadata: { name, namespace: "default", ...more },
    spec: { nodeName: "node-0", containers: [{ name: "c", image: "nginx:1" }] },
    status: { phase: "Pending" },
  };
}

function stage(name: string, spec: object): string {
  return JSON.stringify({
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: { resourceRef: { kind: "Pod" }, ...spec },
  });
}

const statusOf = (object: AnyObject | undefined) =>
  object?.["status"] as Record<string, unknown> | undefined;

test("a pod runs, and a Job's pod is done after its delay", async () => {
  const rig = await startStages(example("pod"));
  rig.api.put(refs.pods, bound("web"));
  rig.api.put(refs.pods, bound("job", { ownerReferences: [{ kind: "Job" }] }));
  await rig.clock.advance(100);
  const status = statusOf(rig.get(refs.pods, "web"));
  assert.equal(status?.["phase"], "Running");
  assert.equal(status?.["podIP"], "10.128.0.1");
  assert.equal((status?.["conditions"] as readonly unknown[] | undefined)?.length, 3);
  assert.equal(statusOf(rig.get(refs.pods, "job"))?.["phase"], "Running");
  await rig.clock.advance(5_000);
  assert.equal(statusOf(rig.get(refs.pods, "job"))?.["phase"], "Succeeded");
  await rig.end();
});

test("a delay may come from the object", async () => {
  const rig = await startStages(example("pod"));
  const annotations = { "example.com/runs-for": "1m30s" };
  rig.api.put(refs.pods, bound("job", { annotations, ownerReferences: [{ kind: "Job" }] }));
  await rig.clock.advance(89_000);
  assert.equal(statusOf(rig.get(refs.pods, "job"))?.["phase"], "Running");
  await rig.clock.advance(2_000);
  assert.equal(statusOf(rig.get(refs.pods, "job"))?.["phase"], "Succeeded");
  await rig.end();
});

test("a deleted pod loses its finalizers and goes", async () => {
  const rig = await startStages(example("pod"));
  rig.api.put(refs.pods, bound("web", { finalizers: ["example.com/x"] }));
  await rig.clock.advance(100);
  await rig.api.delete(refs.pods, "default", "web");
  await rig.clock.advance(100);
  assert.equal(rig.get(refs.pods, "web"), undefined);
  await rig.end();
});

test("objects that stand on no managed node are left alone", async () => {
  const rig = await startStages(example("pod"));
  rig.api.put(refs.pods, { ...bound("web"), spec: { nodeName: "real" } });
  await rig.clock.advance(1_000);
  assert.equal(statusOf(rig.get(refs.pods, "web"))?.["phase"], "Pending");
  await rig.end();
});

test("a node becomes ready and beats, with one write a beat", async () => {
  const rig = await startStages(example("node"));
  rig.api.put<AnyObject>(refs.nodes, { metadata: { name: "node-0" }, status: {} });
  await rig.clock.advance(100);
  assert.equal(statusOf(rig.get(refs.nodes, "node-0"))?.["phase"], "Running");
  rig.api.calls.length = 0;
  await rig.clock.advance(100_000);
  const beats = rig.api.calls.filter(({ verb }) => verb === "patch").length;
  assert.ok(beats >= 3 && beats <= 5, `${beats} beats`);
  await rig.end();
});

test("any kind is watched while it has stages, and a stage may apply another object", async () => {
  const text = stage("copy", {
    resourceRef: { kind: "ConfigMap" },
    selector: { matchLabels: { copy: "me" } },
    steps: [
      {
        apply: {
          template:
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .metadata.name }}-copy}\ndata: {{ toJson .data }}",
          type: "merge",
        },
      },
      { patch: { root: "metadata", template: "labels: {copy: done}" } },
    ],
  });
  const rig = await startStages(text, (api) => {
    const metadata = { name: "a", namespace: "default", labels: { copy: "me" } };
    api.put<AnyObject>(refs.configMaps, { metadata, data: { k: "v" } });
  });
  await rig.clock.advance(100);
  assert.deepEqual(rig.get(refs.configMaps, "a-copy")?.["data"], { k: "v" });
  assert.equal(rig.get(refs.configMaps, "a")?.metadata?.labels?.["copy"], "done");
  await rig.end();
});

test("of stages that match, weight decides", async () => {
  const selector = {
    matchExpressions: [{ key: ".status.phase", operator: "In", values: ["Pending"] }],
  };
  const to = (phase: string) => ({ selector, next: { statusTemplate: `phase: ${phase}` } });
  const text = [
    stage("never", { ...to("Failed"), weight: 0 }),
    stage("often", { ...to("Running"), weight: 3 }),
    stage("by-annotation", {
      ...to("Succeeded"),
      weight: 0,
      weightFrom: { expressionFrom: '.metadata.annotations["w"]' },
    }),
  ].join("\n---\n");
  const rig = await startStages(text);
  for (let i = 0; i < 40; i++) {
    rig.api.put(refs.pods, bound(`p${i}`, i < 20 ? {} : { annotations: { w: "1000000" } }));
  }
  await rig.clock.advance(100);
  const phases = rig.api.peekAll<AnyObject>(refs.pods).map((one) => statusOf(one)?.["phase"]);
  assert.deepEqual(new Set(phases.slice(0, 20)), new Set(["Running"]));
  assert.ok(phases.slice(20).filter((phase) => phase === "Succeeded").length >= 19);
  await rig.end();
});

test("a server that answers 503 is asked again from the step that failed", async () => {
  const { ApiError, failure } = await import("#api/status.ts");
  const rig = await startStages(example("pod"));
  const down = failure(503, "ServiceUnavailable", "down");
  assert.ok(down instanceof ApiError);
  rig.api.fail(({ verb, resource }) => verb === "patch" && resource === "pods", down, 2);
  rig.api.put(refs.pods, bound("web"));
  await rig.clock.advance(20_000);
  assert.equal(statusOf(rig.get(refs.pods, "web"))?.["phase"], "Running");
  const events = rig.api.calls.filter(
    ({ resource, verb }) => resource === "events" && verb === "create",
  );
  assert.equal(events.length, 1);
  await rig.end();
});

const mistakes: readonly (readonly [spec: object, problem: RegExp])[] = [
  [{ resourceRef: {}, selector: {} }, /resourceRef.kind: is required/],
  [{ selector: { matchExpressions: [{ key: ".a", operator: "Near" }] } }, /known: In, NotIn/],
  [{ selector: { matchExpressions: [{ key: ".a(", operator: "Exists" }] } }, /unexpected/],
  [{ selector: { matchExpressions: [{ cel: { expression: "self.a +" } }] } }, /compilation failed/],
  [{ selector: {}, next: { statusTemplate: "{{ nothing }}" } }, /function "nothing" not defined/],
  [{ selector: {}, delay: { durationMilliseconds: -1 } }, /whole number from 0 on/],
];

for (const [spec, problem] of mistakes) {
  test(`a stage with a mistake says so: ${problem.source}`, () => {
    assert.match(readStages(stage("x", spec)).problems.join("; "), problem);
  });
}

const kwok = process.env["KWOK_STAGES"] ?? "";
test(
  "kwok's own stage files are read unchanged",
  { skip: existsSync(kwok) ? false : "KWOK_STAGES names no folder with kwok's kustomize/stage" },
  () => {
    const files = globSync("**/*.yaml", { cwd: kwok }).filter(
      (name) => !/testdata|kustomization|rbac|storage-class/.test(name),
    );
    assert.ok(files.length >= 19);
    for (const name of files) {
      const { stages, problems } = readStages(readFileSync(join(kwok, name), "utf8"));
      assert.deepEqual([stages.length, problems], [1, []], name);
    }
  },
);
