/** AppArmor annotations, as a stock API server 1.36.3 answers the same pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { onCreate, onUpdate } from "./testing/findings.ts";

const prefix = "container.apparmor.security.beta.kubernetes.io";

function pod(annotations: Readonly<Record<string, string>>, container = ""): string {
  const metadata = { name: "p", namespace: "default", annotations };
  return `{apiVersion: v1, kind: Pod, metadata: ${JSON.stringify(metadata)},
    spec: {containers: [{name: c, image: i${container}}]}}`;
}

const profile = (value: string, container = "c"): Readonly<Record<string, string>> => ({
  [`${prefix}/${container}`]: value,
});
const at = (container = "c"): string => `metadata.annotations[${prefix}/${container}]`;

test("an AppArmor annotation names a container of the pod and a profile of a known form", () => {
  for (const value of ["", "unconfined", "runtime/default", "localhost/x", "localhost/"]) {
    assert.deepEqual(onCreate(pod(profile(value))), [], value);
  }
  assert.deepEqual(onCreate(pod(profile("nonsense"))), [
    `${at()}: Invalid value: "nonsense": invalid AppArmor profile name: "nonsense"`,
  ]);
  assert.deepEqual(onCreate(pod(profile("unconfined", "d"))), [
    `${at("d")}: Invalid value: "d": container not found`,
  ]);
});

test("an AppArmor annotation is neither added nor changed nor removed on a pod that is there", () => {
  // The field is copied from the annotation when the pod is made, so a replacement says it, too.
  const field = ", securityContext: {appArmorProfile: {type: Unconfined}}";
  const [without, unconfined] = [pod({}, field), pod(profile("unconfined"), field)];
  for (const door of [undefined, "status"]) {
    assert.deepEqual(onUpdate(without, unconfined, door), [
      `${at()}: Forbidden: may not add AppArmor annotations`,
    ]);
    for (const next of [pod(profile("runtime/default"), field), without]) {
      assert.deepEqual(onUpdate(unconfined, next, door), [
        `${at()}: Forbidden: may not remove or update AppArmor annotations`,
      ]);
    }
  }
  assert.deepEqual(onUpdate(unconfined, pod({ ...profile("unconfined"), x: "y" }, field)), []);
  assert.deepEqual(onUpdate(without, pod(profile("nonsense", "z"), field)), [
    `${at("z")}: Invalid value: "z": container not found`,
    `${at("z")}: Invalid value: "nonsense": invalid AppArmor profile name: "nonsense"`,
    `${at("z")}: Forbidden: may not add AppArmor annotations`,
  ]);
});

test("an AppArmor annotation and the field of its container say the same", () => {
  const field = (text: string): string => `, securityContext: {appArmorProfile: {${text}}}`;
  const path = "spec.containers[0].securityContext.appArmorProfile";
  const runtime = field("type: RuntimeDefault");
  assert.deepEqual(onCreate(pod(profile("runtime/default"), runtime)), []);
  assert.deepEqual(onCreate(pod(profile("unconfined"), runtime)), [
    `${path}.type: Forbidden: apparmor type in annotation and field must match`,
  ]);
  const local = field("type: Localhost, localhostProfile: z");
  assert.deepEqual(onCreate(pod(profile("localhost/z"), local)), []);
  assert.deepEqual(onCreate(pod(profile("localhost/y"), local)), [
    `${path}.localhostProfile: Forbidden: apparmor profile in annotation and field must match`,
  ]);
});

test("a template's AppArmor annotations are held to the same form", () => {
  const annotations = JSON.stringify(profile("nonsense", "none"));
  const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: default},
    spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, annotations: ${annotations}},
    spec: {containers: [{name: c, image: i}]}}}}`;
  const key = `spec.template.annotations[${prefix}/none]`;
  assert.deepEqual(onCreate(deployment), [
    `${key}: Invalid value: "none": container not found`,
    `${key}: Invalid value: "nonsense": invalid AppArmor profile name: "nonsense"`,
  ]);
});
