/** PodGroups and Workloads: refused with the words of kube-apiserver 1.36.3 with its gates on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { strategyFor } from "../strategies/strategies.ts";
import type { AnyObject } from "../object.ts";

const group = "scheduling.k8s.io";
const gates = new Set([
  "GenericWorkload",
  "TopologyAwareWorkloadScheduling",
  "WorkloadAwarePreemption",
]);
const gang = { gang: { minCount: 2 } };

function object(kind: string, spec: unknown): AnyObject {
  const apiVersion = `${group}/v1alpha2`;
  return { apiVersion, kind, metadata: { name: "g", namespace: "a" }, spec };
}

const podGroup = (spec: unknown): AnyObject => object("PodGroup", spec);
const workload = (spec: unknown): AnyObject => object("Workload", spec);

function findings(made: AnyObject): string[] {
  const strategy = strategyFor(group, `${made.kind?.toLowerCase()}s`, gates);
  return strategy.validate(made).map(({ field, message }) => `${field}: ${message}`);
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const groupRows: readonly (readonly [spec: unknown, findings: readonly string[]])[] = [
  [{ schedulingPolicy: gang }, []],
  [{ schedulingPolicy: { basic: {} } }, []],
  [{ schedulingPolicy: { gang: { minCount: 2 ** 31 - 1 } } }, []],
  [
    { schedulingPolicy: {} },
    ['spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
  ],
  [
    { schedulingPolicy: { basic: {}, gang: { minCount: 1 } } },
    [
      'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
    ],
  ],
  [
    { schedulingPolicy: { gang: { minCount: 0 } } },
    ["spec.schedulingPolicy.gang.minCount: Required value"],
  ],
  [
    { schedulingPolicy: { gang: { minCount: -1 } } },
    ["spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1"],
  ],
  [
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "a" }, { key: "b" }] } },
    ["spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"],
  ],
  [
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "" }] } },
    ["spec.schedulingConstraints.topology[0].key: Required value"],
  ],
  [
    { schedulingPolicy: gang, disruptionMode: "Foo" },
    ['spec.disruptionMode: Unsupported value: "Foo": supported values: "Pod", "PodGroup"'],
  ],
  [
    { schedulingPolicy: gang, priority: 2_000_000_000 },
    ["spec.priority: Invalid value: 2000000000: must be less than or equal to 1000000000"],
  ],
  [
    { schedulingPolicy: gang, podGroupTemplateRef: {} },
    ['spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`'],
  ],
  [
    {
      schedulingPolicy: gang,
      podGroupTemplateRef: { workload: { workloadName: "W_", podGroupTemplateName: "t.x" } },
    },
    [
      `spec.podGroupTemplateRef.workload.workloadName: Invalid value: "W_": ${subdomain}`,
      'spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value: "t.x": must not contain dots',
    ],
  ],
];

test("a PodGroup is refused in upstream's words", () => {
  for (const [spec, expected] of groupRows) assert.deepEqual(findings(podGroup(spec)), expected);
});

test("a Workload is refused in upstream's words", () => {
  const one = { name: "t", schedulingPolicy: gang };
  const many = Array.from({ length: 9 }, (_, i) => ({ ...one, name: `t${i}` }));
  assert.deepEqual(findings(workload({ podGroupTemplates: [one] })), []);
  assert.deepEqual(findings(workload({ podGroupTemplates: [] })), [
    "spec.podGroupTemplates: Required value",
  ]);
  assert.deepEqual(findings(workload({ podGroupTemplates: many })), [
    "spec.podGroupTemplates: Too many: 9: must have at most 8 items",
  ]);
  assert.deepEqual(
    findings(workload({ podGroupTemplates: [{ schedulingPolicy: { gang: {} } }] })),
    [
      "spec.podGroupTemplates[0].name: Required value",
      "spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Required value",
    ],
  );
  const controllerRef = { apiGroup: "Bad_", kind: "a/b", name: "" };
  assert.deepEqual(findings(workload({ controllerRef, podGroupTemplates: [one] })), [
    `spec.controllerRef.apiGroup: Invalid value: "Bad_": ${subdomain}`,
    "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
    "spec.controllerRef.name: Required value",
  ]);
});

test("nothing of a PodGroup's spec changes", () => {
  const strategy = strategyFor(group, "podgroups", gates);
  const old = podGroup({ schedulingPolicy: gang });
  const next = podGroup({ schedulingPolicy: { basic: {} }, priority: 3 });
  const found = strategy.validateUpdate(next, old).map(({ field, message }) => [field, message]);
  assert.deepEqual(found, [
    ["spec.schedulingPolicy", "Invalid value: null: field is immutable"],
    ["spec.priority", "Invalid value: null: field is immutable"],
  ]);
});

test("fields of gates that are off are dropped, those of gates that are on stay", () => {
  const spec = {
    schedulingPolicy: gang,
    schedulingConstraints: { topology: [{ key: "rack" }] },
    disruptionMode: "PodGroup",
    priorityClassName: "high",
    priority: 1,
    resourceClaims: [{ name: "c", resourceClaimName: "c" }],
  };
  const { resourceClaims: _, ...kept } = spec;
  const made = (on: ReadonlySet<string>) =>
    strategyFor(group, "podgroups", on).prepareForCreate(podGroup(spec))["spec"];
  assert.deepEqual(made(gates), kept);
  assert.deepEqual(made(new Set(["GenericWorkload"])), { schedulingPolicy: gang });
  const schedulingGroup = { podGroupName: "g" };
  const pod = { apiVersion: "v1", kind: "Pod", spec: { containers: [], schedulingGroup } };
  const podSpec = (on: ReadonlySet<string>) =>
    strategyFor("", "pods", on).prepareForCreate(pod)["spec"] as { schedulingGroup?: unknown };
  assert.equal(podSpec(new Set()).schedulingGroup, undefined);
  assert.deepEqual(podSpec(gates).schedulingGroup, schedulingGroup);
});
