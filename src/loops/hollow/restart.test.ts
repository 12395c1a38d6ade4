/** What follows when containers end, by upstream's names (test/e2e/common/node/container_restart_policy.go). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec } from "#api/gen/types.ts";
import { bound, podsRef, startRig, wholeCondition } from "./testing.ts";

/** Ends after ten seconds. */
function ends(exitCode: number, more: Partial<Container> = {}): Container {
  return { name: "main", image: "i", command: ["sh", "-c", `sleep 10; exit ${exitCode}`], ...more };
}

function rule(action: string, operator: "In" | "NotIn", ...values: number[]): Partial<Container> {
  return {
    restartPolicy: "Never",
    restartPolicyRules: [{ action, exitCodes: { operator, values } }],
  };
}

async function ranFor(seconds: number, spec: Partial<PodSpec>): Promise<Pod | undefined> {
  const rig = await startRig();
  rig.api.put(podsRef, bound("p", { spec }));
  await rig.clock.advance(seconds * 1_000);
  const pod = rig.pod("p");
  await rig.end();
  return pod;
}

/** `name=restarts:state`, `<code>` what it ended with before. */
function shown(statuses: Pod["status"] | undefined, list: "main" | "init" = "main"): string {
  const all = list === "main" ? statuses?.containerStatuses : statuses?.initContainerStatuses;
  const texts = (all ?? []).map(({ name, restartCount, state, lastState }) => {
    const now = state?.terminated?.exitCode ?? state?.waiting?.reason ?? "running";
    const before = lastState?.terminated?.exitCode;
    return `${name}=${restartCount}:${now}${before === undefined ? "" : `<${before}>`}`;
  });
  return texts.join(" ");
}

test("should restart container on rule match", async () => {
  const container = ends(42, rule("Restart", "In", 42));
  const pod = await ranFor(25, { restartPolicy: "Never", containers: [container] });
  assert.equal(pod?.status?.phase, "Running");
  assert.equal(shown(pod?.status), "main=1:running<42>");
});

test("should not restart container on rule mismatch, container restart policy Never", async () => {
  const container = ends(42, rule("Restart", "NotIn", 42));
  const pod = await ranFor(25, { restartPolicy: "Always", containers: [container] });
  assert.equal(pod?.status?.phase, "Failed");
  assert.equal(shown(pod?.status), "main=0:42");
});

test("a container's own restart policy goes before the pod's", async () => {
  const cases = [
    ["Always", "Never", 0, "main=0:0"],
    ["Never", "Always", 0, "main=1:running<0>"],
    ["Never", "OnFailure", 1, "main=1:running<1>"],
    ["Always", "OnFailure", 0, "main=0:0"],
  ] as const;
  for (const [ofPod, ofContainer, code, expected] of cases) {
    const containers = [ends(code, { restartPolicy: ofContainer })];
    const pod = await ranFor(25, { restartPolicy: ofPod, containers });
    assert.equal(shown(pod?.status), expected, `${ofPod}, ${ofContainer}`);
  }
});

test("a container that may not be restarted stays ended beside one that is", async () => {
  const stays = ends(1, { name: "stays", restartPolicy: "Never" });
  const pod = await ranFor(25, { containers: [ends(1, { restartPolicy: "Always" }), stays] });
  assert.equal(pod?.status?.phase, "Running");
  assert.equal(shown(pod?.status), "main=1:running<1> stays=0:1");
  const unready = wholeCondition(pod, "ContainersReady");
  assert.equal(unready?.message, "containers with unready status: [stays]");
});

test("should restart all containers on regular container exit", async () => {
  const initContainers: Container[] = [
    { name: "setup", image: "i", command: ["true"] },
    { name: "side", image: "i", restartPolicy: "Always" },
  ];
  const containers = [
    ends(42, rule("RestartAllContainers", "In", 42)),
    { name: "other", image: "i" },
  ];
  const spec = { restartPolicy: "Never", initContainers, containers };
  const between = await ranFor(10.5, spec);
  assert.equal(between?.status?.phase, "Running");
  assert.equal(shown(between?.status), "main=0:42 other=0:143");
  assert.equal(shown(between?.status, "init"), "setup=0:0 side=0:143");
  const restarting = wholeCondition(between, "AllContainersRestarting");
  assert.equal(restarting?.status, "True");
  assert.equal(restarting?.reason, "RestartAllContainersStarted");
  assert.equal(restarting?.message, "container exited with restart policy rule");
  assert.equal(restarting?.observedGeneration, undefined);
  const pod = await ranFor(15, spec);
  assert.equal(shown(pod?.status), "main=1:running<42> other=1:running<143>");
  assert.equal(shown(pod?.status, "init"), "setup=1:0<0> side=1:running<143>");
  const after = wholeCondition(pod, "AllContainersRestarting");
  assert.deepEqual([after?.status, after?.reason, after?.message], ["False", undefined, undefined]);
  const plain = await ranFor(1, { containers: [{ name: "c", image: "i" }] });
  assert.equal(wholeCondition(plain, "AllContainersRestarting"), undefined);
});

test("containers that end at once and restart all others do not spin", async () => {
  const main = ends(42, {
    ...rule("RestartAllContainers", "In", 42),
    command: ["sh", "-c", "sleep 0; exit 42"],
  });
  const pod = await ranFor(20, { containers: [main] });
  const restarts = pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
  assert.ok(restarts >= 10 && restarts <= 20, `${restarts}`);
});

test("an init container is restarted by its own rules", async () => {
  const failing = { ...ends(3, rule("Restart", "In", 3)), name: "init" };
  const again = await ranFor(25, { restartPolicy: "Never", initContainers: [failing] });
  assert.equal(again?.status?.phase, "Pending");
  assert.equal(shown(again?.status, "init"), "init=1:running<3>");
  const other = { ...ends(4, rule("Restart", "In", 3)), name: "init" };
  const over = await ranFor(25, { restartPolicy: "Always", initContainers: [other] });
  assert.equal(over?.status?.phase, "Failed");
});
