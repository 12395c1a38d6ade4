/** What the kubelets of hollow nodes show. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { CpuCounters } from "./cpu-counters.ts";
import { resourceMetrics, statsSummary } from "./kubelet-pages.ts";
import { kubeletAsk, kubeletRights } from "./kubelet-request.ts";

const startTime = "1970-01-01T00:00:10Z";

function pod(cpu: string): Pod {
  const annotations = { "kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": "1Mi" };
  return {
    metadata: { name: "web", namespace: "shop", uid: "u", annotations },
    spec: { containers: [{ name: "main" }] },
    status: { phase: "Running", startTime },
  };
}

function page(pods: readonly Pod[], nowMs: number) {
  return { nodeName: "n", startedMs: 0, memoryBytes: 4_194_304n, pods, rules: [], nowMs };
}

test("metrics have a kubelet's names; CPU is counted since the start", () => {
  const text = resourceMetrics(page([pod("500m")], 20_000), new CpuCounters());
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  assert.deepEqual(lines, [
    'container_cpu_usage_seconds_total{container="main",namespace="shop",pod="web"} 5 20000',
    'container_memory_working_set_bytes{container="main",namespace="shop",pod="web"} 1048576 20000',
    'container_start_time_seconds{container="main",namespace="shop",pod="web"} 10',
    "node_cpu_usage_seconds_total 5 20000",
    "node_memory_working_set_bytes 1048576 20000",
    'pod_cpu_usage_seconds_total{namespace="shop",pod="web"} 5 20000',
    'pod_memory_working_set_bytes{namespace="shop",pod="web"} 1048576 20000',
    "resource_scrape_error 0",
    "",
  ]);
});

test("a counter goes on from where it was when the usage changes", () => {
  const counters = new CpuCounters();
  const cpuAt = (cpu: string, nowMs: number) =>
    /^pod_cpu\S+ (\S+)/m.exec(resourceMetrics(page([pod(cpu)], nowMs), counters))?.[1];
  assert.equal(cpuAt("1", 20_000), "10");
  assert.equal(cpuAt("100m", 30_000), "11");
  assert.equal(cpuAt("0", 40_000), "11");
});

test("a summary names node, pods and containers", () => {
  const summary = statsSummary(page([pod("250m")], 20_000), new CpuCounters());
  assert.deepEqual(summary["node"], {
    nodeName: "n",
    startTime: "1970-01-01T00:00:00Z",
    cpu: {
      time: "1970-01-01T00:00:20Z",
      usageNanoCores: 250_000_000,
      usageCoreNanoSeconds: 2_500_000_000,
    },
    memory: {
      time: "1970-01-01T00:00:20Z",
      availableBytes: 3_145_728,
      usageBytes: 1_048_576,
      workingSetBytes: 1_048_576,
      rssBytes: 1_048_576,
    },
  });
  assert.equal((summary["pods"] as readonly unknown[]).length, 1);
});

const asks = [
  ["/nodes/n/metrics/resource", "x:1", ["metrics"], "n"],
  ["/metrics/nodes/n/metrics/resource", "x:1", ["metrics"], "n"],
  ["/metrics/resource", "n:10250", ["metrics"], "n"],
  ["/stats/summary", "n", ["stats"], "n"],
  ["/pods/", "n", ["pods", "proxy"], "n"],
  ["/healthz", "n", ["healthz", "proxy"], "n"],
] as const;

for (const [path, host, rights, node] of asks) {
  test(`${path} at ${host} is for ${rights.join(" or ")}`, () => {
    const ask = kubeletAsk(path, host);
    assert.equal(ask.kind === "page" && ask.node, node);
    assert.deepEqual(kubeletRights(ask), rights);
  });
}

test("a log names its container, and all else is for those who may do everything", () => {
  const ask = kubeletAsk("/containerLogs/shop/web/main", "h");
  assert.deepEqual(ask, { kind: "logs", namespace: "shop", pod: "web", container: "main" });
  assert.deepEqual(kubeletRights(ask), ["proxy"]);
  for (const path of [
    "/",
    "/containerLogs/a/b",
    "/containerLogs/a/b/c/d",
    "/run/a/b/c",
    "/metrics",
  ]) {
    assert.equal(kubeletAsk(path, "h").kind, "unknown", path);
  }
});
