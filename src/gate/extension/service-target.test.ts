/** Where requests to a Service go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { FakeLookup } from "#admission/testing.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { serviceTargets } from "./service-target.ts";

function service(name: string, spec: object): AnyObject {
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace: "ns" }, spec };
}

function slice(
  name: string,
  of: string,
  endpoints: readonly object[],
  more: object = {},
): AnyObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "ns", labels: { "kubernetes.io/service-name": of } },
    addressType: "IPv4",
    ports: [{ name: "web", port: 8443 }],
    endpoints,
    ...more,
  };
}

const web = { type: "ClusterIP", clusterIP: "10.96.0.9", ports: [{ name: "web", port: 443 }] };
const hollow = { "pilothouse.dev/hollow": "true" };
const objects: readonly AnyObject[] = [
  service("made", web),
  slice("made-1", "made", [{ addresses: ["10.0.0.1"] }]),
  service("unready", web),
  slice("unready-1", "unready", [{ addresses: ["10.0.0.2"], conditions: { ready: false } }]),
  service("empty", web),
  service("special", web),
  slice("special-1", "special", [
    { addresses: ["127.0.0.1"] },
    { addresses: ["169.254.169.254"] },
    { addresses: ["::1"] },
    { addresses: ["metadata.internal"] },
  ]),
  service("names", web),
  slice("names-1", "names", [{ addresses: ["metadata.internal"] }], { addressType: "FQDN" }),
  service("outside", { type: "ExternalName", externalName: "hooks.example.com" }),
  service("hollow", web),
  slice("hollow-1", "hollow", [{ addresses: ["10.0.0.3"], nodeName: "h" }]),
  { apiVersion: "v1", kind: "Node", metadata: { name: "h", annotations: hollow } },
];

const cases: readonly (readonly [string, string, number, string])[] = [
  ["slices made by hand count", "made", 443, "10.0.0.1:8443"],
  ["an ExternalName is dialled by its name", "outside", 443, "hooks.example.com:443"],
  ["no Service", "none", 443, 'service "none" not found'],
  ["no such port", "made", 80, 'no service port 80 found for service "made"'],
  ["no ready endpoint", "unready", 443, 'no endpoints available for service "unready"'],
  [
    "no slice: the cluster address is not dialled",
    "empty",
    443,
    'no endpoints available for service "empty"',
  ],
  [
    "addresses that no slice may have",
    "special",
    443,
    'no endpoints available for service "special"',
  ],
  ["a slice of names", "names", 443, 'no endpoints available for service "names"'],
  [
    "hollow nodes run no container",
    "hollow",
    443,
    'the pods of service "hollow" run on hollow nodes: there is no container to call',
  ],
];

for (const [name, of, port, expected] of cases) {
  test(`a Service leads to its endpoints: ${name}`, () => {
    const lookup = new FakeLookup(...objects);
    const targets = serviceTargets({ lookup, random: new FakeRandom(1), version: () => 1 });
    assert.equal(
      resolved(() => targets.resolve({ namespace: "ns", name: of, port })),
      expected,
    );
  });
}

function resolved(f: () => { readonly address: string; readonly port: number }): string {
  try {
    const { address, port } = f();
    return `${address}:${port}`;
  } catch (error) {
    return (error as Error).message;
  }
}

test("an endpoint that went away is not used once the slices changed", () => {
  const lookup = new FakeLookup(...objects);
  let version = 1;
  const targets = serviceTargets({ lookup, random: new FakeRandom(1), version: () => version });
  const reference = { namespace: "ns", name: "made", port: 443 };
  assert.equal(targets.resolve(reference).address, "10.0.0.1");
  lookup.put(slice("made-1", "made", [{ addresses: ["10.0.0.7"] }]));
  version = 2;
  assert.equal(targets.resolve(reference).address, "10.0.0.7");
});
