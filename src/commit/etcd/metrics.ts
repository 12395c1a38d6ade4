/**
 * Metrics in Prometheus' text form, under etcd's names and units where it has them, so that its
 * dashboards and alerts go on working; what is only ours is named `pilothouse_store_*`.
 */
import { processMetrics, type ProcessFigures } from "#platform/process-metrics.ts";
import type { FullStore } from "#store/full-store.ts";
import { storeMetrics } from "#store/metrics.ts";
import { alarmName, type Alarms } from "./alarms.ts";
import { etcdVersion, storageVersion } from "./maintenance.ts";

interface Metric {
  readonly name: string;
  readonly kind: "gauge" | "counter";
  readonly help: string;
  readonly value: number;
  /** `{name="value"}`, or nothing. */
  readonly labels?: string;
}

export interface MetricsDeps {
  readonly store: FullStore;
  readonly alarms: Alarms;
  readonly figures: () => ProcessFigures;
  /** Whether this replica holds the log; absent: it is the only one. */
  readonly holds?: () => boolean;
}

export function metricsText(deps: MetricsDeps, quotaBytes: number): string {
  const metrics: readonly Metric[] = [
    ...serverMetrics(deps.holds?.() ?? true),
    ...alarmMetrics(deps.alarms),
    ...etcdStoreMetrics(deps.store, quotaBytes),
    ...processMetrics(deps.figures()),
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

function headOf({ name, kind, help }: Metric): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
}

function gauge(name: string, help: string, value: number, labels = ""): Metric {
  return { name, kind: "gauge", help, value, labels };
}

function serverMetrics(holds: boolean): Metric[] {
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
    gauge("etcd_server_has_leader", "1 when there is a leader: always", 1),
    gauge("etcd_server_is_leader", "1 when this member leads", holds ? 1 : 0),
    gauge("etcd_server_is_learner", "1 when this member learns: never", 0),
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

function etcdStoreMetrics(store: FullStore, quotaBytes: number): Metric[] {
  const stats = store.stats();
  const { keys, bytes, watches, engine } = stats;
  const total = Math.max(engine.storedBytes, bytes);
  return [
    gauge("etcd_server_quota_backend_bytes", "database quota", quotaBytes),
    gauge("etcd_mvcc_db_total_size_in_bytes", "bytes on disk", total),
    gauge("etcd_mvcc_db_total_size_in_use_in_bytes", "bytes of state and history", bytes),
    gauge("etcd_debugging_mvcc_keys_total", "keys", keys),
    gauge("etcd_debugging_mvcc_current_revision", "newest revision", store.commitRevision),
    gauge("etcd_debugging_mvcc_compact_revision", "compacted revision", store.compactRevision),
    gauge("etcd_debugging_mvcc_watcher_total", "watches", watches.watches),
    gauge("etcd_debugging_mvcc_slow_watcher_total", "watches that are behind", watches.behind),
    ...storeMetrics(stats).map(({ name, help, value }) => gauge(name, help, value)),
  ];
}
