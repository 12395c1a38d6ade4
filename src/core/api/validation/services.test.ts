/** Findings about services and their endpoints. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { onCreate, onUpdate } from "./testing/findings.ts";

function service(spec: string): string {
  return `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {${spec}}}`;
}

const address = "clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]";
const cases: readonly (readonly [string, string, readonly string[]])[] = [
  ["A plain service is fine", `ports: [{port: 80}], ${address}`, []],
  ["A headless service needs no ports", "clusterIP: None", []],
  ["Other services need ports", address, ["spec.ports: Required value"]],
  [
    "Several ports have names",
    `ports: [{port: 80}, {port: 81}], ${address}`,
    ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
  ],
  [
    "Names of ports differ",
    `ports: [{name: a, port: 80}, {name: a, port: 81}], ${address}`,
    ['spec.ports[1].name: Duplicate value: "a"'],
  ],
  [
    "Ports differ",
    `ports: [{name: a, port: 80}, {name: b, port: 80}], ${address}`,
    [
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  ],
  [
    "A port fits a port",
    `ports: [{port: 0}], ${address}`,
    [
      "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
      "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
    ],
  ],
  [
    "A cluster service has no node ports",
    `ports: [{port: 80, nodePort: 30000}], ${address}`,
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
  [
    "An external name is a name",
    "type: ExternalName, externalName: a_b",
    [
      "spec.externalName: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ],
  ["An external name is given", "type: ExternalName", ["spec.externalName: Required value"]],
  [
    "A type is one of four",
    `type: Magic, ports: [{port: 80}], ${address}`,
    [
      'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  ],
  [
    "Balancers' fields are balancers'",
    `ports: [{port: 80}], ${address}, loadBalancerClass: a.b/c, externalTrafficPolicy: Local`,
    [
      "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ],
  ],
  [
    "A node port service is not headless",
    "type: NodePort, ports: [{port: 80, nodePort: 30000}], clusterIP: None",
    ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
  ],
  [
    "External addresses are nobody's loopback",
    `ports: [{port: 80}], ${address}, externalIPs: [127.0.0.1]`,
    [
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  ],
];

for (const [name, spec, expected] of cases) {
  test(name, () => assert.deepEqual(onCreate(service(spec)), expected));
}

test("The address of a service stays", () => {
  const old = service(`ports: [{port: 80}], ${address}`);
  const next = service("ports: [{port: 80}], clusterIP: 10.0.0.2, clusterIPs: [10.0.0.2]");
  assert.deepEqual(onUpdate(old, next), [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ]);
  assert.deepEqual(onUpdate(old, service("ports: [{port: 81}]")), []);
});

test("A service may become an external name and give its address back", () => {
  const old = service(`ports: [{port: 80}], ${address}`);
  assert.deepEqual(onUpdate(old, service("type: ExternalName, externalName: a.example")), []);
});

test("Only balancers report where they are reached", () => {
  const old = service(`ports: [{port: 80}], ${address}`);
  const next = old.replace("spec:", "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}, spec:");
  assert.deepEqual(onUpdate(old, next, "status"), [
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  ]);
});

function slice(fields: string): string {
  return `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s}, ${fields}}`;
}

const slices: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "A plain slice is fine",
    "addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}], ports: [{port: 80}]",
    [],
  ],
  ["A slice has a kind of address", "endpoints: []", ["addressType: Required value"]],
  [
    "Endpoints have addresses",
    "addressType: IPv4, endpoints: [{addresses: []}]",
    ["endpoints[0].addresses: Required value: must contain at least 1 address"],
  ],
  [
    "Addresses are of the slice's family",
    'addressType: IPv4, endpoints: [{addresses: ["2001:db8::1"]}]',
    ['endpoints[0].addresses[0]: Invalid value: "2001:db8::1": must be a valid IPv4 address'],
  ],
];

for (const [name, fields, expected] of slices) {
  test(name, () => assert.deepEqual(onCreate(slice(fields)), expected));
}

test("A slice keeps its kind of address", () => {
  assert.deepEqual(
    onUpdate(slice("addressType: IPv4, endpoints: []"), slice("addressType: IPv6, endpoints: []")),
    ['addressType: Invalid value: "IPv6": field is immutable'],
  );
});

test("Endpoints have addresses, ready or not", () => {
  const yaml =
    "{apiVersion: v1, kind: Endpoints, metadata: {name: e}, subsets: [{ports: [{port: 80}]}]}";
  assert.deepEqual(onCreate(yaml), [
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
  ]);
});
