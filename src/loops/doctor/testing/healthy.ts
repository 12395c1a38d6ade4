/** A healthy control plane of any size, with random values that look like faults but violate no rule. */
import type { FakeRandom } from "#platform/testing/random.ts";
import type { SeenObject } from "../evidence.ts";
import { named, nowMs, secondsAgo } from "./evidence.ts";
import { gauge, grew, type Pair, type Parts, took } from "./lines.ts";

export type Pick = (least: number, most: number) => number;

const dayMs = 86_400_000;
const kinds = ["pods", "secrets", "configmaps", "services", "nodes", "endpoints", "events"];

/** Returns a function that picks a random number from a range. */
export function pickFrom(random: FakeRandom): Pick {
  return (least, most) => least + (random.next32() / 2 ** 32) * (most - least);
}

export function leaseOf(name: string, seconds: number): SeenObject {
  const spec = {
    holderIdentity: `${name}-0`,
    leaseDurationSeconds: 15,
    renewTime: secondsAgo(seconds),
  };
  return named(name, { spec });
}

export function healthy(pick: Pick): Parts {
  const nodes = Math.round(pick(3, 300));
  const nodeLeases = Array.from({ length: nodes }, (_, at) => leaseOf(`node-${at}`, pick(0, 45)));
  const terminating = {
    metadata: { name: "going", deletionTimestamp: secondsAgo(pick(1, 280)) },
  };
  const available = { type: "Available", status: "True" };
  return {
    pairs: [
      ...kinds.flatMap((kind) => requestsOf(kind, pick)),
      ...serverOf(pick),
      ...oldFaults(pick),
    ],
    objects: {
      nodeLeases,
      namespaces: [named("default"), terminating],
      apiservices: [named("v1.metrics.example.com", { status: { conditions: [available] } })],
      leases: [
        leaseOf("kube-scheduler", pick(0, 40)),
        leaseOf("kube-controller-manager", pick(0, 40)),
        leaseOf("apiserver-abc", pick(0, 3_000)),
      ],
    },
    programs: {
      etcd: etcdOf(pick),
      scheduler: schedulerOf(pick),
      "controller-manager": loopsOf(pick),
    },
    calls: [
      { ...kubelet, kind: "list", count: Math.round(pick(0, 5_000)), resource: "pods" },
      { ...kubelet, kind: "list-whole", count: Math.round(pick(0, 45)), resource: "secrets" },
      { ...kubelet, kind: "write", count: Math.round(pick(0, 20_000)), resource: "leases" },
      { ...kubelet, kind: "watch", count: Math.round(pick(0, 5_000)), resource: "pods" },
    ],
    servingCertificateEndMs: nowMs + pick(8, 300) * dayMs,
  };
}

const kubelet = { userAgent: "kubelet/v1.36", user: "system:node:a", group: "" };

function requestsOf(kind: string, pick: Pick): readonly Pair[] {
  const of = (verb: string): string => `verb="${verb}",group="",resource="${kind}",scope="cluster"`;
  const [reads, writes, lists] = [pick(10, 2_000), pick(10, 900), pick(0, 40)].map(Math.round);
  const size = "apiserver_response_sizes";
  const duration = "apiserver_request_duration_seconds";
  return [
    grew(`apiserver_request_total{${of("GET")},code="200"}`, reads ?? 0),
    grew(`apiserver_request_total{${of("GET")},code="404"}`, pick(0, 100)),
    grew(`apiserver_request_total{${of("PUT")},code="200"}`, writes ?? 0),
    // Below the threshold of three percent.
    grew(`apiserver_request_total{${of("PUT")},code="504"}`, Math.floor((writes ?? 0) * 0.02)),
    grew(`apiserver_request_total{${of("LIST")},code="200"}`, lists ?? 0),
    ...took(duration, of("GET"), reads ?? 0, pick(0.001, 0.5)),
    ...took(duration, of("LIST"), lists ?? 0, pick(0.01, 4)),
    ...took(duration, of("WATCH"), 9, 300),
    ...took(size, of("LIST"), lists ?? 0, pick(100, 4 * 2 ** 20)),
    gauge(`apiserver_longrunning_requests{${of("WATCH")}}`, Math.round(pick(0, 450))),
    gauge(`apiserver_resource_objects{group="",resource="${kind}"}`, Math.round(pick(0, 24_000))),
    grew(
      `apiserver_terminated_watchers_total{group="",resource="${kind}"}`,
      Math.floor(pick(0, 3)),
    ),
    gauge(
      `apiserver_watch_cache_initializations_total{group="",resource="${kind}"}`,
      Math.floor(pick(1, 5)),
    ),
  ];
}

/** Makes fewer or shorter long turns than the rule reports. */
function heldNowAndThen(pick: Pick): readonly Pair[] {
  const of = 'user="ops",verb="list",group="",resource="pods",stage="handler"';
  const turns = Math.round(pick(0, 30));
  return [
    grew(`pilothouse_long_turns_total{${of}}`, turns),
    grew(`pilothouse_long_turn_seconds_total{${of}}`, turns < 5 ? pick(0, 9) : pick(0, 0.9)),
  ];
}

function serverOf(pick: Pick): readonly Pair[] {
  const files = Math.round(pick(1_000, 60_000));
  return [
    gauge("process_open_fds", Math.floor(files * pick(0.05, 0.78))),
    gauge("process_max_fds", files),
    gauge("go_sched_gomaxprocs_threads", 8),
    grew("process_cpu_seconds_total", pick(0.1, 6)),
    ...heldNowAndThen(pick),
    gauge("process_start_time_seconds", nowMs / 1_000 - pick(10, 1_000_000)),
    gauge("apiserver_storage_size_bytes", pick(10 * 2 ** 20, 1.6 * 2 ** 30)),
    gauge(
      'apiserver_flowcontrol_current_executing_seats{flow_schema="s",priority_level="workload-low"}',
      Math.floor(pick(0, 79)),
    ),
    gauge('apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"}', 100),
    ...took("etcd_request_duration_seconds", 'operation="update",type="pods"', 50, pick(0, 0.09)),
    ...took(
      "apiserver_admission_webhook_admission_duration_seconds",
      'name="policy"',
      9,
      pick(0, 0.4),
    ),
    ...took(
      "apiserver_crd_conversion_webhook_duration_seconds",
      'crd_name="shops.example.com",succeeded="true"',
      9,
      pick(0, 0.4),
    ),
    ...took("rest_client_rate_limiter_duration_seconds", 'verb="GET"', 99, pick(0, 0.04)),
  ];
}

/** Counters of faults that ended before the first sample. */
function oldFaults(pick: Pick): readonly Pair[] {
  const old = (series: string): Pair => gauge(series, Math.round(pick(0, 9_000)));
  return [
    old(
      'apiserver_admission_webhook_rejection_count{name="old",error_type="calling_webhook_error"}',
    ),
    old('apiserver_admission_webhook_fail_open_count{name="old"}'),
    old(
      'apiserver_flowcontrol_rejected_requests_total{priority_level="l",flow_schema="old",reason="time-out"}',
    ),
    old('apiserver_client_certificate_expiration_seconds_bucket{le="86400"}'),
    old(
      'apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="old",succeeded="false"}',
    ),
  ];
}

function etcdOf(pick: Pick): readonly Pair[] {
  const size = pick(50, 1_700) * 2 ** 20;
  return [
    ...took("etcd_disk_wal_fsync_duration_seconds", "", 90, pick(0.0005, 0.007)),
    ...took("etcd_disk_backend_commit_duration_seconds", "", 90, pick(0.001, 0.03)),
    ...took("etcd_network_peer_round_trip_time_seconds", 'To="b"', 9, pick(0.0005, 0.1)),
    gauge("etcd_server_has_leader", 1),
    gauge("etcd_server_leader_changes_seen_total", Math.round(pick(1, 9))),
    grew("etcd_server_proposals_failed_total", Math.floor(pick(0, 4))),
    gauge("etcd_server_quota_backend_bytes", 2 * 2 ** 30),
    gauge("etcd_mvcc_db_total_size_in_bytes", size),
    gauge("etcd_mvcc_db_total_size_in_use_in_bytes", size * pick(0.55, 1)),
  ];
}

function schedulerOf(pick: Pick): readonly Pair[] {
  return [
    ['scheduler_pending_pods{queue="active"}', pick(0, 900), pick(0, 400)],
    grew('scheduler_schedule_attempts_total{result="scheduled"}', Math.round(pick(50, 500))),
    grew('scheduler_schedule_attempts_total{result="unschedulable"}', Math.round(pick(0, 300))),
    ...took(
      "scheduler_scheduling_attempt_duration_seconds",
      'result="scheduled"',
      90,
      pick(0, 0.1),
    ),
    grew('scheduler_plugin_execution_duration_seconds_sum{plugin="NodeName"}', 1),
  ];
}

function loopsOf(pick: Pick): readonly Pair[] {
  return [
    gauge('workqueue_longest_running_processor_seconds{name="job"}', pick(0, 280)),
    grew('workqueue_work_duration_seconds_count{name="job"}', Math.round(pick(0, 90))),
    grew('workqueue_adds_total{name="job"}', 1_000),
    grew('workqueue_retries_total{name="job"}', Math.round(pick(0, 90))),
    ...took("rest_client_rate_limiter_duration_seconds", 'verb="PUT"', 99, pick(0, 0.04)),
  ];
}
