/**
 * Parses the answers of metrics APIs. An aggregated server may send anything, so every field is checked. A malformed
 * item is left out, as if the metric was missing.
 */
import { parseGoDuration } from "#api/go/go-duration.ts";
import { parseTime } from "#api/values/time.ts";
import { isRecord } from "#base/is-record.ts";
import { addMilli, milliOf } from "./amounts.ts";
import { MetricError, type PodMetric, type Reading } from "./readings.ts";

/** Upstream's window of a metric that does not state one. */
const windowDefaultMs = 60_000;

type Fields = Readonly<Record<string, unknown>>;

/** Reads a PodMetricsList: the sum of a pod, or the amount of one container. @throws MetricError */
export function resourceReading(answer: unknown, resource: string, container: string): Reading {
  const items = itemsOf(answer, "resource");
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const milli = usageOf(item, resource, container);
    const name = nameOf(item["metadata"]);
    if (name === undefined || milli === undefined) continue;
    const timestampMs = timeOf(item["timestamp"]);
    metrics.set(name, { milli, timestampMs, windowMs: durationMs(item["window"]) });
  }
  return { kind: "pods", metrics };
}

/** If one container has no value, the pod has no metric. */
function usageOf(item: Fields, resource: string, container: string): bigint | undefined {
  const containers = list(item["containers"]);
  if (container !== "") {
    const one = containers.find(({ name }) => name === container);
    return one && amountIn(one, resource);
  }
  if (containers.length === 0) return undefined;
  let sum = 0n;
  for (const one of containers) {
    const milli = amountIn(one, resource);
    if (milli === undefined) return undefined;
    sum = addMilli(sum, milli);
  }
  return sum;
}

function amountIn({ usage }: Fields, resource: string): bigint | undefined {
  return isRecord(usage) && Object.hasOwn(usage, resource) ? milliOf(usage[resource]) : undefined;
}

/** Reads a MetricValueList of pods, v1beta1 or v1beta2. @throws MetricError */
export function podsReading(answer: unknown): Reading {
  const metrics = new Map<string, PodMetric>();
  for (const item of itemsOf(answer, "custom")) {
    const name = nameOf(item["describedObject"]);
    const milli = milliOf(item["value"]);
    if (name === undefined || milli === undefined) continue;
    const seconds = item["windowSeconds"] ?? item["window"];
    const windowMs = typeof seconds === "number" ? seconds * 1000 : windowDefaultMs;
    metrics.set(name, { milli, timestampMs: timeOf(item["timestamp"]), windowMs });
  }
  return { kind: "pods", metrics };
}

/** Reads a MetricValueList of one object. @throws MetricError */
export function objectReading(answer: unknown): Reading {
  const items = listOf(answer);
  if (items.length !== 1) {
    throw new MetricError(
      `unable to fetch metrics from custom metrics API: the custom metrics API server returned ${items.length} results when we asked for exactly one`,
    );
  }
  return { kind: "values", millis: valuesOf(items, "custom") };
}

/** Reads an ExternalMetricValueList. @throws MetricError */
export function externalReading(answer: unknown): Reading {
  return { kind: "values", millis: valuesOf(itemsOf(answer, "external"), "external") };
}

/** As in upstream's decoder, an invalid quantity fails the whole list. */
function valuesOf(items: readonly Fields[], api: string): readonly bigint[] {
  return items.map(({ value }) => {
    const milli = milliOf(value);
    if (milli !== undefined) return milli;
    const what = `unable to fetch metrics from ${api} metrics API`;
    throw new MetricError(`${what}: ${JSON.stringify(value).slice(0, 100)} is not a quantity`);
  });
}

function itemsOf(answer: unknown, api: string): readonly Fields[] {
  const items = listOf(answer);
  if (items.length > 0) return items;
  throw new MetricError(`no metrics returned from ${api} metrics API`);
}

function listOf(answer: unknown): readonly Fields[] {
  return isRecord(answer) ? list(answer["items"]) : [];
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function nameOf(value: unknown): string | undefined {
  const name = isRecord(value) ? value["name"] : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** An absent time is Go's zero time. */
function timeOf(value: unknown): number {
  return (typeof value === "string" ? parseTime(value) : undefined) ?? 0;
}

/** `30s`, `1m0.5s`: a metav1.Duration. */
function durationMs(value: unknown): number {
  return (typeof value === "string" ? parseGoDuration(value) : undefined) ?? 0;
}
