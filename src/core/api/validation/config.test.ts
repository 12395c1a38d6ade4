/** Findings about config maps, secrets, claims, quotas, nodes and the like. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { onCreate, onUpdate } from "./testing/findings.ts";

const creates: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "Keys of config maps are file names",
    '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {"a b": x}}',
    [
      "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  ],
  [
    "A key is text or bytes",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}, binaryData: {a: eA==}}",
    ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  ],
  [
    "A config map holds a mebibyte",
    `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ${"x".repeat(1_048_577)}}}`,
    ["[]: Too long: may not be more than 1048576 bytes"],
  ],
  [
    "A TLS secret has both halves",
    "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/tls, data: {tls.crt: eA==}}",
    ["data[tls.key]: Required value"],
  ],
  [
    "Registry credentials are JSON",
    "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: nope}}",
    [
      "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'n' looking for beginning of value",
    ],
  ],
  [
    "A class of volume attributes names its driver as a provisioner is named",
    "{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: c}, driverName: Example.com/driver, parameters: {a: b}}",
    [],
  ],
  [
    "A claim asks for something",
    "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce]}}",
    ["spec.resources[storage]: Required value"],
  ],
  [
    "A volume is something, somewhere",
    "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}}",
    ["spec: Required value: must specify a volume type"],
  ],
  [
    "A quota counts what there is",
    "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {coffee: 1}}}",
    [
      'spec.hard[coffee]: Invalid value: "coffee": must be a standard resource type or fully qualified',
      'spec.hard[coffee]: Invalid value: "coffee": must be a standard resource for quota',
    ],
  ],
  [
    "Scopes of a quota do not exclude each other",
    "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}, scopes: [BestEffort, NotBestEffort]}}",
    ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
  ],
  [
    "A limit range leaves room",
    "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}}",
    [
      'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
      'spec.limits[0].default[cpu]: Invalid value: "1": min value 2 is greater than default value 1',
    ],
  ],
  [
    "A lease lasts",
    "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {leaseDurationSeconds: 0}}",
    ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
  ],
  [
    "An event is about something near",
    "{apiVersion: v1, kind: Event, metadata: {name: e, namespace: a}, involvedObject: {namespace: b}}",
    ['involvedObject.namespace: Invalid value: "b": does not match event.namespace'],
  ],
  [
    "Taints have effects",
    "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {taints: [{key: a, effect: Explode}]}}",
    [
      'metadata.taints[0].effect: Unsupported value: "Explode": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  ],
];

for (const [name, yaml, expected] of creates) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}

const updates: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    "An immutable config map stays as it is",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, immutable: true, data: {a: x}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: y}}",
    [
      "immutable: Forbidden: field is immutable when `immutable` is set",
      "data: Forbidden: field is immutable when `immutable` is set",
    ],
  ],
  [
    "A secret keeps its type",
    "{apiVersion: v1, kind: Secret, metadata: {name: s}}",
    "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: mine}",
    ['type: Invalid value: "mine": field is immutable'],
  ],
  [
    "A node keeps its pod range",
    "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24]}}",
    "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {podCIDR: 10.0.1.0/24, podCIDRs: [10.0.1.0/24]}}",
    ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
  ],
  [
    "A quota keeps its scopes",
    "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}}}",
    "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}, scopes: [BestEffort]}}",
    ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable'],
  ],
];

for (const [name, old, next, expected] of updates) {
  test(name, () => assert.deepEqual(onUpdate(old, next), expected));
}

test("A claim's spec is for good, and says what would have been possible", () => {
  const claim = (size: string): string =>
    `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ${size}}}}}`;
  const [error] = onUpdate(claim("1Gi"), claim("2Gi"));
  assert.match(
    error ?? "",
    /^spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims/,
  );
});

test("A namespace's phase follows its deletion", () => {
  const old = "{apiVersion: v1, kind: Namespace, metadata: {name: n}}";
  const next =
    "{apiVersion: v1, kind: Namespace, metadata: {name: n}, status: {phase: Terminating}}";
  assert.deepEqual(onUpdate(old, next, "status"), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
});
