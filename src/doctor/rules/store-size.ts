/** A store at its quota refuses every write. The quota itself is not told, so the two that are in use are assumed. */
import { seriesOf } from "../evidence.ts";
import type { Rule } from "../rule.ts";

/** etcd's default, and the most that it recommends. */
const defaultQuota = 2 * 2 ** 30;
const largestQuota = 8 * 2 ** 30;
const warnShare = 0.85;
const pageShare = 0.95;

export const storeSize: Rule = {
  id: "store-size",
  title: "The store is near its quota",
  reads: ["apiserver_storage_size_bytes"],
  threshold: "85 % of etcd's default quota of 2 GiB, or of 8 GiB; 95 % of 8 GiB pages",
  source: "etcd mixin etcdDatabaseQuotaLowSpace (95 %); etcd's limits",
  judge: (evidence) =>
    seriesOf(evidence, "apiserver_storage_size_bytes").flatMap(({ labels, value }) => {
      const quota = value > defaultQuota ? largestQuota : defaultQuota;
      if (!(value > warnShare * quota)) return [];
      const isFull = quota === largestQuota && value > pageShare * quota;
      const cluster = labels.get("storage_cluster_id") ?? "etcd-0";
      const gigabytes = (value / 2 ** 30).toFixed(1);
      return [
        {
          sentence: `the store ${cluster} holds ${gigabytes} GiB; at its quota every write is refused`,
          culprit: `store ${cluster}`,
          severity: isFull ? ("page" as const) : ("warn" as const),
          figures: { bytes: value, assumedQuota: quota },
          remedy:
            "etcdctl compact to the current revision, then etcdctl defrag one member at a time; the kinds that take the room: kubectl get --raw /metrics | grep -E 'apiserver_(storage|resource)_objects' | sort -k2 -n | tail",
          certainty: isFull ? 0.8 : 0.6,
          unseen: "the quota: --quota-backend-bytes of etcd",
        },
      ];
    }),
};
