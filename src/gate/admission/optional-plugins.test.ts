/** The plugins that are off unless they are enabled, PodTopologyLabels, and which plugins run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { alwaysPullImages } from "./always-pull-images.ts";
import { createAdmission } from "./chain.ts";
import { extendedResourceToleration } from "./extended-resource-toleration.ts";
import { ownerReferences } from "./owner-references.ts";
import { choiceFault, chosenPlugins } from "./plugin-choice.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { denyServiceExternalIPs } from "./service-external-ips.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

/** Mutates twice: the second time changes nothing. */
async function mutated(
  plugin: AdmissionPlugin,
  object: AnyObject,
  over: Partial<AdmissionRequest> = {},
): Promise<AnyObject> {
  const admission = createAdmission([plugin]);
  const once = await admission.mutate(fakeRequest(object, over));
  assert.equal(await admission.mutate(fakeRequest(once, over)), once);
  return once;
}

test("AlwaysPullImages sets every policy, and refuses one that was changed back", async () => {
  const volumes = [{ name: "v", image: { reference: "r", pullPolicy: "Never" } }];
  const input = pod({ initContainers: [{ name: "a", image: "x" }], volumes });
  const { spec } = (await mutated(alwaysPullImages, input)) as {
    spec?: Record<string, { imagePullPolicy?: string; image?: { pullPolicy?: string } }[]>;
  };
  assert.equal(spec?.["containers"]?.[0]?.imagePullPolicy, "Always");
  assert.equal(spec?.["initContainers"]?.[0]?.imagePullPolicy, "Always");
  assert.equal(spec?.["volumes"]?.[0]?.image?.pullPolicy, "Always");
  assert.throws(
    () => alwaysPullImages.validate?.(fakeRequest(pod())),
    /^Error: pods "p" is forbidden: spec\.containers\[0\]\.imagePullPolicy: Unsupported value: "": supported values: "Always"$/,
  );
  const update = { operation: "UPDATE", oldObject: pod() } as const;
  assert.equal(await mutated(alwaysPullImages, input, { ...update, oldObject: input }), input);
});

test("ExtendedResourceToleration tolerates the taint of each device that is requested", async () => {
  const requests = { cpu: "1", "example.com/b": "1", "example.com/a": "1", "x.kubernetes.io/y": 1 };
  const object = pod({ containers: [{ name: "c", image: "i", resources: { requests } }] });
  const { spec } = (await mutated(extendedResourceToleration, object)) as { spec?: object };
  assert.deepEqual((spec as { tolerations?: unknown } | undefined)?.tolerations, [
    { key: "example.com/a", operator: "Exists", effect: "NoSchedule" },
    { key: "example.com/b", operator: "Exists", effect: "NoSchedule" },
  ]);
});

test("PodNodeSelector adds the namespace's selector and refuses what contradicts it", async () => {
  const annotations = { "scheduler.alpha.kubernetes.io/node-selector": "env=test,disk=fast" };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns", annotations } };
  const plugin = podNodeSelector({ lookup: new FakeLookup(namespace) });
  const { spec } = await mutated(plugin, pod({ nodeSelector: { own: "x" } }));
  assert.deepEqual((spec as { nodeSelector?: object }).nodeSelector, {
    env: "test",
    disk: "fast",
    own: "x",
  });
  assert.equal(
    await outcome(() => mutated(plugin, pod({ nodeSelector: { env: "production" } }))),
    '403 pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
  );
});

test("PodTopologyLabels copies zone and region of the node to a binding", async () => {
  const labels = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" };
  const more = { ...labels, "kubernetes.io/hostname": "n" };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n", labels: more } };
  const plugin = podTopologyLabels({ lookup: new FakeLookup(node) });
  const binding = {
    ...pod(),
    kind: "Pod",
    target: { kind: "Node", name: "n" },
  };
  const bound = await mutated(plugin, binding, { subresource: "binding" });
  assert.deepEqual(bound.metadata?.labels, labels);
  const made = await mutated(plugin, pod({ nodeName: "n" }));
  assert.deepEqual(made.metadata?.labels, labels);
  const free = pod();
  assert.equal(await mutated(plugin, free), free);
});

test("DenyServiceExternalIPs refuses new addresses and keeps old ones", async () => {
  const admission = createAdmission([denyServiceExternalIPs]);
  const service = (...externalIPs: readonly string[]): AnyObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", namespace: "ns" },
    spec: { externalIPs },
  });
  const refused =
    '403 services "s" is forbidden: Use of external IPs is denied by admission control';
  const oldObject = service("1.2.3.4");
  const tried = [
    fakeRequest(service("1.2.3.4")),
    fakeRequest(service("1.2.3.4"), { operation: "UPDATE", oldObject }),
    fakeRequest(service("1.2.3.5"), { operation: "UPDATE", oldObject }),
    fakeRequest(service()),
  ];
  const answers = await Promise.all(tried.map((one) => outcome(() => admission.validate(one))));
  assert.deepEqual(answers, [refused, "admitted", refused, "admitted"]);
});

test("OwnerReferencesPermissionEnforcement asks for the right to delete, and to block the owner", async () => {
  const allowed = new Set<string>();
  const access = {
    isAllowed: (question: { verb: string; resource: string; subresource?: string }) =>
      allowed.has(`${question.verb} ${question.resource}/${question.subresource ?? ""}`),
    escalation: () => undefined,
  };
  const admission = createAdmission([ownerReferences({ access, served: builtinResources })]);
  const owned = (more: object = {}): AnyObject => {
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", ...more };
    return pod({}, { ownerReferences: [owner] });
  };
  const update = { operation: "UPDATE", oldObject: pod() } as const;
  const ask = (object: AnyObject, over: Partial<AdmissionRequest> = {}): Promise<string> =>
    outcome(() => admission.validate(fakeRequest(object, over)));
  assert.equal(await ask(owned()), "admitted");
  assert.equal(
    await ask(owned(), update),
    `403 pods "p" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>`,
  );
  allowed.add("delete pods/");
  assert.equal(await ask(owned(), update), "admitted");
  const blocking = owned({ blockOwnerDeletion: true });
  assert.match(await ask(blocking), /refers to a resource you can't set finalizers on: , <nil>$/);
  assert.match(
    await ask(owned({ blockOwnerDeletion: true, kind: "None" })),
    /cannot find RESTMapping for APIVersion apps\/v1 Kind None: no matches for kind "None" in version "apps\/v1"$/,
  );
  allowed.add("update replicasets/finalizers");
  assert.equal(await ask(blocking), "admitted");
});

test("flags choose plugins by name; unknown names are upstream's errors", () => {
  const plugins = ["UnservedKinds", "Priority", "AlwaysPullImages"].map((name) => ({ name }));
  const names = (enable: readonly string[], disable: readonly string[]): readonly string[] =>
    chosenPlugins(plugins, { enable, disable }).map(({ name }) => name);
  assert.deepEqual(names([], []), ["UnservedKinds", "Priority"]);
  assert.deepEqual(names(["AlwaysPullImages"], ["Priority"]), [
    "UnservedKinds",
    "AlwaysPullImages",
  ]);
  assert.deepEqual(names([], ["UnservedKinds"]), ["UnservedKinds", "Priority"]);
  const fault = (enable: readonly string[], disable: readonly string[] = []): string | undefined =>
    choiceFault({ enable, disable });
  assert.equal(fault(["X"]), 'enable-admission-plugins plugin "X" is unknown');
  assert.equal(
    fault([], ["UnservedKinds"]),
    'disable-admission-plugins plugin "UnservedKinds" is unknown',
  );
  assert.equal(
    fault(["Priority"], ["Priority"]),
    "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
  );
  assert.equal(
    fault(["ImagePolicyWebhook"]),
    'enable-admission-plugins plugin "ImagePolicyWebhook" is not served here',
  );
  assert.equal(fault(["AlwaysPullImages"], ["ImagePolicyWebhook"]), undefined);
});
