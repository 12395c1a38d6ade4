/** Finds a store whose file is mostly free space. The space counts against the quota until the store is defragmented. */
import { gaugeOf, samplesOf } from "../evidence.ts";
import type { Rule } from "../rule.ts";

const sizeName = "etcd_mvcc_db_total_size_in_bytes";
const usedName = "etcd_mvcc_db_total_size_in_use_in_bytes";
const usedShare = 0.5;
const bytesMin = 100 * 2 ** 20;

export const storeFragmented: Rule = {
  id: "store-fragmented",
  title: "The store's file is mostly free room",
  reads: [sizeName, usedName],
  threshold: "less than 50 % in use of more than 100 MiB",
  source: "etcd mixin etcdDatabaseHighFragmentationRatio",
  alerts: [
    {
      query: `1 - ${usedName} / ${sizeName} and ${sizeName} > ${bytesMin}`,
      above: 1 - usedShare,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const etcd = samplesOf(evidence, "etcd");
    const size = gaugeOf(etcd, sizeName) ?? 0;
    const used = gaugeOf(etcd, usedName) ?? size;
    if (!(size > bytesMin) || !(used < usedShare * size)) return [];
    const percent = Math.round((100 * used) / size);
    return [
      {
        sentence: `the store's file is ${(size / 2 ** 20).toFixed(0)} MiB, of which ${percent} % is in use`,
        culprit: "etcd's database file",
        severity: "warn",
        figures: { bytes: size, bytesInUse: used },
        remedy: "etcdctl defrag, one member at a time, the leader last",
        certainty: 0.95,
      },
    ];
  },
};
