/** One fault per rule, as a control plane shows it: its signal, and its side effects. */
import type { SeenObject, Workload } from "../evidence.ts";
import { named, nowMs, secondsAgo } from "./evidence.ts";
import { leaseOf, type Pick } from "./healthy.ts";
import { gauge, grew, type Pair, type Parts, took } from "./lines.ts";

export interface Fault {
  readonly rule: string;
  /** Text that the culprit must contain. */
  readonly culprit: string;
  /** Other rules that may report the fault too. */
  readonly symptoms: readonly string[];
  parts(pick: Pick): Parts;
}

function fault(
  rule: string,
  culprit: string,
  parts: (pick: Pick) => Parts,
  symptoms: readonly string[] = [],
): Fault {
  return { rule, culprit, parts, symptoms };
}

function slow(verb: string, resource: string, count: number, seconds: number): readonly Pair[] {
  const labels = `verb="${verb}",group="",resource="${resource}",scope="cluster",fault="x"`;
  return took("apiserver_request_duration_seconds", labels, count, seconds);
}

const etcd = (...pairs: readonly Pair[]): Parts => ({ programs: { etcd: pairs } });
const scheduler = (...pairs: readonly Pair[]): Parts => ({ programs: { scheduler: pairs } });
const requests = (verb: string, resource: string, count: number, code = "200"): Pair =>
  grew(
    `apiserver_request_total{verb="${verb}",group="",resource="${resource}",code="${code}",fault="x"}`,
    Math.round(count),
  );

const fromObjects: readonly Fault[] = [
  fault("aggregated-api-away", "v1.away.example.com", () => {
    const condition = { type: "Available", status: "False", reason: "ServiceNotFound" };
    const away = named("v1.away.example.com", { status: { conditions: [condition] } });
    return { objects: { apiservices: [away] } };
  }),
  fault("leader-stuck", "shop-controller", (pick) => ({
    objects: { leases: [leaseOf("shop-controller", pick(46, 5_000))] },
  })),
  fault("certificate-near-end", "serving certificate", (pick) => ({
    servingCertificateEndMs: nowMs + pick(-3, 6.9) * 86_400_000,
  })),
  fault("stuck-namespace", "finalizers example.com/hold", (pick) => ({
    objects: { namespaces: [stuckNamespace(pick)] },
  })),
  fault("silent-nodes", "node node-0", (pick) => ({
    objects: { nodeLeases: [leaseOf("node-0", pick(51, 900)), leaseOf("node-1", pick(51, 900))] },
  })),
  fault(
    "pod-herd",
    "node node-0",
    (pick) => ({
      objects: { nodeLeases: [leaseOf("node-0", pick(60, 900))] },
      pairs: [
        requests("DELETE", "pods", pick(210, 2_000)),
        requests("POST", "pods", pick(210, 2_000), "201"),
      ],
    }),
    ["silent-nodes"],
  ),
];

function stuckNamespace(pick: Pick): SeenObject {
  const deletionTimestamp = secondsAgo(pick(301, 90_000));
  return { metadata: { name: "held", deletionTimestamp, finalizers: ["example.com/hold"] } };
}

const fromServer: readonly Fault[] = [
  fault(
    "webhook",
    "webhook dead",
    (pick) => ({
      pairs: [
        grew(
          'apiserver_admission_webhook_rejection_count{name="dead",error_type="calling_webhook_error"}',
          9,
        ),
        requests("POST", "secrets", 9, "500"),
        ...slow("POST", "secrets", 9, pick(0.01, 10)),
      ],
    }),
    ["slow-requests"],
  ),
  fault(
    "conversion-webhook",
    "shops.example.com",
    (pick) => ({
      pairs: [
        ...took(
          "apiserver_crd_conversion_webhook_duration_seconds",
          'crd_name="shops.example.com",succeeded="false"',
          Math.round(pick(1, 90)),
          0.01,
        ),
        requests("GET", "shops", pick(1, 90), "500"),
      ],
    }),
    ["request-errors"],
  ),
  fault("flow-control", "mallory", (pick) => ({
    pairs: [
      grew(
        'apiserver_flowcontrol_rejected_requests_total{priority_level="workload-low",flow_schema="service-accounts",reason="queue-full"}',
        Math.round(pick(1, 900)),
      ),
    ],
    held: Array.from({ length: 9 }, () => ({
      level: "workload-low",
      schema: "service-accounts",
      user: "mallory",
      verb: "list",
      resource: "pods",
    })),
  })),
  fault(
    "store-latency",
    "update of nodes",
    (pick) => {
      const seconds = pick(0.11, 3);
      const store = took(
        "etcd_request_duration_seconds",
        'operation="update",type="nodes"',
        50,
        seconds,
      );
      return { pairs: [...store, ...slow("PATCH", "nodes", 50, seconds)] };
    },
    ["slow-requests"],
  ),
  fault("store-size", "store", (pick) => ({
    pairs: [gauge("apiserver_storage_size_bytes", pick(0.86, 1) * 2 * 2 ** 30)],
  })),
  fault("request-errors", "PATCH of nodes", (pick) => ({
    pairs: [requests("PATCH", "nodes", 50), requests("PATCH", "nodes", pick(20, 90), "503")],
  })),
  fault("slow-requests", "PUT of services", (pick) => ({
    pairs: slow("PUT", "services", Math.round(pick(2_000, 9_000)), pick(2, 20)),
  })),
  fault(
    "list-storm",
    "poller/1 (eve)",
    (pick) => ({
      pairs: [requests("LIST", "secrets", pick(500, 9_000))],
      calls: [caller("poller/1", "list", "secrets", 90_000)],
    }),
    ["greedy-caller"],
  ),
  fault("slow-watchers", "watchers of pods", (pick) => ({
    pairs: [grew('apiserver_terminated_watchers_total{group="",resource="pods"}', pick(3, 90))],
  })),
  fault("open-files", "API server", (pick) => ({
    pairs: [gauge("process_open_fds", pick(830, 1_024)), gauge("process_max_fds", 1_024)],
  })),
  fault("object-growth", "secrets", (pick) => ({
    pairs: [
      gauge('apiserver_resource_objects{group="",resource="secrets"}', pick(25_001, 900_000)),
    ],
  })),
  fault("watch-fan-out", "sidecar/1 (eve)", (pick) => ({
    pairs: [
      gauge(
        'apiserver_longrunning_requests{verb="WATCH",group="",resource="services",scope="namespace"}',
        Math.round(pick(1_300, 90_000)),
      ),
    ],
    calls: [caller("sidecar/1", "watch", "services", 90_000)],
  })),
];

const fromServerToo: readonly Fault[] = [
  fault(
    "large-lists",
    "dashboard/1 (eve)",
    (pick) => ({
      pairs: [
        ...took(
          "apiserver_response_sizes",
          'verb="LIST",group="",resource="configmaps",fault="x"',
          200,
          pick(10, 90) * 2 ** 20,
        ),
        grew("process_cpu_seconds_total", pick(5, 79)),
      ],
      calls: [caller("dashboard/1", "list-whole", "configmaps", 200)],
    }),
    ["greedy-caller", "server-busy"],
  ),
  fault("watch-cache-restart", "watch cache of services", (pick) => ({
    pairs: [
      [
        'apiserver_watch_cache_initializations_total{group="",resource="services"}',
        1,
        Math.round(pick(2, 9)),
      ],
    ],
  })),
  fault("server-busy", "bytes sent", (pick) => ({
    pairs: [grew("process_cpu_seconds_total", pick(65, 80))],
  })),
  fault("long-turns", "get of widgets.x.y by eve", (pick) => ({
    pairs: heldBy("eve", "get", pick(5, 90), pick(1.1, 9)),
  })),
  fault("after-burst", "burst", (pick) => ({
    pairs: afterBurst(pick),
  })),
  fault("large-endpoints", "endpoints", (pick) => {
    const events = Math.round(pick(1_000, 9_000));
    return {
      pairs: [
        grew('apiserver_watch_events_total{group="",resource="endpoints"}', events),
        grew(
          'apiserver_watch_events_sizes_sum{group="",resource="endpoints"}',
          events * pick(16_000, 200_000),
        ),
      ],
    };
  }),
  fault("fan-out", "deployment edge/proxy", (pick) => ({
    calls: [
      {
        ...caller("proxy/1", "list", "services", Math.round(pick(3_100, 60_000))),
        user: "system:serviceaccount:edge:proxy",
      },
    ],
    workloads: [proxies(Math.round(pick(10, 300)))],
  })),
  fault("relay", "relay", (pick) => ({
    programs: {
      relay: [
        grew('relay_requests_total{by="mirror",code="200"}', pick(1, 9_000)),
        gauge('relay_upstream_lists_total{resource="pods"}', 1),
      ],
    },
  })),
  fault("greedy-caller", "crawler/1 (eve)", (pick) => ({
    calls: [caller("crawler/1", "list-whole", "events", Math.round(pick(50, 900)))],
  })),
];

function heldBy(user: string, verb: string, turns: number, seconds: number): readonly Pair[] {
  const of = `user="${user}",verb="${verb}",group="x.y",resource="widgets",stage="handler"`;
  return [
    grew(`pilothouse_long_turns_total{${of}}`, Math.ceil(turns)),
    grew(`pilothouse_long_turn_seconds_total{${of}}`, seconds),
  ];
}

function afterBurst(pick: Pick): readonly Pair[] {
  const name = "apiserver_request_sli_duration_seconds";
  const [past, calls] = [1_000_000, Math.round(pick(20, 900))];
  return [
    gauge("process_start_time_seconds", nowMs / 1_000 - 10_000),
    grew(`${name}_count{verb="GET",resource="pods"}`, calls, past),
    grew(`${name}_sum{verb="GET",resource="pods"}`, calls * pick(0.2, 2), past * 0.01),
  ];
}

function proxies(replicas: number): Workload {
  return {
    kind: "deployment",
    namespace: "edge",
    name: "proxy",
    serviceAccount: "proxy",
    replicas,
    containers: ["proxy"],
  };
}

function caller(
  userAgent: string,
  kind: "list" | "list-whole" | "watch",
  resource: string,
  count: number,
) {
  return { kind, userAgent, user: "eve", group: "", resource, count };
}

const fromPrograms: readonly Fault[] = [
  fault(
    "store-disk",
    "disk",
    (pick) => {
      const seconds = pick(0.033, 1.9);
      return {
        ...etcd(...took("etcd_disk_wal_fsync_duration_seconds", "", 50, seconds)),
        pairs: took(
          "etcd_request_duration_seconds",
          'operation="update",type="leases"',
          50,
          0.8 * seconds,
        ),
      };
    },
    ["store-latency"],
  ),
  fault(
    "store-quorum",
    "store",
    (pick) => ({
      ...etcd(
        gauge("etcd_server_has_leader", Math.round(pick(0, 1))),
        grew("etcd_server_leader_changes_seen_total", Math.round(pick(1, 9))),
      ),
      pairs: [requests("PATCH", "leases", 50), requests("PATCH", "leases", pick(0, 40), "504")],
    }),
    ["request-errors"],
  ),
  fault("store-fragmented", "etcd's database", (pick) =>
    etcd(
      gauge("etcd_mvcc_db_total_size_in_bytes", 2 ** 30),
      gauge("etcd_mvcc_db_total_size_in_use_in_bytes", pick(0.01, 0.49) * 2 ** 30),
    ),
  ),
  fault("scheduler-queue", "scheduler", (pick) =>
    scheduler(['scheduler_pending_pods{queue="active"}', pick(0, 500), pick(501, 90_000)]),
  ),
  fault("scheduler-slow", "InterPodAffinity", (pick) =>
    scheduler(
      ...took(
        "scheduler_scheduling_attempt_duration_seconds",
        'result="scheduled"',
        90,
        pick(0.13, 2),
      ),
      grew('scheduler_plugin_execution_duration_seconds_sum{plugin="InterPodAffinity"}', 60),
    ),
  ),
  fault("client-throttled", "controller-manager", (pick) => ({
    programs: {
      "controller-manager": took(
        "rest_client_rate_limiter_duration_seconds",
        'verb="PUT"',
        200,
        pick(0.06, 9),
      ),
    },
  })),
  fault("stuck-loop", "loop deployment", (pick) => ({
    programs: {
      "controller-manager": [
        gauge('workqueue_longest_running_processor_seconds{name="deployment"}', pick(301, 90_000)),
      ],
    },
  })),
];

export const faults: readonly Fault[] = [
  ...fromObjects,
  ...fromServer,
  ...fromServerToo,
  ...fromPrograms,
];
