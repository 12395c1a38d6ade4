/** Finds a slow disk under the store: every write waits for its sync. */
import { quantileBound, samplesOf } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

interface Step {
  readonly name: string;
  readonly what: string;
  readonly warnSeconds: number;
  readonly pageSeconds: number;
}

/** A histogram only shows the bucket, so each limit is the upper bound of the bucket above the threshold. */
const steps: readonly Step[] = [
  {
    name: "etcd_disk_wal_fsync_duration_seconds",
    what: "sync of its log",
    warnSeconds: 0.016,
    pageSeconds: 0.512,
  },
  {
    name: "etcd_disk_backend_commit_duration_seconds",
    what: "commit of its backend",
    warnSeconds: 0.032,
    pageSeconds: 0.256,
  },
];
const observationsMin = 5;

export const storeDisk: Rule = {
  id: "store-disk",
  title: "The store's disk is slow",
  reads: steps.map(({ name }) => `${name}_bucket`),
  threshold:
    "p99 of at least five syncs above 10 ms (in a bucket beyond 16 ms), 500 ms pages; of commits 25 ms, 250 ms pages",
  source: "etcd's hardware guide and mixin: etcdHighFsyncDurations, etcdHighCommitDurations",
  alerts: steps.flatMap(({ name, warnSeconds, pageSeconds }) => {
    const query = `histogram_quantile(0.99, sum by (instance, le) (rate(${name}_bucket[5m])))`;
    return [
      { query, above: warnSeconds, severity: "warn" as const },
      { query, above: pageSeconds, severity: "page" as const },
    ];
  }),
  judge: (evidence) =>
    steps.flatMap((step): readonly Verdict[] => {
      const etcd = samplesOf(evidence, "etcd");
      const p99 = quantileBound(etcd, step.name, { share: 0.99, observationsMin });
      if (p99 === undefined || !(p99 > step.warnSeconds)) return [];
      return [
        {
          sentence: `etcd's ${step.what} takes up to ${p99} s: its disk is slow, or others use it`,
          culprit: "the disk of etcd's data directory",
          severity: p99 > step.pageSeconds ? "page" : "warn",
          figures: { p99AtMostSeconds: p99 },
          remedy:
            "iostat -x 1 on etcd's machine; give etcd a disk of its own, and store events elsewhere: --etcd-servers-overrides=/events#URL",
          certainty: 0.9,
          unseen: "who else uses the disk: iotop on that machine",
        },
      ];
    }),
};
