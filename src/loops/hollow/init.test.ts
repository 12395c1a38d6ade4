/** Init containers and sidecars, as upstream's e2e node tests ask for them (test/e2e/common/node/init_container.go). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, ContainerStatus, Pod } from "#api/gen/types.ts";
import { bound, conditionOf, podsRef, startRig, wholeCondition } from "./testing.ts";

const image = "busybox:1";
const passes = (name: string): Container => ({ name, image, command: ["/bin/true"] });
const fails = (name: string): Container => ({ name, image, command: ["/bin/false"] });
const sleeps = (name: string, seconds: number): Container => ({
  name,
  image,
  command: ["sleep", String(seconds)],
});
const sidecar = (name: string): Container => ({ name, image, restartPolicy: "Always" });

/** `name=state` of every container; what waits shows its reason, what ended its code. */
function shown(statuses: readonly ContainerStatus[] | undefined): string {
  const texts = (statuses ?? []).map(({ name, state, ready }) => {
    const text =
      state?.waiting?.reason ?? state?.terminated?.exitCode ?? (state?.running && "running");
    return `${name}=${text}${ready ? "+" : ""}`;
  });
  return texts.join(" ");
}

const initShown = (pod: Pod | undefined): string => shown(pod?.status?.initContainerStatuses);
const mainShown = (pod: Pod | undefined): string => shown(pod?.status?.containerStatuses);

test("should invoke init containers on a RestartNever pod", async () => {
  const rig = await startRig();
  const initContainers = [passes("init1"), passes("init2")];
  const spec = { restartPolicy: "Never", initContainers, containers: [passes("run1")] };
  rig.api.put(podsRef, bound("p", { spec }));
  await rig.clock.advance(2_000);
  const pod = rig.pod("p");
  assert.equal(pod?.status?.phase, "Succeeded");
  assert.equal(wholeCondition(pod, "Initialized")?.status, "True");
  assert.equal(wholeCondition(pod, "Initialized")?.reason, "PodCompleted");
  assert.equal(initShown(pod), "init1=0+ init2=0+");
  assert.equal(mainShown(pod), "run1=0");
  await rig.end();
});

test("should invoke init containers on a RestartAlways pod", async () => {
  const rig = await startRig();
  const initContainers = [passes("init1"), sleeps("init2", 5)];
  rig.api.put(podsRef, bound("p", { spec: { initContainers } }));
  await rig.clock.advance(1_000);
  assert.equal(rig.pod("p")?.status?.phase, "Pending");
  assert.equal(initShown(rig.pod("p")), "init1=0+ init2=running");
  assert.equal(mainShown(rig.pod("p")), "c=PodInitializing");
  assert.equal(conditionOf(rig.pod("p"), "PodReadyToStartContainers"), "True");
  const incomplete = wholeCondition(rig.pod("p"), "Initialized");
  assert.equal(incomplete?.reason, "ContainersNotInitialized");
  assert.equal(incomplete?.message, "containers with incomplete status: [init2]");
  await rig.clock.advance(5_000);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  assert.equal(initShown(rig.pod("p")), "init1=0+ init2=0+");
  assert.equal(mainShown(rig.pod("p")), "c=running+");
  assert.equal(conditionOf(rig.pod("p"), "Initialized"), "True");
  await rig.end();
});

test("should not start app containers if init containers fail on a RestartAlways pod", async () => {
  const rig = await startRig();
  const initContainers = [fails("init1"), passes("init2")];
  rig.api.put(podsRef, bound("p", { spec: { initContainers } }));
  await rig.clock.advance(75_000);
  const pod = rig.pod("p");
  assert.equal(pod?.status?.phase, "Pending");
  assert.equal(initShown(pod), "init1=CrashLoopBackOff init2=PodInitializing");
  assert.equal(mainShown(pod), "c=PodInitializing");
  const [first] = pod?.status?.initContainerStatuses ?? [];
  assert.equal(first?.restartCount, 3);
  assert.equal(first?.lastState?.terminated?.exitCode, 1);
  const message = first?.state?.waiting?.message ?? "";
  assert.match(message, /^back-off 1m20s restarting failed container=init1 pod=p_a\(/);
  const incomplete = wholeCondition(pod, "Initialized");
  assert.equal(incomplete?.reason, "ContainersNotInitialized");
  assert.equal(incomplete?.message, "containers with incomplete status: [init1 init2]");
  await rig.end();
});

test("should not start app containers and fail the pod if init containers fail on a RestartNever pod", async () => {
  const rig = await startRig();
  const initContainers = [passes("init1"), { ...fails("init2"), command: ["sh", "-c", "exit 7"] }];
  const spec = { restartPolicy: "Never", initContainers };
  rig.api.put(podsRef, bound("p", { spec }));
  await rig.clock.advance(1_000);
  const pod = rig.pod("p");
  assert.equal(pod?.status?.phase, "Failed");
  assert.equal(initShown(pod), "init1=0+ init2=7");
  assert.equal(mainShown(pod), "c=PodInitializing");
  assert.equal(wholeCondition(pod, "Initialized")?.reason, "ContainersNotInitialized");
  assert.equal(
    wholeCondition(pod, "Initialized")?.message,
    "containers with incomplete status: [init2]",
  );
  assert.equal(wholeCondition(pod, "Ready")?.reason, "PodFailed");
  await rig.end();
});

test("a sidecar starts in its place, runs beside the containers, and ends after them", async () => {
  const rig = await startRig();
  const initContainers = [sleeps("init1", 5), sidecar("proxy"), sleeps("init2", 5)];
  const containers = [{ ...sleeps("run", 10) }];
  rig.api.put(
    podsRef,
    bound("p", { spec: { restartPolicy: "Never", initContainers, containers } }),
  );
  const states: string[] = [];
  for (const ms of [1_000, 5_000, 5_000, 11_000]) {
    await rig.clock.advance(ms);
    states.push(`${initShown(rig.pod("p"))} | ${mainShown(rig.pod("p"))}`);
  }
  assert.deepEqual(states, [
    "init1=running proxy=PodInitializing init2=PodInitializing | run=PodInitializing",
    "init1=0+ proxy=running+ init2=running | run=PodInitializing",
    "init1=0+ proxy=running+ init2=0+ | run=running+",
    "init1=0+ proxy=143 init2=0+ | run=0",
  ]);
  assert.equal(rig.pod("p")?.status?.phase, "Succeeded");
  await rig.end();
});

test("a process that starts anew goes on where init containers are", async () => {
  const rig = await startRig();
  const initContainers = [passes("init1"), sleeps("init2", 60)];
  rig.api.put(podsRef, bound("p", { spec: { initContainers } }));
  await rig.clock.advance(30_000);
  await rig.end();
  const second = rig.start();
  await rig.clock.advance(29_000);
  assert.equal(initShown(rig.pod("p")), "init1=0+ init2=running");
  await rig.clock.advance(2_000);
  assert.equal(mainShown(rig.pod("p")), "c=running+");
  await second.end();
});
