/** Quotas under concurrency, conflicts, retries and abandonment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import type { ResourceQuota } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { formatQuantity } from "#api/values/quantity.ts";
import { usageOf } from "#api/quota-usage.ts";
import { conflict, conflictModified } from "#api/status.ts";
import { createAdmission } from "./chain.ts";
import { resourceQuota } from "./resource-quota.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

type Texts = Record<string, string>;

function quota(hard: Texts, used: Texts, name = "q", spec: object = {}): AnyObject {
  return {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name, namespace: "ns", resourceVersion: "1" },
    spec: { hard, ...spec },
    status: { hard, used },
  };
}

/** A status store with optimistic locking whose writes take a turn. */
function setup(...quotas: AnyObject[]) {
  const lookup = new FakeLookup(...quotas);
  const find = (name: string) =>
    lookup.get({ group: "", resource: "resourcequotas" }, "ns", name) as ResourceQuota;
  let writes = 0;
  const plugin = resourceQuota({
    lookup,
    clock: new FakeClock(),
    async updateQuota(next) {
      const name = next.metadata?.name ?? "";
      await Promise.resolve();
      const version = find(name).metadata?.resourceVersion;
      if (version !== next.metadata?.resourceVersion) {
        throw conflict({ group: "", resource: "resourcequotas" }, name, conflictModified);
      }
      writes += 1;
      const metadata = { ...next.metadata, resourceVersion: String(Number(version) + 1) };
      lookup.put({ ...next, metadata } as AnyObject);
    },
  });
  const admission = createAdmission([plugin]);
  const used = (name = "q") => find(name).status?.used;
  return { lookup, admission, used, writes: () => writes };
}

test("what does not fit is refused with upstream's text", async () => {
  const { admission, used } = setup(quota({ pods: "10" }, { pods: "10" }));
  assert.equal(
    await outcome(() => admission.validate(fakeRequest(pod()))),
    '403 pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10',
  );
  assert.deepEqual(used(), { pods: "10" });
});

test("of a crowd exactly as many pass as there is room for, with few status writes", async () => {
  const { admission, used, writes } = setup(quota({ pods: "10" }, { pods: "3" }));
  const crowd = Array.from({ length: 50 }, (_, index) =>
    outcome(() => admission.validate(fakeRequest(pod({}, { name: `p${index}` })))),
  );
  const outcomes = await Promise.all(crowd);
  assert.equal(outcomes.filter((text) => text === "admitted").length, 7);
  assert.deepEqual(used(), { pods: "10" });
  assert.ok(writes() <= 2, `${writes()} writes`);
});

test("another writer in between costs a retry, never a wrong count", async () => {
  const { admission, lookup, used } = setup(quota({ pods: "2" }, { pods: "0" }));
  const first = outcome(() => admission.validate(fakeRequest(pod())));
  const stolen = quota({ pods: "2" }, { pods: "1" });
  lookup.put({ ...stolen, metadata: { ...stolen.metadata, resourceVersion: "9" } });
  assert.equal(await first, "admitted");
  assert.deepEqual(used(), { pods: "2" });
  assert.match(await outcome(() => admission.validate(fakeRequest(pod()))), /exceeded quota/);
});

test("an abandoned write is taken off; a repeated validation is charged once", async () => {
  const { admission, used } = setup(quota({ pods: "2" }, { pods: "0" }));
  const request = fakeRequest(pod(), { attempt: {} });
  await admission.validate(request);
  await admission.validate({ ...request });
  assert.deepEqual(used(), { pods: "1" });
  await admission.unreserve(request);
  await settle();
  assert.deepEqual(used(), { pods: "0" });
  await admission.unreserve(request);
  await settle();
  assert.deepEqual(used(), { pods: "0" });
});

test("a dry run is checked and not charged", async () => {
  const { admission, used } = setup(quota({ pods: "1" }, { pods: "0" }));
  const request = fakeRequest(pod(), { dryRun: true });
  assert.equal(await outcome(() => admission.validate(request)), "admitted");
  assert.deepEqual(used(), { pods: "0" });
});

test("two quotas are charged together or not at all", async () => {
  const { admission, used } = setup(
    quota({ pods: "5" }, { pods: "0" }, "a"),
    quota({ "count/pods": "1" }, { "count/pods": "1" }, "b"),
  );
  assert.match(
    await outcome(() => admission.validate(fakeRequest(pod()))),
    /exceeded quota: b, requested: count\/pods=1, used: count\/pods=1, limited: count\/pods=1/,
  );
  assert.deepEqual(used("a"), { pods: "0" });
});

test("compute quotas oblige containers to say, and count what they say", async () => {
  const hard = { "requests.cpu": "2", "limits.memory": "2Gi" };
  const { admission, used } = setup(quota(hard, { "requests.cpu": "0", "limits.memory": "0" }));
  assert.equal(
    await outcome(() => admission.validate(fakeRequest(pod()))),
    '403 pods "p" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
  );
  const resources = { requests: { cpu: "1500m" }, limits: { memory: "1Gi" } };
  const sized = pod({ containers: [{ name: "c", resources }] });
  assert.equal(await outcome(() => admission.validate(fakeRequest(sized))), "admitted");
  assert.deepEqual(used(), { "requests.cpu": "1500m", "limits.memory": "1Gi" });
  assert.equal(
    await outcome(() => admission.validate(fakeRequest(sized))),
    '403 pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=1500m, limited: requests.cpu=2',
  );
});

test("a quota whose usage is not known yet refuses", async () => {
  const { admission } = setup(quota({ pods: "5", secrets: "1" }, {}));
  assert.match(
    await outcome(() => admission.validate(fakeRequest(pod()))),
    /status unknown for quota: q, resources: pods$/,
  );
});

test("scopes choose what a quota is about", async () => {
  const scoped = quota({ pods: "0" }, { pods: "0" }, "q", {
    scopeSelector: {
      matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
    },
  });
  const { admission } = setup(scoped);
  const check = (spec: object) => outcome(() => admission.validate(fakeRequest(pod(spec))));
  assert.equal(await check({ priorityClassName: "low" }), "admitted");
  assert.match(await check({ priorityClassName: "high" }), /exceeded quota/);
});

test("any resource can be counted; an update pays the difference", async () => {
  const { admission, used } = setup(
    quota({ "count/jobs.batch": "1" }, { "count/jobs.batch": "0" }, "jobs"),
    quota({ "services.nodeports": "2" }, { "services.nodeports": "1" }, "ports"),
  );
  const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j", namespace: "ns" } };
  assert.equal(await outcome(() => admission.validate(fakeRequest(job))), "admitted");
  assert.deepEqual(used("jobs"), { "count/jobs.batch": "1" });
  const service = (ports: object[]): AnyObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", namespace: "ns", resourceVersion: "5" },
    spec: { type: "NodePort", ports },
  });
  const grow = (count: number) =>
    outcome(() =>
      admission.validate(
        fakeRequest(service(Array.from({ length: count }, () => ({}))), {
          operation: "UPDATE",
          oldObject: service([{}]),
        }),
      ),
    );
  assert.equal(await grow(2), "admitted");
  assert.match(await grow(3), /requested: services.nodeports=2, used: services.nodeports=2/);
});

test("the controller's count agrees with what admission charges", async () => {
  const hard = { pods: "9", "requests.cpu": "9", "count/pods": "9", "requests.storage": "9Gi" };
  const q = quota(hard, {}) as ResourceQuota;
  const resources = { requests: { cpu: "250m" } };
  const running = pod({ containers: [{ name: "c", resources }] });
  const done = { ...running, status: { phase: "Succeeded" } };
  const claim = { spec: { resources: { requests: { storage: "1.5Gi" } } } };
  const objects: Record<string, AnyObject[]> = {
    pods: [running, running, done],
    persistentvolumeclaims: [claim],
  };
  const used = usageOf(q, ({ resource }) => objects[resource] ?? [], 0);
  const texts = Object.entries(used).map(([name, amount]) => [name, formatQuantity(amount)]);
  assert.deepEqual(Object.fromEntries(texts), {
    pods: "2",
    "requests.cpu": "500m",
    "count/pods": "3",
    "requests.storage": "1536Mi",
  });
});
