/** What is counted of addresses that Services get. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import { AllocatorMetrics } from "./allocator-metrics.ts";

test("addresses are counted by how they were asked for, and what is left by the range", async () => {
  const set = new MetricSet();
  const addresses = [{ apiVersion: "networking.k8s.io/v1", kind: "IPAddress" }];
  const lookup = { get: () => undefined, list: () => addresses };
  const metrics = new AllocatorMetrics(set, lookup, "10.0.0.0/24");
  assert.equal(await metrics.counted("dynamic", () => Promise.resolve("10.0.0.7")), "10.0.0.7");
  const full = new Error("range is full");
  await assert.rejects(
    metrics.counted("static", () => Promise.reject(full)),
    full,
  );
  const lines = set.text().split("\n");
  const prefix = "kube_apiserver_clusterip_allocator";
  for (const line of [
    `${prefix}_allocation_total{cidr="10.0.0.0/24",scope="dynamic"} 1`,
    `${prefix}_allocation_errors_total{cidr="10.0.0.0/24",scope="static"} 1`,
    `${prefix}_allocated_ips{cidr="10.0.0.0/24"} 1`,
    `${prefix}_available_ips{cidr="10.0.0.0/24"} 253`,
  ])
    assert.ok(lines.includes(line), line);
});
