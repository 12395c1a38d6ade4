/** What a Pod asks for: as a whole, container by container, and while it is resized in place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec, PodStatus } from "#api/gen/types.ts";
import { haveSameResizes, podRequests } from "./requests.ts";

const container = (name: string, cpu: string) => ({
  name,
  image: "i",
  resources: { requests: { cpu } },
});
const running = (name: string, cpu: string, allocated: string) => ({
  name,
  image: "i",
  imageID: "",
  ready: true,
  restartCount: 0,
  resources: { requests: { cpu } },
  allocatedResources: { cpu: allocated },
});
const cpuOf = (spec: PodSpec, status?: PodStatus): number => podRequests(spec, status).cpu;

test("the most of wished, allocated and in force counts while a container is resized", () => {
  const spec = { containers: [container("a", "1"), container("b", "1")] };
  assert.equal(cpuOf(spec), 2_000);
  const shrinking = { containerStatuses: [running("a", "3", "2"), running("b", "1", "1")] };
  assert.equal(cpuOf(spec, shrinking), 4_000);
  const growing = { containerStatuses: [running("a", "500m", "500m")] };
  assert.equal(cpuOf(spec, growing), 2_000);
});

test("a resize that the node refused for good does not count; one that waits does", () => {
  const spec = { containers: [container("a", "8")] };
  const containerStatuses = [running("a", "1", "1")];
  const pending = (reason: string): PodStatus => ({
    containerStatuses,
    conditions: [{ type: "PodResizePending", status: "True", reason }],
  });
  assert.equal(cpuOf(spec, pending("Infeasible")), 1_000);
  assert.equal(cpuOf(spec, pending("Deferred")), 8_000);
});

test("plain init containers are not resized; sidecars are", () => {
  const sidecar = { ...container("side", "1"), restartPolicy: "Always" };
  const spec = {
    containers: [container("a", "1")],
    initContainers: [sidecar, container("i", "4")],
  };
  assert.equal(cpuOf(spec), 5_000);
  const initContainerStatuses = [running("side", "3", "1"), running("i", "9", "9")];
  assert.equal(cpuOf(spec, { initContainerStatuses }), 7_000);
});

test("what the Pod asks for as a whole stands for the sum, for CPU, memory and huge pages alone", () => {
  const requests = { cpu: "6", "example.com/gpu": "1", "hugepages-2Mi": "4Mi" };
  const spec = {
    containers: [container("a", "1")],
    resources: { requests },
    overhead: { cpu: "1" },
  };
  assert.equal(cpuOf(spec), 7_000);
  assert.deepEqual(podRequests(spec).scalars, [["hugepages-2Mi", 4 * 1024 * 1024]]);
  const status = { resources: { requests: { cpu: "9" } }, allocatedResources: { cpu: "8" } };
  assert.equal(cpuOf(spec, status), 10_000);
});

test("only a status that says other resources makes a Pod another", () => {
  const pod = (status: PodStatus): Pod => ({ metadata: {}, spec: { containers: [] }, status });
  const before = pod({ phase: "Pending" });
  assert.ok(haveSameResizes(before, pod({ phase: "Running" })));
  const resized = pod({ containerStatuses: [running("a", "1", "1")] });
  assert.ok(!haveSameResizes(before, resized));
  assert.ok(haveSameResizes(resized, pod({ containerStatuses: [running("a", "1", "1")] })));
  assert.ok(!haveSameResizes(resized, pod({ containerStatuses: [running("a", "2", "1")] })));
});
