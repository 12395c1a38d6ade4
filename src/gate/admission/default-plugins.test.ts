/** The whole chain: order, idempotence, purity. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Pod, ResourceQuota } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { createAdmission } from "./chain.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { fakeServiceNumbers, FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

function setup(...extra: AdmissionPlugin[]) {
  const lookup = new FakeLookup(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns" }, status: { phase: "Active" } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "ns" } },
  );
  const plugins = defaultPlugins({
    lookup,
    clock: new FakeClock(),
    random: new FakeRandom(1),
    access: { isAllowed: () => false, escalation: () => undefined },
    readCertificateRequest: () => ({ kind: "unreadable", fault: "not read here" }),
    updateQuota: async (quota: ResourceQuota) => lookup.put(quota as AnyObject),
    serviceAddresses: { range: "10.96.0.0/16", firstNodePort: 30_000, lastNodePort: 32_767 },
    serviceNumbers: fakeServiceNumbers(lookup),
    served: () => [],
    choice: { enable: [], disable: [] },
    settings: {},
    extra,
  });
  return { lookup, plugins, admission: createAdmission(plugins) };
}

test("the order is upstream's", () => {
  assert.deepEqual(
    setup().plugins.map((plugin) => plugin.name),
    [
      "UnservedKinds",
      "NamespaceLifecycle",
      "LimitRanger",
      "ServiceAccount",
      "NodeRestriction",
      "TaintNodesByCondition",
      "PodSecurity",
      "Priority",
      "DefaultTolerationSeconds",
      "DefaultStorageClass",
      "StorageObjectInUseProtection",
      "PersistentVolumeClaimResize",
      "RuntimeClass",
      "CertificateProof",
      "CertificateApproval",
      "CertificateSigning",
      "PodCertificateSigning",
      "ClusterTrustBundleAttest",
      "CertificateSubjectRestriction",
      "ResourceClaims",
      "DefaultIngressClass",
      "PodTopologyLabels",
      "PodGroupWorkloadExists",
      "NodeDeclaredFeatureValidator",
      "PodResizeValidator",
      "RoleEscalation",
      "CertificateRequester",
      "CertificateConditions",
      "ServiceAddresses",
      "ResourceQuota",
    ],
  );
});

test("mutating is idempotent, validating accepts what mutating made, and inputs are not changed", async () => {
  const { admission } = setup();
  const input = pod();
  const before = structuredClone(input);
  const once = await admission.mutate(fakeRequest(input));
  assert.deepEqual(input, before);
  const twice = await admission.mutate(fakeRequest(once));
  assert.deepEqual(twice, once);
  assert.equal(await outcome(() => admission.validate(fakeRequest(once))), "admitted");
  const spec = (once as Pod).spec;
  assert.equal(spec?.serviceAccountName, "default");
  assert.equal(spec?.priority, 0);
  assert.equal(spec?.tolerations?.length, 2);
});

test("an added plugin runs, and its refusal ends the chain", async () => {
  const refusing: AdmissionPlugin = {
    name: "Extra",
    mutate() {
      throw new TypeError("extra ran");
    },
  };
  const { admission } = setup(refusing);
  await assert.rejects(() => admission.mutate(fakeRequest(pod())), /extra ran/);
});

test("a deletion has only a validating pass", async () => {
  const { admission } = setup();
  const request = fakeRequest(undefined, { operation: "DELETE", oldObject: pod() });
  assert.equal(await outcome(() => admission.validate(request)), "admitted");
});

test("a pod's status is written without a promise of any plugin, or a look at more than its namespace", () => {
  const { lookup, plugins } = setup();
  const asked = new Set<string>();
  lookup.get = ({ resource }) => {
    asked.add(resource);
    return { metadata: { name: "ns" } };
  };
  const oldObject = pod();
  const object = { ...oldObject, status: { phase: "Running" } };
  const request = fakeRequest(object, { operation: "UPDATE", subresource: "status", oldObject });
  for (const plugin of plugins) {
    const answer = plugin.mutate?.(request);
    assert.ok(answer === undefined || answer === object, plugin.name);
  }
  assert.deepEqual([...asked], ["namespaces"]);
});
