/**
 * Metrics in Prometheus' text form, under etcd's names and units where etcd has them, so that its
 * dashboards and alerts keep working; metrics without a counterpart in etcd are named `pilothouse_store_*`.
 */
import { processMetrics, type ProcessFigures } from "#platform/process-metrics.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { describeAsEtcd } from "#store/etcd-metrics.ts";
import type { StripeStats } from "#store/engines/engine.ts";
import type { FullStore } from "#store/full-store.ts";
import { storeMetrics } from "#store/metrics.ts";
import { alarmName, type Alarms } from "./alarms.ts";
import type { EtcdCounters } from "./counters.ts";
import { etcdVersion, storageVersion } from "./maintenance.ts";

/** Empty for a log without stripes. */
function stripeMetrics(stripes: readonly StripeStats[]): readonly Metric[] {
  const each = (
    kind: Metric["kind"],
    name: string,
    help: string,
    value: (one: StripeStats) => number,
  ): readonly Metric[] =>
    stripes.map((one) => ({
      name: `pilothouse_store_stripe_${name}`,
      kind,
      help,
      value: value(one),
      labels: `{stripe=${JSON.stringify(one.name)}}`,
    }));
  return [
    ...each("counter", "puts_total", "Puts into the stripe.", ({ puts }) => puts),
    ...each("counter", "put_seconds_total", "Time that they took.", (one) => one.putSeconds),
    ...each(
      "gauge",
      "holds_commit_seconds",
      "For how long every write has waited for this stripe; 0: none does.",
      ({ holdsSeconds }) => holdsSeconds,
    ),
  ];
}

interface Metric {
  readonly name: string;
  readonly kind: "gauge" | "counter";
  readonly help: string;
  readonly value: number;
  /** `{name="value"}`, or absent. */
  readonly labels?: string;
}

export interface MetricsDeps {
  readonly store: FullStore;
  readonly alarms: Alarms;
  readonly figures: () => ProcessFigures;
  /** Whether this replica holds the log; absent: it is the only one. */
  readonly holds?: () => boolean;
  /** Number of changes of the holder that were seen, the first holder included; absent: 1. */
  readonly leaderChanges?: () => number;
  /** Counters of the port's calls and connections; absent: they are not counted. */
  readonly counters?: EtcdCounters;
}

/** @returns the function that writes the page. Call once: it counts the store's commits from then on. */
export function metricsPages(deps: MetricsDeps, quotaBytes: number): () => string {
  const named = new MetricSet();
  describeAsEtcd(named, deps.store, {
    quotaBytes,
    holds: deps.holds ?? (() => true),
    leaderChanges: deps.leaderChanges ?? (() => 1),
  });
  return () => figuresText(deps) + named.text() + (deps.counters?.set.text() ?? "");
}

function figuresText(deps: MetricsDeps): string {
  const figures = deps.figures();
  const metrics: readonly Metric[] = [
    ...serverMetrics(),
    ...alarmMetrics(deps.alarms),
    ...storeMetrics(deps.store.stats()).map(({ name, help, value }) => gauge(name, help, value)),
    ...stripeMetrics(deps.store.stats().engine.stripes ?? []),
    ...processMetrics(figures),
    ...openFiles(figures),
  ];
  let before = "";
  return metrics
    .map((metric) => {
      const head = metric.name === before ? "" : headOf(metric);
      before = metric.name;
      return `${head}${metric.name}${metric.labels ?? ""} ${metric.value}\n`;
    })
    .join("");
}

/** Two figures of the process under etcd's own names. */
function openFiles({ openFiles: used, openFilesMax: limit }: ProcessFigures): Metric[] {
  return [
    ...(used === undefined ? [] : [gauge("os_fd_used", "File descriptors that are open.", used)]),
    ...(limit === undefined
      ? []
      : [gauge("os_fd_limit", "File descriptors that may be open.", limit)]),
  ];
}

function headOf({ name, kind, help }: Metric): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
}

function gauge(name: string, help: string, value: number, labels = ""): Metric {
  return { name, kind: "gauge", help, value, labels };
}

function serverMetrics(): Metric[] {
  const cluster = storageVersion.replace(/\.\d+$/, "");
  return [
    gauge(
      "etcd_cluster_version",
      "1 for the cluster's version",
      1,
      `{cluster_version="${cluster}"}`,
    ),
    gauge(
      "etcd_server_version",
      "1 for the server's version",
      1,
      `{server_version="${etcdVersion}"}`,
    ),
  ];
}

function alarmMetrics({ active }: Alarms): Metric[] {
  return active.map(({ memberId, alarm }) =>
    gauge(
      "etcd_server_alarms",
      "alarms that are on",
      1,
      `{server_id="${memberId.toString(16)}",alarm_type="${alarmName(alarm)}"}`,
    ),
  );
}
