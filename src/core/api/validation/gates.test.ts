/** Findings of features that 1.36 turns on, as Kubernetes 1.36.3 words them; docs/features.md lists the features. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { onCreate, onUpdate } from "./testing/findings.ts";

const container = "name: c, image: i";

function pod(spec: string, more = ""): string {
  return `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {restartPolicy: Never, containers: [{${container}${more}}]${spec}}}`;
}

function service(spec: string): string {
  return `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}], ${spec}}}`;
}

function policy(block: string): string {
  return `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {}, ingress: [{from: [{ipBlock: ${block}}]}]}}`;
}

function slice(type: string, address: string): string {
  return `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e}, addressType: ${type}, endpoints: [{addresses: ["${address}"]}]}`;
}

function endpoints(address: string): string {
  return `{apiVersion: v1, kind: Endpoints, metadata: {name: e}, subsets: [{addresses: [{ip: "${address}"}]}]}`;
}

function scaler(spec: string): string {
  return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {kind: D, name: d, apiVersion: a/v1}, maxReplicas: 3, ${spec}}}`;
}

function driver(spec: string): string {
  return `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d.x}, spec: {${spec}}}`;
}

const env = (reference: string): string =>
  pod(
    ", volumes: [{name: v, emptyDir: {}}, {name: o, configMap: {name: m}}]",
    `, env: [{name: A, valueFrom: {fileKeyRef: ${reference}}}]`,
  );
const rules = (text: string): string => pod("", `, ${text}`);
const at = "spec.containers[0]";
const block = "spec.ingress[0].from[0].ipBlock";

const cases: Readonly<Record<string, readonly (readonly [string, readonly string[]])[]>> = {
  ContainerRestartRules: [
    [
      rules(
        "restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]",
      ),
      [],
    ],
    [
      rules("restartPolicyRules: [{action: X, exitCodes: {operator: Z}}]"),
      [
        `${at}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
        `${at}.restartPolicyRules[0].action: Unsupported value: "X": supported values: "Restart", "RestartAllContainers"`,
        `${at}.restartPolicyRules[0].exitCodes.operator: Unsupported value: "Z": supported values: "In", "NotIn"`,
      ],
    ],
    [
      rules("restartPolicy: Sometimes, restartPolicyRules: [{action: Restart}]"),
      [
        `${at}.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"`,
        `${at}.restartPolicyRules[0].exitCodes: Required value: must be specified`,
      ],
    ],
    [
      pod(", initContainers: [{name: i, image: i, restartPolicyRules: [{action: X}]}]"),
      [
        "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
      ],
    ],
  ],
  RestartAllContainersOnContainerExits: [
    [
      rules(
        "restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: NotIn, values: [1]}}]",
      ),
      [],
    ],
    [
      rules(
        `restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [${"1,".repeat(256)}]}}]`,
      ),
      [`${at}.restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items`],
    ],
  ],
  EnvFiles: [
    [env("{key: K, path: a/b, volumeName: v}"), []],
    [
      env('{key: "", path: ../x, volumeName: w}'),
      [
        `${at}.env[0].valueFrom.fileKeyRef.key: Required value`,
        `${at}.env[0].valueFrom.fileKeyRef.path: Invalid value: "../x": must not contain '..'`,
        `${at}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "w"`,
      ],
    ],
    [
      env("{key: K, path: x, volumeName: o}"),
      [
        `${at}.env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "o": referenced volume must be of type emptyDir`,
      ],
    ],
  ],
  HostnameOverride: [
    [pod(", hostnameOverride: a.b.c"), []],
    [
      pod(", hostnameOverride: a, hostNetwork: true"),
      ["spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"],
    ],
  ],
  RelaxedServiceNameValidation: [
    [service("clusterIP: None").replace("name: s", "name: 1-a"), []],
    [service("clusterIP: None").replace("name: s", 'name: "9"'), []],
  ],
  PodLevelResources: [
    [pod(", resources: {}", ", resources: {requests: {cpu: 1}}"), []],
    [pod(", resources: {requests: {memory: 1Gi}}", ", resources: {requests: {cpu: 1}}"), []],
    [
      pod(", resources: {claims: [{name: x}]}"),
      [
        "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
        'spec.resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty',
      ],
    ],
    [
      pod(", os: {name: windows}, resources: {requests: {cpu: 1}}"),
      ["spec.resources: Forbidden: may not be set for a windows pod"],
    ],
  ],
  "TaintTolerationComparisonOperators, which is off": [
    [
      pod(", tolerations: [{key: a, operator: Gt, value: '5'}]"),
      [
        'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"',
      ],
    ],
    [
      pod(", tolerations: [{key: a, operator: Bad}]"),
      [
        'spec.tolerations[0].operator: Unsupported value: "Bad": supported values: "Equal", "Exists"',
      ],
    ],
  ],
  UserNamespacesSupport: [
    [
      pod(", hostUsers: false, hostPID: true"),
      ["spec.HostPID: Forbidden: when `hostUsers` is false"],
    ],
  ],
  HPAConfigurableTolerance: [
    [scaler("behavior: {scaleUp: {tolerance: 50m}}"), []],
    [
      scaler(`behavior: {scaleDown: {tolerance: "-1"}}`),
      [
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      scaler("minReplicas: 0"),
      [
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
      ],
    ],
  ],
  CSIServiceAccountTokenSecrets: [
    [
      driver("serviceAccountTokenInSecrets: true"),
      [
        "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ],
    ],
    [driver("serviceAccountTokenInSecrets: true, tokenRequests: [{audience: a}]"), []],
  ],
  MutableCSINodeAllocatableCount: [
    [
      driver("nodeAllocatableUpdatePeriodSeconds: 9"),
      [
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
      ],
    ],
  ],
  StrictIPCIDRValidation: [
    [service('externalIPs: ["1.2.3.4", "2001:DB8:0::1"]'), []],
    [
      service('externalIPs: ["010.1.1.1", "::ffff:1.2.3.4", "1.2.3"]'),
      [
        'spec.externalIPs[0]: Invalid value: "010.1.1.1": must not have leading 0s',
        'spec.externalIPs[1]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
        'spec.externalIPs[2]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    ],
    [
      service(
        'type: LoadBalancer, loadBalancerSourceRanges: [" 1.2.3.0/24", "1.2.3.4/24", "1.2.3.0/024", "01.2.3.0/24", "::ffff:1.2.3.0/120", "::1/64", "1.2.3.4"]',
      ),
      [
        'spec.LoadBalancerSourceRanges[1]: Invalid value: "1.2.3.4/24": must not have bits set beyond the prefix length',
        'spec.LoadBalancerSourceRanges[2]: Invalid value: "1.2.3.0/024": must not have leading 0s in IP or prefix length',
        'spec.LoadBalancerSourceRanges[3]: Invalid value: "01.2.3.0/24": must not have leading 0s in IP or prefix length',
        'spec.LoadBalancerSourceRanges[4]: Invalid value: "::ffff:1.2.3.0/120": must not have an IPv4-mapped IPv6 address',
        'spec.LoadBalancerSourceRanges[5]: Invalid value: "::1/64": must not have bits set beyond the prefix length',
        'spec.LoadBalancerSourceRanges[6]: Invalid value: "1.2.3.4": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      policy("{cidr: 10.0.0.1/8, except: [10.1.0.0/016]}"),
      [
        `${block}.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
        `${block}.except[0]: Invalid value: "10.1.0.0/016": must not have leading 0s in IP or prefix length`,
      ],
    ],
    [
      endpoints("010.1.1.1"),
      ['subsets[0].addresses[0].ip: Invalid value: "010.1.1.1": must not have leading 0s'],
    ],
    [slice("IPv6", "2001:db8::1"), []],
    [
      slice("IPv6", "2001:DB8::1"),
      [
        'endpoints[0].addresses[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
      ],
    ],
    [
      pod(', hostAliases: [{ip: "1.2.3.04"}]'),
      ['spec.hostAliases[0].ip: Invalid value: "1.2.3.04": must not have leading 0s'],
    ],
    [
      "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {podCIDRs: [10.0.0.1/8]}}",
      [
        'spec.podCIDRs[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
      ],
    ],
  ],
};

for (const [feature, rows] of Object.entries(cases)) {
  test(`${feature}: what is taken, and what is refused in which words`, () => {
    for (const [yaml, expected] of rows) assert.deepEqual(onCreate(yaml), expected, yaml);
  });
}

/** Stored by an older release, changed elsewhere. */
const kept: readonly (readonly [string, string, string])[] = [
  [
    service('externalIPs: ["010.1.1.1"]'),
    service('externalIPs: ["010.1.1.1"], sessionAffinity: ClientIP'),
    "",
  ],
  [
    service("type: LoadBalancer, loadBalancerSourceRanges: [1.2.3.4/24]"),
    service('type: LoadBalancer, loadBalancerSourceRanges: ["5.0.0.0/8", " 1.2.3.4/24"]'),
    "",
  ],
  [policy("{cidr: 10.0.0.1/8}"), policy("{cidr: 10.0.0.1/8, except: [10.1.0.0/16]}"), ""],
  [endpoints("010.1.1.1"), endpoints("010.1.1.1"), ""],
  [slice("IPv6", "2001:DB8::1"), slice("IPv6", "2001:DB8::1"), ""],
];

test("addresses that are stored already stay acceptable", () => {
  for (const [old, next, subresource] of kept) {
    assert.deepEqual(onUpdate(old, next, subresource), [], next);
  }
});

const spellings: readonly (readonly [string, string])[] = [
  ["0:0:0:0:0:0:0:0", "::"],
  ["1::", "1::"],
  ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
  ["::1", "::1"],
];

test("an address has one canonical spelling, that of RFC 5952", () => {
  for (const [text, expected] of spellings) {
    const found = onCreate(slice("IPv6", text)).filter((one) => one.includes("canonical"));
    const fault = `endpoints[0].addresses[0]: Invalid value: "${text}": must be in canonical form ("${expected}")`;
    assert.deepEqual(found, text === expected ? [] : [fault]);
  }
});
