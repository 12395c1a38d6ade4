/** A hollow kubelet's pages about its pods: `/metrics/resource` and `/stats/summary`; pure except for the counters. */
import type { Pod } from "#api/gen/types.ts";
import type { JsonObject } from "#api/object.ts";
import { formatTime, parseTime } from "#api/values/time.ts";
import type { CpuCounters } from "./cpu-counters.ts";
import type { UsageRule } from "./usage-rules.ts";
import { podUsage, sumOfUsage } from "./usage.ts";

export interface NodePage {
  readonly nodeName: string;
  /** Creation time of the node. */
  readonly startedMs: number;
  readonly memoryBytes: bigint;
  readonly pods: readonly Pod[];
  readonly rules: readonly UsageRule[];
  readonly nowMs: number;
}

interface Used {
  readonly startedMs: number;
  readonly cpuNanos: bigint;
  /** CPU time from the counters. */
  readonly cpuTimeNanos: bigint;
  readonly memoryBytes: bigint;
}

interface UsedPod extends Used {
  readonly pod: Pod;
  readonly containers: readonly (Used & { readonly name: string })[];
}

function usedPods({ pods, rules, nowMs }: NodePage, counters: CpuCounters): readonly UsedPod[] {
  return pods.flatMap((pod) => {
    const startedMs = parseTime(pod.status?.startTime) ?? nowMs;
    const containers = podUsage(pod, rules).map(({ name, cpuNanos, memoryBytes }) => {
      const key = `${pod.metadata?.uid ?? ""}/${name}`;
      const cpuTimeNanos = counters.until(key, startedMs, nowMs, cpuNanos);
      return { name, startedMs, cpuNanos, cpuTimeNanos, memoryBytes };
    });
    if (containers.length === 0) return [];
    return [{ pod, containers, startedMs, ...summed(containers) }];
  });
}

function summed(list: readonly Used[]) {
  const cpuTimeNanos = list.reduce((sum, one) => sum + one.cpuTimeNanos, 0n);
  return { ...sumOfUsage(list), cpuTimeNanos };
}

/** Returns the page in Prometheus' text format, with a kubelet's metric names and help texts. */
export function resourceMetrics(page: NodePage, counters: CpuCounters): string {
  const pods = usedPods(page, counters);
  const node = summed(pods);
  const { nowMs } = page;
  const containers = pods.flatMap(({ pod, containers: list }) =>
    list.map((one) => ({ ...one, labels: `{container=${quoted(one.name)},${podLabels(pod)}}` })),
  );
  const ofPods = pods.map((one) => ({ ...one, labels: `{${podLabels(one.pod)}}` }));
  const cpu = (one: Used): string => seconds(one.cpuTimeNanos);
  const memory = (one: Used): string => String(one.memoryBytes);
  const started = (one: Used): string => String(one.startedMs / 1_000);
  return [
    family(
      "container_cpu_usage_seconds_total",
      "counter",
      helps.containerCpu,
      containers,
      cpu,
      nowMs,
    ),
    family(
      "container_memory_working_set_bytes",
      "gauge",
      helps.containerMemory,
      containers,
      memory,
      nowMs,
    ),
    family("container_start_time_seconds", "gauge", helps.started, containers, started),
    family(
      "node_cpu_usage_seconds_total",
      "counter",
      helps.nodeCpu,
      [{ ...node, startedMs: 0, labels: "" }],
      cpu,
      nowMs,
    ),
    family(
      "node_memory_working_set_bytes",
      "gauge",
      helps.nodeMemory,
      [{ ...node, startedMs: 0, labels: "" }],
      memory,
      nowMs,
    ),
    family("pod_cpu_usage_seconds_total", "counter", helps.podCpu, ofPods, cpu, nowMs),
    family("pod_memory_working_set_bytes", "gauge", helps.podMemory, ofPods, memory, nowMs),
    `# HELP resource_scrape_error [STABLE] ${helps.error}\n# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n`,
  ].join("");
}

const helps = {
  containerCpu: "Cumulative cpu time consumed by the container in core-seconds",
  containerMemory: "Current working set of the container in bytes",
  started: "Start time of the container since unix epoch in seconds",
  nodeCpu: "Cumulative cpu time consumed by the node in core-seconds",
  nodeMemory: "Current working set of the node in bytes",
  podCpu: "Cumulative cpu time consumed by the pod in core-seconds",
  podMemory: "Current working set of the pod in bytes",
  error: "1 if there was an error while getting container metrics, 0 otherwise",
} as const;

function family<T extends Used & { readonly labels: string }>(
  name: string,
  type: string,
  help: string,
  list: readonly T[],
  valueOf: (one: T) => string,
  nowMs?: number,
): string {
  if (list.length === 0) return "";
  const at = nowMs === undefined ? "" : ` ${Math.floor(nowMs)}`;
  const lines = list.map((one) => `${name}${one.labels} ${valueOf(one)}${at}\n`);
  return `# HELP ${name} [STABLE] ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function podLabels({ metadata }: Pod): string {
  return `namespace=${quoted(metadata?.namespace ?? "")},pod=${quoted(metadata?.name ?? "")}`;
}

/** Quotes a name; names of the API need no escapes. */
function quoted(text: string): string {
  return `"${text}"`;
}

function seconds(nanos: bigint): string {
  return String(Number(nanos) / 1e9);
}

/** Returns a stats/v1alpha1 Summary with a kubelet's CPU and memory metrics. */
export function statsSummary(page: NodePage, counters: CpuCounters): JsonObject {
  const pods = usedPods(page, counters);
  const time = formatTime(page.nowMs);
  return {
    node: {
      nodeName: page.nodeName,
      startTime: formatTime(page.startedMs),
      ...stats({ ...summed(pods), startedMs: page.startedMs }, time, page.memoryBytes),
    },
    pods: pods.map(({ pod, containers, ...used }) => ({
      podRef: {
        name: pod.metadata?.name ?? "",
        namespace: pod.metadata?.namespace ?? "",
        uid: pod.metadata?.uid ?? "",
      },
      startTime: formatTime(used.startedMs),
      containers: containers.map(({ name, ...one }) => ({
        name,
        startTime: formatTime(one.startedMs),
        ...stats(one, time),
      })),
      ...stats(used, time),
    })),
  };
}

function stats(used: Used, time: string, memoryBytes?: bigint): JsonObject {
  const inUse = Number(used.memoryBytes);
  const left = memoryBytes === undefined ? {} : { availableBytes: Number(memoryBytes) - inUse };
  return {
    cpu: {
      time,
      usageNanoCores: Number(used.cpuNanos),
      usageCoreNanoSeconds: Number(used.cpuTimeNanos),
    },
    memory: { time, ...left, usageBytes: inUse, workingSetBytes: inUse, rssBytes: inUse },
  };
}
