/** Findings whose values, paths or order upstream takes from its internal structs: a small object, and stock's text. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { onCreate, onUpdate } from "./testing/findings.ts";

const level = (spec: string): string =>
  `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: p}, spec: ${spec}}`;
const limited = (fields: string): string =>
  level(`{type: Limited, limited: {limitResponse: {type: Reject}, ${fields}}}`);
const attachment = (volume: string): string =>
  `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a}, spec: {attacher: a, nodeName: n, source: {persistentVolumeName: ${volume}}}}`;
const node = (spec: string): string =>
  `{apiVersion: v1, kind: Node, metadata: {name: n}, spec: ${spec}}`;
const workload = (kind: string, spec: string): string =>
  `{apiVersion: apps/v1, kind: ${kind}, metadata: {name: w, namespace: default}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}, ${spec}}}`;
const scaler = (metric: string): string =>
  `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: default}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, metrics: [${metric}]}}`;
const ingressClass = (controller: string): string =>
  `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: c}, spec: {controller: ${controller}}}`;

const creates: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "shares that are lent are a percentage",
    limited("lendablePercent: 101"),
    ["spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"],
  ],
  [
    "shares that are borrowed are not negative",
    limited("nominalConcurrencyShares: -1, borrowingLimitPercent: -1"),
    [
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
    ],
  ],
  ["a level has a type", level("{limited: {}}"), ["spec.type: Required value"]],
  [
    "an attachment names a volume by its name",
    attachment("Bad_Value"),
    [
      "spec.source.persistentVolumeName: Invalid value: \"Bad_Value\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ],
  [
    "a taint stands once",
    node("{taints: [{key: a, effect: NoExecute}, {key: a, effect: NoExecute}]}"),
    [
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair',
    ],
  ],
  [
    "a strategy of a Deployment",
    workload("Deployment", "strategy: {type: X}"),
    [
      'spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
  [
    "a strategy of a DaemonSet",
    workload("DaemonSet", "updateStrategy: {type: X, rollingUpdate: {maxUnavailable: 1}}"),
    [
      'spec.updateStrategy: Unsupported value: {"Type":"X","RollingUpdate":{"MaxUnavailable":1,"MaxSurge":null}}: supported values: "RollingUpdate", "OnDelete"',
    ],
  ],
  [
    "a strategy of a StatefulSet",
    workload("StatefulSet", "serviceName: s, updateStrategy: {type: X}"),
    [
      'spec.updateStrategy: Invalid value: {"Type":"X","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
    ],
  ],
  [
    "a metric of an unknown type is asked for no source",
    scaler("{type: x}"),
    Array.from(
      { length: 2 },
      () =>
        'spec.metrics[0].type: Unsupported value: "x": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ),
  ],
  [
    "a type of a limit is one finding",
    "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Bad_Value!}]}}",
    [
      "spec.limits[0].type: Invalid value: \"Bad_Value!\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
];

for (const [name, yaml, expected] of creates) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}

test("a controller of a class is for good, and that is told first", () => {
  assert.deepEqual(onUpdate(ingressClass("a.b/c"), ingressClass("Bad")), [
    'spec.controller: Invalid value: "Bad": field is immutable',
    'spec.controller: Invalid value: "Bad": must be a domain-prefixed path (such as "acme.io/foo")',
  ]);
});

test("where a node's range and its ranges differ, the range is meant", () => {
  const old = node("{podCIDR: 10.1.0.0/24, podCIDRs: [10.1.0.0/24]}");
  const other = node("{podCIDR: 10.1.0.0/24, podCIDRs: [10.2.0.0/24]}");
  assert.deepEqual(onUpdate(old, other), []);
  assert.deepEqual(onUpdate(old, node("{podCIDR: 10.3.0.0/24, podCIDRs: [10.1.0.0/24]}")), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ]);
});

test("the name of a set's Service is looked at where the set is made", () => {
  const bad = workload("StatefulSet", "serviceName: Bad_Value");
  const good = workload("StatefulSet", "serviceName: good");
  assert.match(onCreate(bad)[0] ?? "", /^spec\.serviceName: Invalid value/);
  assert.deepEqual(
    onUpdate(good, bad).map((finding) => finding.slice(0, 16)),
    ["spec: Forbidden:"],
  );
});
