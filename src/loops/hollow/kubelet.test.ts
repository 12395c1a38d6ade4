/** What a kubelet does with pods that change, do not fit, or cannot start: by upstream's names where it has tests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Node, Pod, PodSpec, Taint } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { HollowNode, nodeDefaults } from "./hollow-node.ts";
import { imagePatterns } from "./image-pull.ts";
import { hollowDefaults } from "./options.ts";
import { HollowPods } from "./pods.ts";
import { bound, conditionOf, nodesRef, podsRef, startRig, wholeCondition } from "./testing.ts";

const kubeletConditions = [
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

function observedBy(pod: Pod | undefined): (number | bigint | undefined)[] {
  const conditions = kubeletConditions.map((type) => wholeCondition(pod, type)?.observedGeneration);
  return [pod?.status?.observedGeneration, ...conditions];
}

const waitingOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.waiting;

test("should allow activeDeadlineSeconds to be updated", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(60_000);
  rig.edit("p", { activeDeadlineSeconds: 65 });
  await rig.clock.advance(4_000);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  await rig.clock.advance(2_000);
  const { status } = rig.pod("p") ?? {};
  assert.equal(status?.phase, "Failed");
  assert.equal(status?.reason, "DeadlineExceeded");
  assert.equal(status?.message, "Pod was active on the node longer than the specified deadline");
  assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 143);
  await rig.end();
});

test("a deadline ends pods that never started; no int64 upsets it", async () => {
  const rig = await startRig();
  const containers = [{ name: "c", image: "foo:non-existent" }];
  rig.api.put(podsRef, bound("pulls", { spec: { containers, activeDeadlineSeconds: 30 } }));
  for (const seconds of [2 ** 53, Number(2n ** 63n - 1n), 2 ** 31]) {
    rig.api.put(podsRef, bound(`late${seconds}`, { spec: { activeDeadlineSeconds: seconds } }));
  }
  rig.api.put(podsRef, bound("never", { spec: { activeDeadlineSeconds: -5 } }));
  await rig.clock.advance(100_000);
  assert.equal(rig.pod("pulls")?.status?.reason, "DeadlineExceeded");
  const [ended] = rig.pod("pulls")?.status?.containerStatuses ?? [];
  assert.equal(ended?.state?.terminated?.reason, "ContainerStatusUnknown");
  assert.equal(ended?.state?.terminated?.exitCode, 137);
  assert.equal(rig.pod("never")?.status?.reason, "DeadlineExceeded");
  for (const seconds of [2 ** 53, Number(2n ** 63n - 1n), 2 ** 31]) {
    assert.equal(rig.pod(`late${seconds}`)?.status?.phase, "Running");
  }
  await rig.end();
});

test("pod generation should start at 1 and increment per update", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(10);
  assert.deepEqual(observedBy(rig.pod("p")), [1, 1, 1, 1, 1, 1]);
  const started = rig.pod("p")?.status?.containerStatuses?.[0];
  await rig.clock.advance(5_000);
  rig.edit("p", { tolerations: [{ key: "a", operator: "Exists" }] });
  await rig.clock.advance(10);
  assert.deepEqual(observedBy(rig.pod("p")), [2, 2, 2, 2, 2, 2]);
  assert.deepEqual(rig.pod("p")?.status?.containerStatuses?.[0], started);
  assert.equal(rig.writes().length, 2);
  await rig.end();
});

test("issue 500 podspec updates and verify generation and observedGeneration eventually converge", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p", { spec: { activeDeadlineSeconds: 5_000 } }));
  await rig.clock.advance(10);
  for (let i = 1; i <= 499; i++) rig.edit("p", { activeDeadlineSeconds: 5_000 - i });
  await rig.clock.advance(10);
  assert.deepEqual(observedBy(rig.pod("p")), [500, 500, 500, 500, 500, 500]);
  assert.ok(rig.writes().length < 500, "updates that come in one batch share a write");
  const before = rig.writes().length;
  for (let i = 500; i <= 510; i++) {
    rig.edit("p", { activeDeadlineSeconds: 5_000 - i });
    await rig.clock.advance(10);
    assert.equal(rig.pod("p")?.status?.observedGeneration, i + 1);
  }
  assert.equal(rig.writes().length, before + 11);
  await rig.end();
});

test("pod observedGeneration field set in pod conditions", async () => {
  const rig = await startRig({ unpullable: imagePatterns("localhost/*") });
  const containers = [{ name: "c", image: "localhost/some-image-that-doesnt-exist" }];
  rig.api.put(podsRef, bound("p", { spec: { containers } }));
  await rig.clock.advance(10);
  assert.deepEqual(observedBy(rig.pod("p")), [1, 1, 1, 1, 1, 1]);
  assert.equal(waitingOf(rig.pod("p"))?.reason, "ErrImagePull");
  rig.edit("p", { containers: [{ name: "c", image: "nginx:1" }] });
  await rig.clock.advance(10);
  assert.deepEqual(observedBy(rig.pod("p")), [2, 2, 2, 2, 2, 2]);
  assert.equal(conditionOf(rig.pod("p"), "Ready"), "True");
  await rig.end();
});

test("a container whose image is changed is restarted, the others are not", async () => {
  const rig = await startRig();
  const containers = [
    { name: "a", image: "nginx:1" },
    { name: "b", image: "nginx:1" },
  ];
  rig.api.put(podsRef, bound("p", { spec: { containers } }));
  await rig.clock.advance(60_000);
  const [, before] = rig.pod("p")?.status?.containerStatuses ?? [];
  rig.edit("p", {
    containers: containers.map((c, i) => (i === 0 ? { ...c, image: "nginx:2" } : c)),
  });
  await rig.clock.advance(10);
  const [a, b] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(a?.image, "nginx:2");
  assert.equal(a?.restartCount, 1);
  assert.equal(a?.lastState?.terminated?.exitCode, 143);
  assert.deepEqual(b, before);
  await rig.end();
});

test("an image that cannot be pulled alternates between the error and its back-off", async () => {
  const rig = await startRig();
  const containers = [{ name: "c", image: "foo:non-existent" }];
  rig.api.put(podsRef, bound("p", { spec: { containers } }));
  const seen: string[] = [];
  for (let second = 0; second < 120; second++) {
    const reason = waitingOf(rig.pod("p"))?.reason ?? "";
    if (reason !== "" && seen.at(-1)?.split("@")[0] !== reason) seen.push(`${reason}@${second}`);
    await rig.clock.advance(1_000);
  }
  assert.deepEqual(seen, [
    "ErrImagePull@1",
    "ImagePullBackOff@2",
    "ErrImagePull@10",
    "ImagePullBackOff@12",
    "ErrImagePull@30",
    "ImagePullBackOff@32",
    "ErrImagePull@70",
    "ImagePullBackOff@72",
  ]);
  assert.equal(rig.pod("p")?.status?.phase, "Pending");
  const name = "docker.io/library/foo:non-existent";
  const error =
    `rpc error: code = NotFound desc = failed to pull and unpack image "${name}": ` +
    `failed to resolve reference "${name}": ${name}: not found`;
  const message = `Back-off pulling image "foo:non-existent": ErrImagePull: ${error}`;
  assert.equal(waitingOf(rig.pod("p"))?.message, message);
  for (const text of [
    'Pulling: Pulling image "foo:non-existent"',
    `Failed: Failed to pull image "foo:non-existent": ${error}`,
    "Failed: Error: ErrImagePull",
    'BackOff: Back-off pulling image "foo:non-existent"',
    "Failed: Error: ImagePullBackOff",
  ]) {
    assert.ok(rig.events().includes(text), text);
  }
  await rig.end();
});

test("containers whose images are there run beside one that waits for its own", async () => {
  const rig = await startRig();
  const containers: Container[] = [
    { name: "a", image: "nginx:1" },
    { name: "b", image: "invalid.example/x", imagePullPolicy: "Never" },
  ];
  rig.api.put(podsRef, bound("p", { spec: { containers } }));
  await rig.clock.advance(600_000);
  const [a, b] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.ok(a?.state?.running);
  assert.equal(b?.state?.waiting?.reason, "ErrImageNeverPull");
  assert.equal(rig.pod("p")?.status?.phase, "Pending");
  assert.equal(
    wholeCondition(rig.pod("p"), "ContainersReady")?.message,
    "containers with unready status: [b]",
  );
  assert.equal(rig.writes().length, 1);
  await rig.end();
});

interface Refusal {
  readonly what: string;
  readonly spec: Partial<PodSpec>;
  readonly reason: string;
  readonly message: string;
}

const requests = (amounts: Record<string, string>): Partial<PodSpec> => ({
  containers: [{ name: "c", resources: { requests: amounts } }],
});
const port = (hostPort: number): Partial<PodSpec> => ({
  containers: [{ name: "c", ports: [{ containerPort: 80, hostPort }] }],
});
const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "Exists" }] }],
    },
  },
};
const mismatch = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";

const refusals: readonly Refusal[] = [
  {
    what: "more CPU than is left",
    spec: requests({ cpu: "7500m" }),
    reason: "OutOfcpu",
    message: "Node didn't have enough resource: cpu, requested: 7500, used: 1000, capacity: 8000",
  },
  {
    what: "more memory than there is",
    spec: requests({ memory: "9007199254740993" }),
    reason: "OutOfmemory",
    message:
      "Node didn't have enough resource: memory, requested: 9007199254740993, used: 0, capacity: 34359738368",
  },
  {
    what: "more disk than there is",
    spec: requests({ "ephemeral-storage": "1Ti" }),
    reason: "OutOfephemeral-storage",
    message:
      "Node didn't have enough resource: ephemeral-storage, requested: 1099511627776, used: 0, capacity: 107374182400",
  },
  {
    what: "more of an extended resource than there is",
    spec: requests({ "example.com/gpu": "3" }),
    reason: "OutOfexample.com/gpu",
    message:
      "Node didn't have enough resource: example.com/gpu, requested: 3, used: 0, capacity: 2",
  },
  {
    what: "a host port that is taken",
    spec: port(8080),
    reason: "NodePorts",
    message:
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  },
  {
    what: "another node by its selector",
    spec: { nodeSelector: { disk: "ssd" } },
    reason: "NodeAffinity",
    message: mismatch,
  },
  {
    what: "another node by its affinity",
    spec: { affinity },
    reason: "NodeAffinity",
    message: mismatch,
  },
  {
    what: "another operating system",
    spec: { os: { name: "windows" } },
    reason: "PodOSNotSupported",
    message: "Failed to admit pod as the OS field doesn't match node OS",
  },
];

for (const { what, spec, reason, message } of refusals) {
  test(`a pod bound by name that wants ${what} is Failed with ${reason}`, async () => {
    const rig = await startRig();
    const node = rig.api.peek<Node>(nodesRef, "", "hollow-0");
    const allocatable = { ...node?.status?.allocatable, "example.com/gpu": "2" };
    rig.api.put<Node>(nodesRef, { ...node, status: { ...node?.status, allocatable } });
    const first = { ...port(8080), ...requests({ cpu: "1" }) };
    const ports = port(8080).containers?.[0]?.ports ?? [];
    const containers = (first.containers ?? []).map((c) => ({ ...c, ports }));
    rig.api.put(podsRef, bound("first", { spec: { containers } }));
    await rig.clock.advance(10);
    rig.api.put(podsRef, bound("p", { spec }));
    await rig.clock.advance(10);
    const { status } = rig.pod("p") ?? {};
    assert.equal(status?.phase, "Failed");
    assert.equal(status?.reason, reason);
    assert.equal(status?.message, `Pod was rejected: ${message}`);
    assert.equal(status?.podIP, undefined);
    assert.equal(status?.containerStatuses, undefined);
    assert.ok(rig.events().includes(`${reason}: ${message}`));
    assert.equal(rig.pod("first")?.status?.phase, "Running");
    await rig.end();
  });
}

test("a pod beyond the node's number is OutOfpods until others have ended", async () => {
  const rig = await startRig({ pods: 2 });
  for (const name of ["a", "b", "c"]) rig.api.put(podsRef, bound(name));
  await rig.clock.advance(10);
  assert.equal(rig.pod("c")?.status?.reason, "OutOfpods");
  const text = "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2";
  assert.equal(rig.pod("c")?.status?.message, `Pod was rejected: ${text}`);
  rig.edit("a", { activeDeadlineSeconds: 1 });
  await rig.clock.advance(2_000);
  rig.api.put(podsRef, bound("d"));
  await rig.clock.advance(10);
  assert.equal(rig.pod("d")?.status?.phase, "Running");
  await rig.end();
});

const taint = (effect: string): Taint => ({ key: "maintenance", value: "now", effect });

test("a pod that does not tolerate a NoExecute taint is refused; NoSchedule is the scheduler's", async () => {
  const rig = await startRig();
  for (const [name, effect] of [
    ["hollow-0", "NoExecute"],
    ["hollow-1", "NoSchedule"],
  ] as const) {
    const node = rig.api.peek<Node>(nodesRef, "", name);
    rig.api.put<Node>(nodesRef, { ...node, spec: { ...node?.spec, taints: [taint(effect)] } });
  }
  const tolerations = [{ key: "maintenance", operator: "Exists" }];
  rig.api.put(podsRef, bound("refused"));
  rig.api.put(podsRef, bound("tolerant", { spec: { tolerations } }));
  rig.api.put(podsRef, bound("elsewhere", {}, "hollow-1"));
  await rig.clock.advance(10);
  assert.equal(rig.pod("refused")?.status?.reason, "TaintToleration");
  assert.equal(
    rig.pod("refused")?.status?.message,
    "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  );
  assert.equal(rig.pod("tolerant")?.status?.phase, "Running");
  assert.equal(rig.pod("elsewhere")?.status?.phase, "Running");
  await rig.end();
});

test("labels somebody gave the node count before its watch has told of them", async () => {
  const rig = await startRig();
  const open = rig.api.block((call) => call.resource === "nodes" && call.verb === "watch");
  rig.api.cutWatches();
  await rig.clock.advance(5_000);
  const node = rig.api.peek<Node>(nodesRef, "", "hollow-0");
  const labels = { ...node?.metadata?.labels, disk: "ssd" };
  rig.api.put<Node>(nodesRef, { ...node, metadata: { ...node?.metadata, labels } });
  rig.api.put(podsRef, bound("p", { spec: { nodeSelector: { disk: "ssd" } } }));
  await rig.clock.advance(10);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  open();
  await rig.end();
});

test("pods that ran before a restart are not asked again, and still take their room", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("a", { spec: requests({ cpu: "5" }) }));
  await rig.clock.advance(10);
  await rig.end();
  const node = rig.api.peek<Node>(nodesRef, "", "hollow-0");
  rig.api.put<Node>(nodesRef, { ...node, spec: { ...node?.spec, taints: [taint("NoExecute")] } });
  const second = rig.start();
  const tolerations = [{ operator: "Exists" }];
  rig.api.put(podsRef, bound("b", { spec: { ...requests({ cpu: "5" }), tolerations } }));
  await rig.clock.advance(10);
  rig.edit("a", { activeDeadlineSeconds: 1_000 });
  await rig.clock.advance(10);
  assert.equal(rig.pod("a")?.status?.phase, "Running");
  assert.equal(rig.pod("b")?.status?.reason, "OutOfcpu");
  await second.end();
});

test("a resize that fits is done at once; one that does not is Deferred until there is room", async () => {
  const rig = await startRig();
  const sized = (cpu: string): Partial<PodSpec> => requests({ cpu });
  rig.api.put(podsRef, bound("p", { spec: sized("1") }));
  rig.api.put(podsRef, bound("other", { spec: sized("4") }));
  await rig.clock.advance(10);
  const given = () => rig.pod("p")?.status?.containerStatuses?.[0]?.allocatedResources;
  const [started] = rig.pod("p")?.status?.containerStatuses ?? [];
  rig.edit("p", sized("2"));
  await rig.clock.advance(10);
  assert.deepEqual(given(), { cpu: "2" });
  rig.edit("p", sized("6"));
  await rig.clock.advance(10);
  assert.deepEqual(given(), { cpu: "2" });
  const pending = wholeCondition(rig.pod("p"), "PodResizePending");
  assert.equal(pending?.status, "True");
  assert.equal(pending?.reason, "Deferred");
  assert.equal(pending?.observedGeneration, 3);
  assert.equal(
    pending?.message,
    "Node didn't have enough resource: cpu, requested: 6000, used: 4000, capacity: 8000",
  );
  await rig.api.delete(podsRef, "a", "other");
  await rig.clock.advance(10);
  assert.deepEqual(given(), { cpu: "6" });
  assert.equal(wholeCondition(rig.pod("p"), "PodResizePending"), undefined);
  const [now] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(now?.restartCount, 0);
  assert.equal(now?.containerID, started?.containerID);
  await rig.end();
});

test("a resize is in progress until the containers have what the node granted", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p", { spec: requests({ cpu: "1" }) }));
  await rig.clock.advance(10);
  const shown = (): string => {
    const { containerStatuses, conditions } = rig.pod("p")?.status ?? {};
    const [status] = containerStatuses ?? [];
    const resizing = (conditions ?? []).filter(({ type }) => type.startsWith("PodResize"));
    const texts = resizing.map((one) => `${one.type}=${one.status}@${one.observedGeneration}`);
    const { allocatedResources: granted, resources: given } = status ?? {};
    return [granted?.["cpu"], given?.requests?.["cpu"], ...texts].join(" ");
  };
  assert.equal(shown(), "1 1");
  rig.edit("p", requests({ cpu: "2" }));
  await rig.clock.advance(10);
  assert.equal(shown(), "2 1 PodResizeInProgress=True@2");
  const words = '{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}],"generation":2}';
  assert.ok(rig.events().includes(`ResizeStarted: Pod resize started: ${words}`));
  await rig.clock.advance(500);
  rig.edit("p", requests({ cpu: "3" }));
  await rig.clock.advance(600);
  assert.equal(shown(), "3 1 PodResizeInProgress=True@3");
  await rig.end();
  const next = rig.start();
  await rig.clock.advance(10);
  assert.equal(shown(), "3 3", "a process that starts anew ends what the one before began");
  const over = words.replace('"2"', '"3"').replace(":2}", ":3}");
  assert.ok(rig.events().includes(`ResizeCompleted: Pod resize completed: ${over}`));
  rig.edit("p", requests({ cpu: "9" }));
  await rig.clock.advance(10);
  assert.equal(shown(), "3 3 PodResizePending=True@4");
  const deferred = /^ResizeDeferred: Pod resize Deferred: \{.*"generation":4,"error":"Node didn't/;
  assert.equal(rig.events().filter((text) => deferred.test(text)).length, 1);
  await next.end();
});

test("a resize whose policy asks for it restarts the container", async () => {
  const rig = await startRig();
  const container = (memory: string): Container => ({
    name: "c",
    resources: { requests: { memory } },
    resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
  });
  rig.api.put(podsRef, bound("p", { spec: { containers: [container("1Gi")] } }));
  await rig.clock.advance(10);
  rig.edit("p", { containers: [container("1024Mi")] });
  await rig.clock.advance(10);
  assert.equal(rig.pod("p")?.status?.containerStatuses?.[0]?.restartCount, 0);
  rig.edit("p", { containers: [container("2Gi")] });
  await rig.clock.advance(10);
  assert.equal(rig.pod("p")?.status?.containerStatuses?.[0]?.restartCount, 0);
  await rig.clock.advance(1_000);
  const [status] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(status?.restartCount, 1);
  assert.deepEqual(status?.allocatedResources, { memory: "2Gi" });
  await rig.end();
});

test("a phase that others made final is left alone", async () => {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(10);
  const pod = rig.pod("p");
  assert.ok(pod);
  rig.api.put<Pod>(podsRef, {
    ...pod,
    status: { ...pod.status, phase: "Failed", reason: "Evicted" },
  });
  const writes = rig.writes().length;
  await rig.clock.advance(10);
  rig.edit("p", { activeDeadlineSeconds: 1 });
  await rig.clock.advance(5_000);
  assert.equal(rig.pod("p")?.status?.reason, "Evicted");
  assert.equal(rig.writes().length, writes);
  await rig.end();
});

test("an update that comes while a status is written does not make the pod forget its start", async () => {
  const rig = await startRig();
  const startedAt = formatTime(rig.clock.nowMs());
  const open = rig.api.block((call) => call.resource === "pods" && call.verb === "patch");
  rig.api.put(podsRef, bound("p"));
  await rig.clock.advance(10);
  rig.edit("p", { activeDeadlineSeconds: 1_000 });
  await rig.clock.advance(5_000);
  open();
  await rig.clock.advance(10);
  assert.equal(rig.pod("p")?.status?.observedGeneration, 2);
  const [status] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(status?.state?.running?.startedAt, startedAt);
  await rig.end();
});

test("an event older than what was written is not news", async () => {
  const rig = await startRig({ count: 0 });
  const deps = { client: rig.api, clock: rig.clock, random: new FakeRandom(5), log: silentLog };
  const options = { ...hollowDefaults, count: 1 };
  const node = new HollowNode(0, options, nodeDefaults(options));
  const pods = new HollowPods(deps, options, new Map([[node.name, node]]));
  const stop = new AbortController();
  const running = pods.run(stop.signal);
  await rig.clock.advance(10);
  const startedAt = formatTime(rig.clock.nowMs());
  const first = rig.api.put(podsRef, bound("p", { spec: { activeDeadlineSeconds: 30 } }));
  await rig.clock.advance(10);
  pods.apply([{ type: "MODIFIED", object: first }]);
  await rig.clock.advance(31_000);
  const [status] = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(status?.state?.terminated?.startedAt, startedAt);
  stop.abort();
  await running;
  await rig.end();
});

test("a pod with a thousand containers is one write and sorted", async () => {
  const rig = await startRig();
  const containers = Array.from({ length: 1_000 }, (_, i) => ({ name: `c${999 - i}`, image: "x" }));
  rig.api.put(podsRef, bound("p", { spec: { containers } }));
  await rig.clock.advance(10);
  const statuses = rig.pod("p")?.status?.containerStatuses ?? [];
  assert.equal(statuses.length, 1_000);
  assert.deepEqual(
    statuses.map(({ name }) => name),
    statuses.map(({ name }) => name).toSorted(),
  );
  assert.equal(rig.writes().length, 1);
  await rig.end();
});

test("a pod's own resources are shown, resized in place, and deferred with what the pod was given", async () => {
  const rig = await startRig();
  const whole = (cpu: string): Partial<PodSpec> => ({
    containers: [{ name: "c", resources: { requests: { cpu: "500m", memory: "1Gi" } } }],
    resources: { requests: { cpu }, limits: { cpu } },
  });
  rig.api.put(podsRef, bound("p", { spec: whole("1") }));
  rig.api.put(podsRef, bound("other", { spec: requests({ cpu: "4" }) }));
  rig.api.put(podsRef, bound("plain"));
  await rig.clock.advance(10);
  const given = () => rig.pod("p")?.status;
  assert.deepEqual(given()?.resources, {
    requests: { cpu: "1", memory: "1Gi" },
    limits: { cpu: "1" },
  });
  assert.deepEqual(given()?.allocatedResources, { cpu: "1", memory: "1Gi" });
  assert.deepEqual(rig.pod("plain")?.status?.resources, {});
  assert.equal(rig.pod("plain")?.status?.allocatedResources, undefined);
  rig.edit("p", whole("2"));
  await rig.clock.advance(10);
  assert.deepEqual(given()?.allocatedResources, { cpu: "2", memory: "1Gi" });
  assert.deepEqual(given()?.resources?.limits, { cpu: "1" });
  await rig.clock.advance(1_000);
  rig.edit("p", whole("6"));
  await rig.clock.advance(10);
  assert.deepEqual(given()?.resources?.limits, { cpu: "2" });
  assert.equal(wholeCondition(rig.pod("p"), "PodResizePending")?.reason, "Deferred");
  await rig.api.delete(podsRef, "a", "other");
  await rig.clock.advance(1_010);
  assert.deepEqual(given()?.resources?.limits, { cpu: "6" });
  assert.equal(wholeCondition(rig.pod("p"), "PodResizePending"), undefined);
  await rig.end();
});
