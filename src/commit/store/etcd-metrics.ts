/**
 * A store's metrics under etcd's names, units and buckets, so that etcd's dashboards and alerts keep working. Used by
 * the store's own port, and by an API server that has the store in its process.
 *
 * A store has no write-ahead log beside a backend. A batch of its log counts as a proposal, and the append of a batch
 * as the fsync of the write-ahead log. Publishing a batch to readers and watchers counts as the backend's commit.
 */
import type { HistogramCell, MetricSet } from "#metrics/metric-set.ts";
import type { OpenedStore, StoreStats } from "./full-store.ts";

/** 1 ms, doubled 13 times. */
const diskBounds = Array.from({ length: 14 }, (_, power) =>
  Number((0.001 * 2 ** power).toFixed(3)),
);

type NamedStore = Pick<
  OpenedStore,
  "stats" | "commitRevision" | "compactRevision" | "observeCommits" | "problem"
>;

/** Facts that the store does not know itself. */
interface EtcdRole {
  /** 0: no limit. */
  readonly quotaBytes: number;
  /** Whether this process holds the log. */
  readonly holds: () => boolean;
  /** Number of changes of the log's holder that were seen, the first holder included. */
  readonly leaderChanges: () => number;
}

export function describeAsEtcd(set: MetricSet, store: NamedStore, role: EtcdRole): void {
  describeDisk(set, store);
  describeProposals(set, store);
  describeSizes(set, store, role.quotaBytes);
  const gauge = (name: string, help: string, value: () => number): void =>
    set.gaugeOf(name, help, [], () => [[[], value()]]);
  gauge("etcd_server_has_leader", "1 while a process that holds the log can be reached.", () =>
    store.problem() === undefined ? 1 : 0,
  );
  gauge("etcd_server_is_leader", "1 when this process holds the log.", () =>
    role.holds() ? 1 : 0,
  );
  gauge("etcd_server_is_learner", "0: there are no learners.", () => 0);
  gauge(
    "etcd_server_leader_changes_seen_total",
    "Times that a process was seen to take the log, the first one included.",
    role.leaderChanges,
  );
}

function describeDisk(set: MetricSet, store: NamedStore): void {
  const histogram = (name: string, help: string): HistogramCell =>
    set.histogram(name, help, [], diskBounds).cell([]);
  const fsync = histogram(
    "etcd_disk_wal_fsync_duration_seconds",
    "Time until an appended batch was durable in seconds.",
  );
  const commit = histogram(
    "etcd_disk_backend_commit_duration_seconds",
    "Time to publish a durable batch to readers and watchers in seconds.",
  );
  store.observeCommits?.((appendMs, publishMs) => {
    fsync.observe(appendMs / 1000);
    commit.observe(publishMs / 1000);
  });
}

function describeProposals(set: MetricSet, store: NamedStore): void {
  const of = (name: string, help: string, read: (stats: StoreStats) => number): void =>
    set.plainGaugeOf(name, help, [], () => [[[], read(store.stats())]]);
  const records = ({ commits }: StoreStats): number => commits.records;
  of("etcd_server_proposals_committed_total", "Commands that are durable.", records);
  of("etcd_server_proposals_applied_total", "Commands that are durable and published.", records);
  of(
    "etcd_server_proposals_pending",
    "Commands that wait for a batch.",
    ({ commits }) => commits.waiting,
  );
  set.gaugeOf("etcd_server_proposals_failed_total", "0: a failure stops the store.", [], () => [
    [[], 0],
  ]);
  of(
    "etcd_disk_wal_write_bytes_total",
    "Bytes appended to the log.",
    ({ commits }) => commits.bytes,
  );
}

/** Bytes on disk; for a store in memory, the bytes it holds. */
export function storedBytes({ engine, bytes }: StoreStats): number {
  return Math.max(engine.storedBytes, bytes);
}

function describeSizes(set: MetricSet, store: NamedStore, quotaBytes: number): void {
  const of = (name: string, help: string, read: (stats: StoreStats) => number): void =>
    set.plainGaugeOf(name, help, [], () => [[[], read(store.stats())]]);
  of("etcd_server_quota_backend_bytes", "Bytes at which writes are refused.", () => quotaBytes);
  of("etcd_mvcc_db_total_size_in_bytes", "Bytes of log and checkpoints.", storedBytes);
  of(
    "etcd_mvcc_db_total_size_in_use_in_bytes",
    "Bytes of state and history.",
    ({ bytes }) => bytes,
  );
  of("etcd_debugging_mvcc_keys_total", "Keys.", ({ keys }) => keys);
  of("etcd_debugging_mvcc_current_revision", "Newest revision.", () => store.commitRevision);
  of("etcd_debugging_mvcc_compact_revision", "Compacted revision.", () => store.compactRevision);
  of("etcd_debugging_mvcc_watcher_total", "Watches.", ({ watches }) => watches.watches);
  of(
    "etcd_debugging_mvcc_slow_watcher_total",
    "Watches that are behind.",
    ({ watches }) => watches.behind,
  );
}
