/** Finds a slow store, which slows every write. The kind of call distinguishes a full disk queue from a large range. */
import { growth } from "../evidence.ts";
import { kindOf, type Rule } from "../rule.ts";

const warnSeconds = 0.1;
const pageSeconds = 0.5;
/** Minimum number of calls for a verdict. */
const callsMin = 5;
/** Before 1.34, the label `type` held the kind, or a path of etcd's keys. */
const by = ["operation", "type", "group", "resource"];

export const storeLatency: Rule = {
  id: "store-latency",
  title: "The store answers slowly",
  reads: ["etcd_request_duration_seconds_sum", "etcd_request_duration_seconds_count"],
  threshold: "mean of a kind of call above 0.1 s, of at least five; above 0.5 s pages",
  source: "Red Hat's etcd guidance: a commit beyond 100 ms is bad, 500 ms ends in lost leaders",
  alerts: [
    {
      query: `sum by (operation, type, group, resource) (rate(etcd_request_duration_seconds_sum[5m])) / sum by (operation, type, group, resource) (rate(etcd_request_duration_seconds_count[5m]))`,
      above: warnSeconds,
      severity: "warn",
    },
    {
      query: `sum by (operation, type, group, resource) (rate(etcd_request_duration_seconds_sum[5m])) / sum by (operation, type, group, resource) (rate(etcd_request_duration_seconds_count[5m]))`,
      above: pageSeconds,
      severity: "page",
    },
  ],
  judge: (evidence) => {
    const sums = growth(evidence, "etcd_request_duration_seconds_sum", by);
    const counts = growth(evidence, "etcd_request_duration_seconds_count", by);
    return [...counts].flatMap(([key, calls]) => {
      const mean = (sums.get(key) ?? 0) / calls;
      if (!(calls >= callsMin) || !(mean > warnSeconds)) return [];
      const [operation = ""] = key.split("/", 1);
      const type = typeOf(key.slice(operation.length + 1));
      return [
        {
          sentence: `the store takes ${mean.toFixed(2)} s for each ${operation} of ${type}`,
          culprit: `etcd, or what the API server stores in, with ${operation} of ${type}`,
          severity: mean > pageSeconds ? ("page" as const) : ("warn" as const),
          figures: { meanSeconds: mean, calls },
          remedy:
            "on each member: etcdctl endpoint status -w table, and its metrics etcd_disk_wal_fsync_duration_seconds and etcd_disk_backend_commit_duration_seconds; above 10 ms give it a disk of its own, else compact and defragment, a follower first",
          certainty: operation === "list" ? 0.5 : 0.8,
          unseen: "etcd's own metrics, which tell its disk from its network",
        },
      ];
    });
  },
};

/** Reads the labels after the operation. The first of them may contain slashes. */
function typeOf(labels: string): string {
  const parts = labels.split("/");
  const [group = "", resource = ""] = parts.slice(-2);
  const type = parts.slice(0, -2).join("/");
  if (type !== "") return type;
  return resource === "" ? "the newest revision" : kindOf(group, resource);
}
