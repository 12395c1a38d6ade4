/** The replica calculator: upstream's cases, and what hostile amounts do to it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { int64Max } from "#api/go/go-integer.ts";
import { formatTime } from "#api/values/time.ts";
import fc from "fast-check";
import { int32Max } from "./amounts.ts";
import { MetricError, type PodMetric, type PodMetrics } from "./readings.ts";
import {
  averageReplicas,
  type Proposal,
  type Scaled,
  sharedReplicas,
  utilizationReplicas,
  valueReplicas,
} from "./replicas.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");
const zero = "0001-01-01T00:00:00Z";
const starts: Readonly<Record<string, string>> = {
  hot: formatTime(nowMs - 10_000),
  cool: formatTime(nowMs - 3_600_000),
};

type Row = Readonly<Record<string, string>>;

const rows = readFileSync(new URL("testdata/replicas.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line): readonly [string, Row] => {
    const [name = "", fields = ""] = line.split(" | ");
    const pairs = fields.split(" ").map((field) => field.split("=", 2) as [string, string]);
    return [name, Object.fromEntries(pairs)];
  });

function list(row: Row, name: string): readonly string[] | undefined {
  return row[name]?.split(",");
}

function podsOf(row: Row): readonly Pod[] {
  const phases = list(row, "phase");
  const count = Math.max(Number(row["current"]), phases?.length ?? 0);
  return Array.from({ length: count }, (_, at) => {
    const cpu = list(row, "requests")?.[at];
    const requests =
      cpu === undefined ? {} : { resources: { requests: { [row["resource"] ?? ""]: cpu } } };
    const status = list(row, "ready")?.[at] ?? "True";
    const going = list(row, "going")?.[at] === "true" ? { deletionTimestamp: zero } : {};
    return {
      metadata: { name: `pod-${at}`, namespace: "default", ...going },
      spec: {
        containers: ["container1", "container2"].map((name) => ({ name, ...requests })),
      },
      status: {
        phase: phases?.[at] ?? "Running",
        startTime: starts[list(row, "start")?.[at] ?? ""] ?? zero,
        conditions: [{ type: "Ready", status, lastTransitionTime: zero }],
      },
    };
  });
}

function scaledOf(row: Row): Scaled {
  const [down = "0.1", up = down] = (row["tolerance"] ?? "0.1").split(",");
  return {
    replicas: Number(row["current"]),
    statusReplicas: Number(row["current"]),
    pods: podsOf(row),
    tolerances: { down: Number(down) || 0.1, up: Number(up) },
    times: { nowMs, cpuInitializationMs: 120_000, initialReadinessMs: 10_000 },
  };
}

function metric(milli: bigint): PodMetric {
  return { milli, timestampMs: Date.parse(zero), windowMs: 60_000 };
}

function metricsOf(row: Row): PodMetrics {
  const metrics = new Map<string, PodMetric>();
  for (const [at, level] of (list(row, "levels") ?? []).entries()) {
    const containers = level.split("+").map(BigInt);
    const index = row["container"] === "container2" ? 1 : 0;
    const one = containers[index];
    if (row["container"] !== undefined && one === undefined) continue;
    const sum = row["container"] === undefined ? containers.reduce((a, b) => a + b) : (one ?? 0n);
    metrics.set(list(row, "pods")?.[at] ?? `pod-${at}`, metric(sum));
  }
  return metrics;
}

function propose(row: Row): Proposal {
  const scaled = scaledOf(row);
  const target = BigInt(row["target"] ?? "0");
  const values = () => (list(row, "levels") ?? []).map(BigInt);
  switch (row["metric"]) {
    case undefined: {
      const { resource = "", container = "" } = row;
      const asked = { resource, container, percent: Number(target) };
      return utilizationReplicas(scaled, metricsOf(row), asked);
    }
    case "pod":
      return averageReplicas(scaled, metricsOf(row), { resource: "", target });
    case "object":
    case "external":
      return valueReplicas(scaled, values(), target);
    default:
      return sharedReplicas(scaled, values(), target);
  }
}

for (const [name, row] of rows) {
  test(`replicas: ${name}`, () => {
    const { error } = row;
    if (error !== undefined) {
      const words = error.replaceAll("_", " ");
      assert.throws(
        () => propose(row),
        (thrown) => thrown instanceof MetricError && thrown.message.includes(words),
      );
      return;
    }
    const { replicas, milli, percent } = propose(row);
    assert.equal(replicas, Number(row["want"]));
    assert.equal(milli, BigInt(row["milli"] ?? "0"));
    if (row["percent"] !== undefined) assert.equal(percent, Number(row["percent"]));
  });
}

test("hostile amounts stay within an int32 of replicas and an int64 of thousandths", () => {
  const amount = fc.bigInt({ min: -int64Max, max: int64Max });
  const target = fc.bigInt({ min: 1n, max: int64Max });
  fc.assert(
    fc.property(fc.array(amount, { minLength: 1, maxLength: 6 }), target, (millis, wanted) => {
      const scaled = scaledOf({ current: "4", requests: "1,1,1,1", resource: "cpu" });
      const metrics = new Map(millis.map((milli, at) => [`pod-${at}`, metric(milli)]));
      const proposals = [
        averageReplicas(scaled, metrics, { resource: "", target: wanted }),
        utilizationReplicas(scaled, metrics, { resource: "cpu", container: "", percent: 50 }),
        valueReplicas(scaled, millis, wanted),
        sharedReplicas(scaled, millis, wanted),
      ];
      for (const { replicas, milli, percent = 0 } of proposals) {
        assert.ok(Number.isInteger(replicas) && Math.abs(replicas) <= int32Max);
        assert.ok(milli <= int64Max && milli >= -int64Max);
        assert.ok(Math.abs(percent) <= int32Max);
      }
    }),
  );
});

test("a target without replicas has its number from the ratio alone", () => {
  const none = { ...scaledOf({ current: "0" }), statusReplicas: 0 };
  assert.equal(valueReplicas(none, [7_000n], 2_000n).replicas, 4);
  assert.equal(valueReplicas(none, [0n], 2_000n).replicas, 0);
  assert.equal(sharedReplicas(none, [7_000n], 2_000n).replicas, 4);
  assert.equal(sharedReplicas(none, [0n], 2_000n).replicas, 0);
});
