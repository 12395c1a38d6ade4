/** What a write to a status leaves as it was: the object and the ownership of its fields agree, for every kind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import { listResetFields } from "./reset-fields.ts";
import { ask, pod, pods, statusOf, withPlane } from "./testing/plane.ts";

/** Upstream's own, which is not served by default there and not looked at, drops them and says nothing of it. */
const inconsistent = "podcertificaterequests.certificates.k8s.io";

/** Upstream's list of kinds that are older than the rule. */
const metadataMayChange = new Set([
  "customresourcedefinitions.apiextensions.k8s.io",
  "daemonsets.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "cronjobs.batch",
  "jobs.batch",
  "horizontalpodautoscalers.autoscaling",
  "ingresses.networking.k8s.io",
  "nodes",
  "persistentvolumes",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "services",
  "poddisruptionbudgets.policy",
  "namespaces",
  "certificatesigningrequests.certificates.k8s.io",
]);

test("labels sent to a status are dropped where they give no ownership, and nowhere else", () => {
  const old: AnyObject = { metadata: { name: "a", labels: { a: "b" } }, spec: {}, status: {} };
  const next: AnyObject = { ...old, metadata: { name: "a", labels: { a: "c" } } };
  let looked = 0;
  for (const resource of builtinResources()) {
    if (!resource.subresources.some(({ name }) => name === "status")) continue;
    const name = resource.resource + (resource.group === "" ? "" : `.${resource.group}`);
    if (name === inconsistent) continue;
    const status = strategyFor(resource.group, resource.resource).subresources["status"];
    assert.ok(status, name);
    const labels = status.prepareForUpdate(next, old).metadata?.labels;
    // Only its resource is looked at.
    const fields = listResetFields({ resource } as Parameters<typeof listResetFields>[0], "status");
    const paths = fields.map((path) => path.join("."));
    const isReset = paths.includes("metadata") || paths.includes("metadata.labels");
    assert.equal(labels?.["a"], isReset ? "b" : "c", `${name} ${resource.version}`);
    assert.equal(isReset, !metadataMayChange.has(name), name);
    looked++;
  }
  assert.ok(looked > 25, `${looked} kinds`);
});

test("a pod's status endpoint takes a deletion time and owners, and leaves them as they were", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const metadata = { name: "a", deletionTimestamp: "2020-01-01T00:00:00Z", ownerReferences: [] };
    const body = { apiVersion: "v1", kind: "Pod", metadata, status: { message: "hello" } };
    const type = "application/apply-patch+yaml";
    const path = `${pods}/a/status?fieldManager=m`;
    const answer = await ask(plane, "PATCH", path, { body, type });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.metadata?.deletionTimestamp, undefined);
    assert.equal((answer.json["status"] as { message?: string }).message, "hello");
  }));

test("an eviction is taken in either of its versions", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const evict = (apiVersion: string) => {
      const deleteOptions = { dryRun: ["All"] };
      const body = { apiVersion, kind: "Eviction", metadata: { name: "a" }, deleteOptions };
      return ask(plane, "POST", `${pods}/a/eviction`, { body });
    };
    for (const version of ["policy/v1", "policy/v1beta1"])
      assert.equal((await evict(version)).status, 201, version);
    const refused = await evict("policy/v2");
    assert.equal(refused.status, 400);
    assert.match(refused.text, /policy\/v2/);
  }));

test("applying null over a value that another manager owns is a conflict", () =>
  withPlane(async (plane) => {
    const path = "/apis/batch/v1/namespaces/default/cronjobs";
    const container = { name: "c", image: "i" };
    const template = { spec: { containers: [container], restartPolicy: "Never" } };
    const spec = { schedule: "* * * * *", jobTemplate: { spec: { template } } };
    await ask(plane, "POST", path, { body: { metadata: { name: "a" }, spec } });
    const type = "application/apply-patch+yaml";
    const apply = (manager: string, lastScheduleTime: string | null, force = false) => {
      const status = { lastScheduleTime };
      const body = { apiVersion: "batch/v1", kind: "CronJob", metadata: { name: "a" }, status };
      const target = `${path}/a/status?fieldManager=${manager}&force=${force}`;
      return ask(plane, "PATCH", target, { body, type });
    };
    assert.equal((await apply("two", "2020-01-01T00:00:00Z")).status, 200);
    const refused = await apply("one", null);
    assert.equal(refused.status, 409);
    assert.match(statusOf(refused).message ?? "", /conflict with "two".*lastScheduleTime/);
    const forced = await apply("one", null, true);
    assert.equal(forced.status, 200);
    assert.deepEqual(forced.json["status"], {});
  }));
