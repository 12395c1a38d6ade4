/** Every resource has a strategy, and the strategies do what upstream's do. */
import { test } from "node:test";
import assert from "node:assert/strict";
import type { AnyObject } from "../object.ts";
import { builtinResources } from "../schema/resources.ts";
import { listDescribedResources, strategyFor } from "./strategies.ts";
import { ruleTable } from "../validation/table.ts";
import { created, read } from "../validation/testing/findings.ts";

const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: default}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`;

test("Every built-in resource has a row, and no rule is for a resource that is none", () => {
  const described = new Set(listDescribedResources());
  const missing = builtinResources()
    .map((info) => `${info.group}/${info.resource}`)
    .filter((name) => !described.has(name));
  assert.deepEqual([...new Set(missing)], []);
  assert.deepEqual(
    Object.keys(ruleTable).filter((name) => !described.has(name)),
    [],
  );
});

test("Every status that is served is written by rules of its own", () => {
  const without = builtinResources()
    .filter((info) => info.subresources.some((each) => each.name === "status"))
    .filter((info) => !("status" in strategyFor(info.group, info.resource).subresources))
    .map((info) => `${info.group}/${info.resource}`);
  assert.deepEqual(without, []);
});

test("Preparation is pure: what comes in is as it was", () => {
  const object = read(web);
  const before = structuredClone(object);
  const strategy = strategyFor("apps", "deployments");
  const made = strategy.prepareForCreate(object);
  strategy.prepareForUpdate(object, made);
  strategy.subresources["status"]?.prepareForUpdate(object, made);
  assert.deepEqual(object, before);
});

test("A create starts at generation 1 with the server's status", () => {
  const made = created(web.replace("spec:", "status: {replicas: 9}, spec:"));
  assert.equal(made.metadata?.generation, 1);
  assert.deepEqual(made["status"], {});
});

test("A changed spec counts a generation, equal specs written differently do not", () => {
  const strategy = strategyFor("apps", "deployments");
  const old = created(web);
  const same = strategy.prepareForUpdate(read(web), old);
  assert.equal(same.metadata?.generation, 1);
  const next = read(web.replace("selector:", "replicas: 3, selector:"));
  assert.equal(strategy.prepareForUpdate(next, old).metadata?.generation, 2);
});

test("An update keeps the status, a status write keeps the spec", () => {
  const strategy = strategyFor("apps", "deployments");
  const old: AnyObject = { ...created(web), status: { replicas: 1 } };
  const next: AnyObject = { ...read(web), spec: { replicas: 5 }, status: { replicas: 2 } };
  assert.deepEqual(strategy.prepareForUpdate(next, old)["status"], { replicas: 1 });
  const reported = strategy.subresources["status"]?.prepareForUpdate(next, old);
  assert.deepEqual(reported?.["status"], { replicas: 2 });
  assert.deepEqual(reported?.["spec"], old["spec"]);
  assert.equal(reported?.metadata?.generation, 1);
});

const pod = (spec: string): string =>
  `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, ${spec}}]}}`;

const classes: readonly (readonly [string, string])[] = [
  ["", "BestEffort"],
  ["resources: {requests: {cpu: 1}}", "Burstable"],
  ["resources: {limits: {cpu: 1, memory: 1Gi}}", "Guaranteed"],
];

for (const [spec, expected] of classes) {
  test(`A new pod with {${spec}} is Pending and ${expected}`, () => {
    assert.deepEqual(created(pod(spec))["status"], { phase: "Pending", qosClass: expected });
  });
}

test("A pod gets the grace it asks for while it runs somewhere, and none before or after", () => {
  const strategy = strategyFor("", "pods");
  const grace = (object: AnyObject, wish?: number) => strategy.gracePeriodSeconds(object, wish);
  const running = created(pod("").replace("containers:", "nodeName: n, containers:"));
  assert.equal(grace(running), 30);
  assert.equal(grace(running, 5), 5);
  assert.equal(grace(created(pod(""))), 0);
  const finished: AnyObject = { ...running, status: { phase: "Succeeded" } };
  assert.equal(grace(finished), 0);
});

test("A job selects its pods by its uid", () => {
  const job = created(
    "{apiVersion: batch/v1, kind: Job, metadata: {name: j, uid: u}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}",
  );
  const spec = job["spec"] as { selector: unknown; template: { metadata: { labels: unknown } } };
  assert.deepEqual(spec.selector, { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } });
  assert.deepEqual(spec.template.metadata.labels, {
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "job-name": "j",
  });
});

test("A job without labels has those of its template, generated ones too; with labels it keeps its own", () => {
  const spec =
    "spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}";
  const job = (metadata: string): AnyObject =>
    created(`{apiVersion: batch/v1, kind: Job, metadata: {name: j, uid: u${metadata}}, ${spec}}`);
  const generated = {
    "job-name": "j",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "batch.kubernetes.io/controller-uid": "u",
  };
  assert.deepEqual(job("").metadata?.labels, { ...generated, a: "b" });
  assert.deepEqual(job(", labels: {a: b}").metadata?.labels, { a: "b" });
  assert.deepEqual(job(", labels: {x: y}").metadata?.labels, { x: "y" });
});

test("A namespace starts active and is held by the one who empties it", () => {
  const made = created("{apiVersion: v1, kind: Namespace, metadata: {name: n}}");
  assert.deepEqual(made["spec"], { finalizers: ["kubernetes"] });
  assert.deepEqual(made["status"], { phase: "Active" });
  const freed: AnyObject = { ...made, spec: {} };
  const strategy = strategyFor("", "namespaces");
  assert.deepEqual(strategy.prepareForUpdate(freed, made)["spec"], made["spec"]);
  const finalized = strategy.subresources["finalize"]?.prepareForUpdate(freed, made);
  assert.deepEqual(finalized?.["spec"], {});
});

const service = (spec: string): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {${spec}}}`;

test("A service keeps its address and node ports when a client leaves them out", () => {
  const strategy = strategyFor("", "services");
  const old = created(
    service("type: NodePort, clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30080}]"),
  );
  const kept = strategy.prepareForUpdate(read(service("type: NodePort, ports: [{port: 80}]")), old);
  const spec = kept["spec"] as { clusterIP: string; clusterIPs: unknown; ports: object[] };
  assert.equal(spec.clusterIP, "10.0.0.1");
  assert.deepEqual(spec.clusterIPs, ["10.0.0.1"]);
  assert.deepEqual(spec.ports, [{ port: 80, protocol: "TCP", targetPort: 80, nodePort: 30_080 }]);
});

test("A service that turns into an external name gives its address back", () => {
  const old = created(service("clusterIP: 10.0.0.1, ports: [{port: 80}]"));
  const next: AnyObject = {
    ...old,
    spec: { ...(old["spec"] as object), type: "ExternalName", externalName: "a.example" },
  };
  const spec = strategyFor("", "services").prepareForUpdate(next, old)["spec"] as object;
  assert.ok(!("clusterIP" in spec) && !("clusterIPs" in spec));
});

const flags: readonly (readonly [string, string, boolean, boolean, "Background" | "Orphan"])[] = [
  ["", "pods", false, true, "Background"],
  ["", "endpoints", true, true, "Background"],
  ["", "replicationcontrollers", false, true, "Orphan"],
  ["batch", "jobs", false, true, "Orphan"],
  ["apps", "deployments", false, true, "Background"],
  ["coordination.k8s.io", "leases", true, false, "Background"],
  ["rbac.authorization.k8s.io", "roles", true, true, "Background"],
  ["policy", "poddisruptionbudgets", false, false, "Background"],
];

for (const [group, resource, creates, unconditional, propagation] of flags) {
  test(`${resource} are created, overwritten and orphaned by default as upstream does`, () => {
    const strategy = strategyFor(group, resource);
    assert.equal(strategy.allowCreateOnUpdate, creates);
    assert.equal(strategy.allowUnconditionalUpdate, unconditional);
    assert.equal(strategy.defaultPropagation, propagation);
  });
}

test("A resource nobody described has a strategy that asks for nothing", () => {
  const strategy = strategyFor("example.com", "foos");
  const object: AnyObject = { apiVersion: "example.com/v1", kind: "Foo", metadata: { name: "f" } };
  assert.deepEqual(strategy.validate(object), []);
  assert.equal(strategy.prepareForCreate(object), object);
});

test("a local APIService is available from its creation, another one is not yet", () => {
  const strategy = strategyFor("apiregistration.k8s.io", "apiservices");
  const make = (spec: object): unknown =>
    strategy.prepareForCreate({
      metadata: { name: "v1.example.com", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec,
      status: { conditions: [{ type: "Available", status: "True", reason: "Mine" }] },
    } as AnyObject)["status"];
  assert.deepEqual(make({}), {
    conditions: [
      {
        type: "Available",
        status: "True",
        lastTransitionTime: "2026-01-01T00:00:00Z",
        reason: "Local",
        message: "Local APIServices are always available",
      },
    ],
  });
  assert.deepEqual(make({ service: { name: "s", namespace: "n" } }), {});
});
