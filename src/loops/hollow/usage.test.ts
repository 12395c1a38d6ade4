/** What hollow pods say that they use. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { podMetrics, nodeMetrics } from "./metrics-objects.ts";
import { podUsage } from "./usage.ts";

function pod(annotations: Record<string, string>, requests?: Record<string, string>): Pod {
  const container = { name: "main", ...(requests && { resources: { requests } }) };
  return {
    metadata: { name: "web", namespace: "default", labels: { app: "web" }, annotations },
    spec: { containers: [container] },
    status: { phase: "Running" },
  };
}

const cpuKey = "kwok.x-k8s.io/usage-cpu";
const memoryKey = "kwok.x-k8s.io/usage-memory";
const most = 2n ** 63n - 1n;

const cases: readonly (readonly [string, Pod, bigint, bigint])[] = [
  ["annotations", pod({ [cpuKey]: "250m", [memoryKey]: "1Mi" }), 250_000_000n, 1_048_576n],
  ["a share of the request", pod({}, { cpu: "1", memory: "2Mi" }), 100_000_000n, 1_048_576n],
  ["no request", pod({}), 1_000_000n, 1_048_576n],
  ["zero", pod({ [cpuKey]: "0", [memoryKey]: "0" }), 0n, 0n],
  ["no quantity", pod({ [cpuKey]: "much", [memoryKey]: "-1" }), 1_000_000n, 1_048_576n],
  ["more than there is", pod({ [cpuKey]: "9e99", [memoryKey]: "9e99" }), most, most],
];

for (const [name, given, cpuNanos, memoryBytes] of cases) {
  test(`usage of a pod by ${name}`, () => {
    assert.deepEqual(podUsage(given), [{ name: "main", cpuNanos, memoryBytes }]);
  });
}

test("a pod that does not run uses nothing and has no metrics", () => {
  const pending = { ...pod({}), status: { phase: "Pending" } };
  assert.deepEqual(podUsage(pending), []);
  assert.equal(podMetrics(pending, 0), undefined);
});

test("sidecars count, other init containers do not", () => {
  const given = pod({});
  const initContainers = [{ name: "once" }, { name: "side", restartPolicy: "Always" }];
  const spec = { ...given.spec, containers: [{ name: "main" }], initContainers };
  assert.deepEqual(
    podUsage({ ...given, spec }).map(({ name }) => name),
    ["main", "side"],
  );
});

test("metrics have metrics-server's shape", () => {
  const metrics = podMetrics(pod({ [cpuKey]: "250m", [memoryKey]: "64Mi" }), 0);
  assert.deepEqual(metrics, {
    kind: "PodMetrics",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: {
      name: "web",
      namespace: "default",
      creationTimestamp: "1970-01-01T00:00:00Z",
      labels: { app: "web" },
    },
    timestamp: "1970-01-01T00:00:00Z",
    window: "15s",
    containers: [{ name: "main", usage: { cpu: "250m", memory: "64Mi" } }],
  });
  const node = nodeMetrics({ metadata: { name: "n" } }, [pod({}), pod({})], 0);
  assert.deepEqual(node["usage"], { cpu: "2m", memory: "2Mi" });
});
