/** Plugins that the operator configures, the two that judge updates by a pod's node, and what faults a configuration has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { eventRateLimit } from "./event-rate-limit.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { nodeDeclaredFeatures, podResizeValidator } from "./pod-resize.ts";
import { podSecurity } from "./pod-security.ts";
import { podTolerationRestriction } from "./pod-toleration-restriction.ts";
import { resourceQuota } from "./resource-quota.ts";
import { settingsReaders } from "./settings.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

function namespace(annotations: Record<string, string> = {}, labels = {}): AnyObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns", annotations, labels } };
}

function event(name = "e", namespaceName = "ns", involved = {}): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: namespaceName },
    involvedObject: { kind: "Pod", name: "p", ...involved },
    source: { component: "kubelet", host: "h" },
  };
}

const read = (plugin: string, value: unknown) => {
  const reader = settingsReaders[plugin];
  assert.ok(reader);
  return reader(value);
};

test("EventRateLimit refuses beyond the burst, with upstream's text, and refills by its rate", async () => {
  const clock = new FakeClock();
  const plugin = eventRateLimit({ clock }, [
    { type: "Namespace", qps: 2, burst: 3, cacheSize: 0 },
    { type: "User", qps: 1, burst: 5, cacheSize: 0 },
  ]);
  const send = (name = "ns", over = {}): Promise<string> =>
    outcome(() => plugin.validate?.(fakeRequest(event("e", name), over)));
  for (let at = 0; at < 3; at++) assert.equal(await send(), "admitted");
  const ofNamespace = "limit reached on type Namespace for key ns";
  assert.equal(await send(), `429 Too many requests: ${ofNamespace}`);
  assert.equal(await send("ns", { dryRun: true }), "admitted");
  // Every limit pays, also for what another one refuses.
  assert.equal(await send("other"), "admitted");
  const ofUser = "limit reached on type User for key jane";
  assert.equal(await send(), `429 Too many requests: [${ofNamespace}, ${ofUser}]`);
  await clock.advance(1_000);
  assert.equal(await send(), "admitted");
  assert.equal(await send(), `429 Too many requests: ${ofUser}`);
  const pods = fakeRequest(pod());
  assert.equal(await outcome(() => plugin.validate?.(pods)), "admitted");
});

test("EventRateLimit forgets the bucket that was used longest ago, and no clock gives more than the burst", async () => {
  let nowMs = 1_000_000;
  const clock = Object.assign(new FakeClock(), { monotonicMs: () => nowMs });
  const limit = { type: "SourceAndObject", qps: 1, burst: 1, cacheSize: 2 } as const;
  const plugin = eventRateLimit({ clock }, [limit]);
  const send = (name: string): Promise<string> =>
    outcome(() => plugin.validate?.(fakeRequest(event("e", "ns", { name }))));
  const refusal = (name: string): string =>
    `429 Too many requests: limit reached on type SourceAndObject for key kubelethPod${name}`;
  assert.equal(await send("a"), "admitted");
  assert.equal(await send("b"), "admitted");
  assert.equal(await send("a"), refusal("a"));
  assert.equal(await send("c"), "admitted");
  assert.equal(await send("a"), refusal("a"));
  assert.equal(await send("b"), "admitted");
  nowMs -= 500_000;
  assert.equal(await send("b"), refusal("b"));
  nowMs += 10 ** 12;
  assert.equal(await send("b"), "admitted");
  assert.equal(await send("b"), refusal("b"));
});

const tolerate = (key: string, more = {}): object => ({ key, operator: "Exists", ...more });

test("PodTolerationRestriction gives a namespace's tolerations, or else the operator's", async () => {
  const settings = { default: [tolerate("cluster")], whitelist: [] };
  const mutated = async (lookup: FakeLookup, spec = {}): Promise<unknown> => {
    const plugin = podTolerationRestriction({ lookup }, settings);
    const made = (await plugin.mutate?.(fakeRequest(pod(spec)))) as AnyObject;
    return (made["spec"] as { tolerations?: unknown }).tolerations;
  };
  assert.deepEqual(await mutated(new FakeLookup(namespace())), [tolerate("cluster")]);
  const own = "scheduler.alpha.kubernetes.io/defaultTolerations";
  const text = JSON.stringify([tolerate("own")]);
  assert.deepEqual(await mutated(new FakeLookup(namespace({ [own]: text }))), [tolerate("own")]);
  assert.equal(await mutated(new FakeLookup(namespace({ [own]: "" }))), undefined);
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
  const narrow = tolerate("own", { effect: "NoSchedule" });
  assert.deepEqual(
    await mutated(new FakeLookup(namespace({ [own]: text })), {
      containers,
      tolerations: [narrow],
    }),
    [tolerate("own"), tolerate("node.kubernetes.io/memory-pressure", { effect: "NoSchedule" })],
  );
});

test("PodTolerationRestriction refuses what no whitelist covers, and texts that are no tolerations", async () => {
  const allowed = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
  const answer = (annotations: Record<string, string>, ...tolerations: object[]) => {
    const lookup = new FakeLookup(namespace(annotations));
    const settings = { default: [], whitelist: [tolerate("a")] };
    const plugin = podTolerationRestriction({ lookup }, settings);
    return outcome(() => plugin.validate?.(fakeRequest(pod({ tolerations }))));
  };
  const what = "500 pod tolerations (possibly merged with namespace default tolerations)";
  assert.equal(await answer({}, tolerate("a")), "admitted");
  assert.equal(await answer({}, tolerate("b")), `${what} conflict with its cluster whitelist`);
  const list = JSON.stringify([{ key: "k", operator: "Equal", value: "v" }]);
  const equal = { key: "k", operator: "Equal", value: "v", effect: "NoExecute" };
  assert.equal(await answer({ [allowed]: list }, equal), "admitted");
  assert.equal(
    await answer({ [allowed]: list }, { ...equal, value: "w" }),
    `${what} conflict with its namespace whitelist`,
  );
  assert.equal(await answer({ [allowed]: "" }, tolerate("b")), "admitted");
  const forever = tolerate("k", { effect: "NoExecute" });
  const limited = JSON.stringify([{ ...forever, tolerationSeconds: 5 }]);
  assert.equal(
    await answer({ [allowed]: limited }, { ...forever, tolerationSeconds: 4 }),
    "admitted",
  );
  assert.match(await answer({ [allowed]: limited }, forever), /namespace whitelist$/);
  for (const bad of ["{", "{}", "[1]", '[{"key":1}]', '[{"tolerationSeconds":"x"}]'])
    assert.match(await answer({ [allowed]: bad }, tolerate("a")), /^500 /);
  const many = Array.from({ length: 2_001 }, () => tolerate("a"));
  assert.match(await answer({}, ...many), /^403 .*the pod has more than 2000 tolerations$/);
});

test("PodNodeSelector takes the operator's selector where a namespace has none, and its list of what is allowed", async () => {
  const settings = read("PodNodeSelector", {
    podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "a=b", ns: "a=b,c=d" },
  });
  const plugin = podNodeSelector({ lookup: new FakeLookup(namespace()) }, settings.nodeSelectors);
  const made = (await plugin.mutate?.(fakeRequest(pod({ nodeSelector: { c: "d" } })))) as AnyObject;
  assert.deepEqual((made["spec"] as { nodeSelector?: object }).nodeSelector, { a: "b", c: "d" });
  assert.equal(await outcome(() => plugin.validate?.(fakeRequest(made))), "admitted");
  assert.equal(
    await outcome(() => plugin.validate?.(fakeRequest(pod({ nodeSelector: { e: "f" } })))),
    '403 pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  );
});

test("PodSecurity begins with the operator's defaults and leaves exempt users, namespaces and classes alone", async () => {
  const value = (exemptions: object): unknown => ({
    apiVersion: "pod-security.admission.config.k8s.io/v1",
    kind: "PodSecurityConfiguration",
    defaults: { enforce: "baseline", "enforce-version": "v1.30" },
    exemptions,
  });
  const answer = (exemptions = {}, labels = {}, spec = {}): Promise<string> => {
    const { podSecurity: settings } = read("PodSecurity", value(exemptions));
    const plugin = podSecurity({ lookup: new FakeLookup(namespace({}, labels)) }, settings);
    return outcome(() => plugin.validate?.(fakeRequest(pod({ hostNetwork: true, ...spec }))));
  };
  assert.equal(
    await answer(),
    '403 pods "p" is forbidden: violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)',
  );
  assert.equal(
    await answer({}, { "pod-security.kubernetes.io/enforce": "privileged" }),
    "admitted",
  );
  assert.equal(await answer({ namespaces: ["ns"] }), "admitted");
  assert.equal(await answer({ usernames: ["jane"] }), "admitted");
  assert.equal(await answer({ runtimeClasses: ["k"] }, {}, { runtimeClassName: "k" }), "admitted");
  assert.match(
    await answer({ namespaces: ["x"], usernames: ["x"], runtimeClasses: ["x"] }),
    /^403/,
  );
  const plugin = podSecurity(
    { lookup: new FakeLookup() },
    read("PodSecurity", value({ namespaces: ["ns"] })).podSecurity,
  );
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  const request = fakeRequest(namespace({}, labels), { namespace: "ns" });
  void plugin.validate?.(request);
  assert.deepEqual(request.warnings, [
    'namespace "ns" is exempt from Pod Security, and the policy (enforce=restricted:v1.30) will be ignored',
  ]);
});

test("ResourceQuota refuses what the operator limits and no quota covers", async () => {
  const { limitedResources = [] } = read("ResourceQuota", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "ResourceQuotaConfiguration",
    limitedResources: [{ resource: "pods", matchContains: ["requests.cpu"] }],
  });
  const quota = (hard: object): AnyObject => ({
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q", namespace: "ns" },
    status: { hard, used: hard },
  });
  const answer = (lookup: FakeLookup, spec = {}): Promise<string> => {
    const clock = new FakeClock();
    const updateQuota = async (): Promise<void> => undefined;
    const plugin = resourceQuota({ lookup, clock, updateQuota, limitedResources });
    return outcome(() => plugin.validate?.(fakeRequest(pod(spec))));
  };
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
  assert.equal(await answer(new FakeLookup()), "admitted");
  const refusal = '403 pods "p" is forbidden: insufficient quota to consume: requests.cpu';
  assert.equal(await answer(new FakeLookup(), { containers }), refusal);
  assert.equal(await answer(new FakeLookup(quota({ secrets: "1" })), { containers }), refusal);
  assert.match(
    await answer(new FakeLookup(quota({ "requests.cpu": "1" })), { containers }),
    /exceeded quota: q/,
  );
});

function resized(requests: object, more: object = {}): AnyObject {
  const containers = [{ name: "c", image: "i", resources: { requests } }];
  return pod({ nodeName: "n", containers, ...more }, { generation: 2 });
}

function node(more: object = {}): AnyObject {
  const status = { allocatable: { cpu: "2", memory: "1Gi" }, ...more };
  const labels = { "kubernetes.io/os": "linux" };
  return { apiVersion: "v1", kind: "Node", metadata: { name: "n", labels }, status };
}

const resize = {
  operation: "UPDATE",
  subresource: "resize",
  oldObject: pod({ nodeName: "n" }, { generation: 1 }),
} as const;

test("PodResizeValidator refuses what the pod's node cannot have, with upstream's texts and causes", async () => {
  const answer = (object: AnyObject, ...nodes: AnyObject[]): Promise<string> => {
    const plugin = podResizeValidator({ lookup: new FakeLookup(...nodes) });
    return outcome(() => plugin.validate?.(fakeRequest(object, resize)));
  };
  const forbidden = '403 pods "p" is forbidden:';
  assert.equal(await answer(resized({ cpu: "2", memory: "1Gi" }), node()), "admitted");
  assert.equal(
    await answer(resized({ cpu: "2500m", memory: "2Gi" }), node()),
    `${forbidden} node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824`,
  );
  assert.equal(await answer(resized({})), `${forbidden} node "n" not found`);
  const labels = { "kubernetes.io/os": "windows" };
  const windows = { ...node(), metadata: { name: "n", labels } };
  assert.equal(
    await answer(resized({}), windows),
    `${forbidden} pod resize is only supported on linux nodes, node "n" is "windows"`,
  );
  const same = { ...resized({ cpu: "9" }), metadata: resize.oldObject.metadata ?? {} };
  assert.equal(await answer(same), "admitted");
  const plugin = podResizeValidator({ lookup: new FakeLookup(node()) });
  assert.throws(
    () => plugin.validate?.(fakeRequest(resized({ cpu: "9" }), resize)),
    (error: { status?: { details?: { causes?: unknown } } }) => {
      assert.deepEqual(error.status?.details?.causes, [{ reason: "NodeCapacity" }]);
      return true;
    },
  );
});

test("NodeDeclaredFeatureValidator refuses updates that need what the node does not declare", async () => {
  const answer = (object: AnyObject, declared: object, subresource = "resize"): Promise<string> => {
    const plugin = nodeDeclaredFeatures({ lookup: new FakeLookup(node(declared)) });
    return outcome(() => plugin.validate?.(fakeRequest(object, { ...resize, subresource })));
  };
  const whole = resized({}, { resources: { requests: { cpu: "1" } } });
  const feature = "InPlacePodLevelResourcesVerticalScaling";
  assert.equal(
    await answer(whole, {}),
    `403 pods "p" is forbidden: pod update requires features ${feature} which are not available on node "n"`,
  );
  assert.equal(await answer(whole, { declaredFeatures: ["Other", feature] }), "admitted");
  assert.equal(await answer(whole, {}, "status"), "admitted");
  assert.equal(await answer(resized({ cpu: "1" }), {}), "admitted");
});

test("a configuration with a fault is refused with upstream's text", () => {
  const limits = (each: object[]): unknown => ({
    apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
    kind: "Configuration",
    limits: each,
  });
  const faults: readonly (readonly [string, unknown, string])[] = [
    ["EventRateLimit", undefined, "limits: Invalid value: null: must not be empty"],
    ["EventRateLimit", {}, "Object 'Kind' is missing in '{}'"],
    ["EventRateLimit", { kind: "X" }, `Object 'apiVersion' is missing in '{"kind":"X"}'`],
    [
      "EventRateLimit",
      { kind: "X", apiVersion: "v1" },
      'no kind "X" is registered for version "v1"',
    ],
    [
      "EventRateLimit",
      limits([{ type: "Server", qps: 0, burst: -1 }]),
      "[limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive]",
    ],
    [
      "EventRateLimit",
      limits([{ type: "User", qps: 1, burst: 1, cacheSize: -1 }]),
      "limits[0].cacheSize: Invalid value: -1: must not be negative",
    ],
    [
      "EventRateLimit",
      limits([{ type: "Server", qps: 1.5, burst: 1 }]),
      "json: cannot unmarshal number into field limits[0].qps of type int32",
    ],
    [
      "PodSecurity",
      {
        apiVersion: "pod-security.admission.config.k8s.io/v1",
        kind: "PodSecurityConfiguration",
        defaults: { enforce: "x" },
        exemptions: { usernames: ["", "a", "a"] },
      },
      '[defaults.enforce: Invalid value: "x": must be one of privileged, baseline, restricted, exemptions.usernames[0]: Invalid value: "": username must not be empty, exemptions.usernames[2]: Duplicate value: "a"]',
    ],
    [
      "PodTolerationRestriction",
      {
        apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        default: [{ key: "a", operator: "Exists", value: "v" }],
      },
      "invalid config: podtolerationrestriction.default[0].operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'",
    ],
  ];
  for (const [plugin, value, message] of faults)
    assert.throws(() => read(plugin, value), { name: "SettingsError", message });
});
