/** What PodSecurity counts: evaluations by mode and decision, exemptions and errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { AdmissionRequest } from "./admission.ts";
import { PodSecurityMetrics } from "./pod-security-metrics.ts";
import { podSecurityDefaults } from "./pod-security-settings.ts";
import { podSecurity } from "./pod-security.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

const hostile = pod({ hostNetwork: true });
const deployment: AnyObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "ns" },
  spec: { template: { spec: { hostNetwork: true, containers: [{ name: "c" }] } } },
};

/** Returns the series of one request, in the namespace `ns` with these labels. */
async function counted(
  labels: Readonly<Record<string, string>>,
  object: AnyObject,
  over: Partial<AdmissionRequest> = {},
): Promise<readonly string[]> {
  const set = new MetricSet();
  const pairs = Object.entries(labels).map(([key, value]) => [
    `pod-security.kubernetes.io/${key}`,
    value,
  ]);
  const metadata = { name: "ns", labels: Object.fromEntries(pairs) };
  const lookup = new FakeLookup({ apiVersion: "v1", kind: "Namespace", metadata });
  const settings = {
    ...podSecurityDefaults,
    usernames: new Set(["root"]),
    runtimeClasses: new Set(["vm"]),
  };
  const deps = { lookup, podSecurityMetrics: new PodSecurityMetrics(set) };
  const plugin = podSecurity(deps, settings);
  await outcome(() => plugin.validate?.(fakeRequest(object, over)));
  return set
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

const ofPod = 'request_operation="create",resource="pod",subresource=""';
const ofWorkload = 'request_operation="create",resource="controller",subresource=""';

function evaluation(decision: string, policy: string, mode: string, of = ofPod): string {
  const [level = "", version = ""] = policy.split(":");
  const labels = `policy_level="${level}",policy_version="${version}",mode="${mode}"`;
  return `pod_security_evaluations_total{decision="${decision}",${labels},${of}} 1`;
}

test("a pod is evaluated once for what is enforced, and a namespace without labels counts as privileged", async () => {
  assert.deepEqual(await counted({}, hostile), [
    evaluation("allow", "privileged:latest", "enforce"),
  ]);
  assert.deepEqual(await counted({ enforce: "baseline", "enforce-version": "v1.30" }, pod()), [
    evaluation("allow", "baseline:v1.30", "enforce"),
  ]);
});

test("a violation counts for each mode that finds it, and a refused pod is not warned about", async () => {
  const labels = { audit: "baseline", warn: "restricted" };
  assert.deepEqual(await counted(labels, hostile), [
    evaluation("deny", "baseline:latest", "audit"),
    evaluation("allow", "privileged:latest", "enforce"),
    evaluation("deny", "restricted:latest", "warn"),
  ]);
  assert.deepEqual(await counted({ enforce: "baseline" }, hostile), [
    evaluation("deny", "baseline:latest", "enforce"),
  ]);
});

test("a workload is a controller, for which nothing is enforced", async () => {
  assert.deepEqual(await counted({ enforce: "baseline" }, deployment), [
    evaluation("deny", "baseline:latest", "warn", ofWorkload),
  ]);
  assert.deepEqual(await counted({}, deployment), []);
});

test("every version after ours is one value of the label", async () => {
  for (const version of ["v1.37", "v1.4096"])
    assert.deepEqual(await counted({ enforce: "baseline", "enforce-version": version }, hostile), [
      evaluation("deny", "baseline:future", "enforce"),
    ]);
});

test("exempt requests count as exempt alone, and ignored ones not at all", async () => {
  const exempt = `pod_security_exemptions_total{${ofPod}} 1`;
  const labels = { enforce: "restricted" };
  const user = { name: "root", groups: [] };
  assert.deepEqual(await counted(labels, hostile, { user }), [exempt]);
  assert.deepEqual(await counted(labels, pod({ runtimeClassName: "vm" })), [exempt]);
  assert.deepEqual(await counted(labels, hostile, { subresource: "status" }), []);
  const unchanged = { operation: "UPDATE", oldObject: hostile } as const;
  assert.deepEqual(await counted(labels, hostile, unchanged), []);
});

test("an error is fatal without a namespace, and not with a label that cannot be read", async () => {
  assert.deepEqual(await counted({ warn: "none" }, pod()), [
    evaluation("allow", "privileged:latest", "enforce"),
    `pod_security_errors_total{fatal="false",${ofPod}} 1`,
  ]);
  assert.deepEqual(await counted({}, hostile, { namespace: "gone" }), [
    `pod_security_errors_total{fatal="true",${ofPod}} 1`,
  ]);
});
