/** Horizontal pod autoscalers: of which groups the objects are that they name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { onCreate } from "./testing/findings.ts";

const metric = { name: "queue_depth" };
const target = { type: "Value", value: "10" };

function findings(scaleTargetRef: object, describedObject: object): readonly string[] {
  const metrics = [{ type: "Object", object: { describedObject, metric, target } }];
  const spec = { scaleTargetRef, maxReplicas: 3, metrics };
  const metadata = { name: "web", namespace: "default" };
  const kind = "HorizontalPodAutoscaler";
  return onCreate(JSON.stringify({ apiVersion: "autoscaling/v2", kind, metadata, spec }));
}

const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

test("an Object metric may be of the core group", () => {
  for (const apiVersion of ["v1", "", undefined]) {
    assert.deepEqual(findings(deployment, { apiVersion, kind: "Service", name: "web" }), []);
  }
});

test("an Object metric names a kind and an object", () => {
  assert.deepEqual(findings(deployment, { apiVersion: "v1", kind: "", name: "a/b" }), [
    "spec.metrics[0].object.describedObject.kind: Required value",
    `spec.metrics[0].object.describedObject.name: Invalid value: "a/b": may not contain '/'`,
  ]);
});

test("what is scaled names its group, but for a ReplicationController", () => {
  const service = { apiVersion: "v1", kind: "Service", name: "web" };
  const controller = { ...service, kind: "ReplicationController" };
  for (const apiVersion of ["v1", ""]) {
    assert.deepEqual(findings({ ...controller, apiVersion }, service), []);
  }
  assert.deepEqual(findings(service, service), [
    'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
  ]);
});

test("an apiVersion has at most one slash", () => {
  const service = { apiVersion: "a/b/c", kind: "Service", name: "web" };
  const wrong = 'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c';
  assert.deepEqual(findings({ ...deployment, apiVersion: "a/b/c" }, service), [
    `spec.scaleTargetRef.${wrong}`,
    `spec.metrics[0].object.describedObject.${wrong}`,
  ]);
});
