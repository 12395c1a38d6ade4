/**
 * A store at its quota refuses every write. Only etcd tells the quota; else the two that are in use are assumed. A
 * store inside of the API server tells its own, of keys and of bytes, at which nothing more is created.
 */
import { type Evidence, gaugeOf, samplesOf, seriesOf } from "../evidence.ts";
import type { Rule } from "../rule.ts";

/** etcd's default quota, and the largest quota that it recommends. */
const defaultQuota = 2 * 2 ** 30;
const largestQuota = 8 * 2 ** 30;
const quotaName = "etcd_server_quota_backend_bytes";
const ownSizeName = "etcd_mvcc_db_total_size_in_bytes";
const warnShare = 0.85;
const pageShare = 0.95;

const insideQuotas = [
  { held: "pilothouse_store_state_keys", quota: "pilothouse_store_quota_keys", what: "objects" },
  { held: "pilothouse_store_state_bytes", quota: "pilothouse_store_quota_bytes", what: "bytes" },
];

type Finding = ReturnType<Rule["judge"]>[number];

export const storeSize: Rule = {
  id: "store-size",
  title: "The store is near its quota",
  reads: [
    "apiserver_storage_size_bytes",
    ownSizeName,
    quotaName,
    ...insideQuotas.flatMap(({ held, quota }) => [held, quota]),
  ],
  threshold:
    "85 % of the quota, 95 % pages; of an unknown one 85 % of 2 GiB, etcd's default, or of 8 GiB, and 95 % of 8 GiB pages",
  source: "etcd mixin etcdDatabaseQuotaLowSpace (95 %); etcd's limits",
  alerts: [
    {
      query: `max by (storage_cluster_id) (apiserver_storage_size_bytes) / scalar(max(${quotaName}) or vector(${defaultQuota}))`,
      above: warnShare,
      severity: "warn",
    },
    {
      query: `max by (storage_cluster_id) (apiserver_storage_size_bytes) / scalar(max(${quotaName}) or vector(${largestQuota}))`,
      above: pageShare,
      severity: "page",
    },
    ...insideQuotas.map(({ held, quota }) => ({
      query: `${held} / ${quota}`,
      above: warnShare,
      severity: "warn" as const,
    })),
  ],
  judge: (evidence) => [...insideFindings(evidence), ...sizeFindings(evidence)],
};

/** Checks a store that runs in the process of the API server. */
function insideFindings(evidence: Evidence): readonly Finding[] {
  return insideQuotas.flatMap(({ held, quota, what }) => {
    const [value, most] = [held, quota].map((name) => seriesOf(evidence, name)[0]?.value);
    if (value === undefined || most === undefined || !(value > warnShare * most)) return [];
    return [
      {
        sentence: `the store of the API server holds ${value} of ${most} ${what}; at its quota nothing is created`,
        culprit: "store in the API server",
        severity: value > pageShare * most ? ("page" as const) : ("warn" as const),
        figures: { held: value, quota: most },
        remedy:
          "delete what is not needed: kubectl get --raw /metrics | grep apiserver_storage_objects | sort -k2 -n | tail shows of what there is most; or give it more memory, or a larger --quota-objects and --quota-backend-bytes",
        certainty: 0.98,
      },
    ];
  });
}

function sizeFindings(evidence: Evidence): readonly Finding[] {
  return sizes(evidence).flatMap(({ cluster, value }) => {
    // etcd exports zero for its default.
    const told = gaugeOf(samplesOf(evidence, "etcd"), quotaName) || undefined;
    const quota = told ?? (value > defaultQuota ? largestQuota : defaultQuota);
    if (!(value > warnShare * quota)) return [];
    // A store near 2 GiB may have been given a larger quota.
    const isQuotaSure = told !== undefined || quota === largestQuota;
    const isFull = isQuotaSure && value > pageShare * quota;
    const gigabytes = (value / 2 ** 30).toFixed(1);
    return [
      {
        sentence: `the store ${cluster} holds ${gigabytes} GiB; at its quota every write is refused`,
        culprit: `store ${cluster}`,
        severity: isFull ? ("page" as const) : ("warn" as const),
        figures: { bytes: value, [told === undefined ? "assumedQuota" : "quota"]: quota },
        remedy:
          "etcdctl compact to the current revision, then etcdctl defrag one member at a time; the kinds that take the room: kubectl get --raw /metrics | grep -E 'apiserver_(storage|resource)_objects' | sort -k2 -n | tail",
        ...(told === undefined
          ? { certainty: isFull ? 0.8 : 0.6, unseen: "the quota: --etcd URL shows it" }
          : { certainty: 0.98 }),
      },
    ];
  });
}

/** Returns the sizes of the stores. If the API server does not export them, etcd does. */
function sizes(
  evidence: Evidence,
): readonly { readonly cluster: string; readonly value: number }[] {
  const told = seriesOf(evidence, "apiserver_storage_size_bytes");
  if (told.length > 0) {
    return told.map(({ labels, value }) => ({
      cluster: labels.get("storage_cluster_id") ?? "etcd-0",
      value,
    }));
  }
  const own = gaugeOf(samplesOf(evidence, "etcd"), ownSizeName);
  return own === undefined ? [] : [{ cluster: "etcd-0", value: own }];
}
