/** Stages that loop, explode or select with malice: the API server and this process go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { StageSet } from "#stages/stage-set.ts";
import { readStages, refs, startStages } from "#stages/testing.ts";

function stage(spec: object): string {
  return JSON.stringify({
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name: "hostile" },
    spec: { resourceRef: { kind: "Pod" }, selector: {}, ...spec },
  });
}

const pod: AnyObject = {
  metadata: { name: "p", namespace: "default" },
  spec: { nodeName: "node-0", containers: [] },
  status: { phase: "Pending" },
};

async function writesIn(spec: object, ms: number): Promise<number> {
  const rig = await startStages(stage(spec));
  rig.api.put(refs.pods, pod);
  await rig.clock.advance(ms);
  const writes = rig.api.calls.filter(({ verb }) => verb === "patch").length;
  await rig.end();
  return writes;
}

test("a stage that matches what it writes is played twenty times, then once a second", async () => {
  const statusTemplate = "message: {{ Now | Quote }}{{ .metadata.resourceVersion }}";
  const writes = await writesIn({ next: { statusTemplate } }, 10_000);
  assert.ok(writes <= 32, `${writes} writes in 10 s`);
  const immediate = { immediateNextStage: true, next: { statusTemplate } };
  assert.ok((await writesIn(immediate, 10_000)) <= 32);
});

const explosions: Readonly<Record<string, string>> = {
  "a range over a billion": "{{ range 1000000000 }}{{ end }}",
  "a list of a billion": "{{ until 1000000000 }}",
  "ranges in ranges":
    "{{ range 9999 }}{{ range 9999 }}{{ range 9999 }}x{{ end }}{{ end }}{{ end }}",
  "a text repeated": '{{ repeat 1000000000 "x" }}',
  "a text that doubles": `{{ $s := "xxxxxxxx" }}${"{{ $s = print $s $s }}".repeat(40)}{{ $s }}`,
  "a list that doubles": `{{ $l := list 1 2 }}${"{{ $l = concat $l $l }}".repeat(40)}`,
  "a list of lists": `{{ $l := list 1 2 }}${"{{ $l = list $l $l $l $l }}".repeat(20)}{{ toJson $l }}`,
  "a list of lists, printed": `{{ $l := list 1 2 }}${"{{ $l = list $l $l $l $l }}".repeat(20)}{{ $l }}`,
  "a list of lists as YAML": `{{ $l := list 1 2 }}${"{{ $l = list $l $l $l $l }}".repeat(20)}{{ YAML $l }}`,
  "a template that calls itself": '{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}',
  "two templates that call each other twice":
    '{{ define "x" }}{{ template "y" }}{{ template "y" }}{{ end }}{{ define "y" }}{{ template "x" }}{{ template "x" }}{{ end }}{{ template "x" }}',
  "a wide number": '{{ printf "%1000000000d" 1 }}',
  "an indent": '{{ indent 1000000000 "x" }}',
  "a deep indent of YAML": "{{ YAML . 100000000 }}",
  "a replacement": '{{ $s := repeat 1000 "x" }}{{ replace "x" $s $s | replace "x" $s }}',
};

for (const [name, statusTemplate] of Object.entries(explosions)) {
  test(`${name} ends at its limit and writes nothing`, async () => {
    assert.equal(await writesIn({ next: { statusTemplate } }, 1_000), 0);
  });
}

test("a selector that multiplies matches nothing, and soon", async () => {
  const key = ".spec.list | " + "[.[] , .[]] | ".repeat(40) + "length";
  const rig = await startStages(
    stage({
      selector: { matchExpressions: [{ key, operator: "Exists" }] },
      next: { statusTemplate: "phase: Failed" },
    }),
  );
  const spec = { nodeName: "node-0", list: ["a", "b"], containers: [] };
  rig.api.put<AnyObject>(refs.pods, { ...pod, spec });
  await rig.clock.advance(1_000);
  assert.equal(rig.api.calls.filter(({ verb }) => verb === "patch").length, 0);
  await rig.end();
});

test("a CEL selector that costs too much matches nothing", async () => {
  const list = `[${Array.from({ length: 100 }, (_, at) => at).join(",")}]`;
  const expression = `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0)))`;
  const selector = { matchExpressions: [{ cel: { expression } }] };
  assert.equal(await writesIn({ selector, next: { statusTemplate: "phase: Failed" } }, 1_000), 0);
});

test("deep and long texts are refused when they are read", () => {
  const deep = stage({ next: { statusTemplate: "{{ if true }}".repeat(5_000) } });
  assert.match(readStages(deep).problems.join(), /nested deeper than 100/);
  const long = stage({ next: { statusTemplate: "x".repeat(300_000) } });
  assert.match(readStages(long).problems.join(), /the most is 262144/);
  const key = `${"(".repeat(3_000)}.a${")".repeat(3_000)}`;
  const query = stage({ selector: { matchExpressions: [{ key, operator: "Exists" }] } });
  assert.match(readStages(query).problems.join(), /the most is 4096|nested deeper/);
});

test("YAML that a template makes may not multiply", async () => {
  const lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
  for (let at = 1; at < 12; at++) {
    const before = Array(10)
      .fill(`*a${at - 1}`)
      .join(",");
    lines.push(`a${at}: &a${at} [${before}]`);
  }
  assert.equal(await writesIn({ next: { statusTemplate: lines.join("\n") } }, 1_000), 0);
});

const beyond: Readonly<Record<string, readonly [spec: object, problem: RegExp]>> = {
  "be for secrets": [{ resourceRef: { kind: "Secret" }, next: { delete: true } }, /Secret of v1/],
  "be for roles": [
    { resourceRef: { apiGroup: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" } },
    /ClusterRoleBinding of rbac/,
  ],
  "be for a Pod of another group": [
    { resourceRef: { apiGroup: "example.com/v1", kind: "Pod" } },
    /Pod of example.com/,
  ],
  "apply another object": [
    { steps: [{ apply: { template: "apiVersion: v1\nkind: Secret" } }] },
    /applies other objects/,
  ],
  "act as another user": [
    { next: { statusTemplate: "phase: Failed", statusPatchAs: { username: "admin" } } },
    /acts as the user admin/,
  ],
  "patch as another user": [
    { steps: [{ patch: { template: "a: b", impersonation: { username: "admin" } } }] },
    /acts as the user admin/,
  ],
  "reach another path": [
    { next: { statusTemplate: "a: b", statusSubresource: "../../secrets/s" } },
    /patches .*secrets/,
  ],
};

for (const [name, [spec, problem]] of Object.entries(beyond)) {
  test(`a Stage of the API may not ${name} with the rights of the process`, () => {
    const set = new StageSet([]);
    const problems = set.serve([JSON.parse(stage(spec))]);
    assert.match(problems.get("hostile")?.join() ?? "", problem);
    assert.equal(set.targets().length, 0, "it is not played");
  });
}

test("a Stage of the API for pods is played, and replaces no file's Stage of another kind", () => {
  const ofFile = readStages(stage({ resourceRef: { kind: "ConfigMap" }, next: { delete: true } }));
  const set = new StageSet(ofFile.stages);
  const problems = set.serve([JSON.parse(stage({ next: { statusTemplate: "phase: Failed" } }))]);
  assert.deepEqual([...problems], []);
  assert.deepEqual(
    set
      .targets()
      .map(({ kind }) => kind)
      .toSorted(),
    ["ConfigMap", "Pod"],
  );
});
