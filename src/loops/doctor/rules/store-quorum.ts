/** Finds a store whose members disagree or do not reach each other: elections, lost proposals, slow peers. */
import { gaugeOf, growth, quantileBound, type Samples, samplesOf } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

const peerName = "etcd_network_peer_round_trip_time_seconds";
const peerSeconds = 0.15;
const failedMax = 5;
const names = {
  leader: "etcd_server_has_leader",
  changes: "etcd_server_leader_changes_seen_total",
  failed: "etcd_server_proposals_failed_total",
};

export const storeQuorum: Rule = {
  id: "store-quorum",
  title: "The store's members lose their leader",
  reads: [...Object.values(names), `${peerName}_bucket`, `${peerName}_sum`],
  threshold:
    "no leader; any change of leader, or more than five failed proposals, between two samples; p99 to a peer above 0.15 s",
  source: "etcd mixin: etcdNoLeader, etcdHighNumberOfLeaderChanges, etcdMemberCommunicationSlow",
  alerts: [
    { query: `1 - ${names.leader}`, above: 0, severity: "page" },
    { query: `increase(${names.changes}[15m])`, above: 0, severity: "warn" },
    { query: `increase(${names.failed}[15m])`, above: failedMax, severity: "warn" },
    {
      query: `histogram_quantile(0.99, sum by (To, le) (rate(${peerName}_bucket[5m])))`,
      above: peerSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const etcd = samplesOf(evidence, "etcd");
    const grown = (name: string): number => growth(etcd, name, []).get("") ?? 0;
    const changes = grown(names.changes);
    const failed = grown(names.failed);
    const hasLeader = gaugeOf(etcd, names.leader) !== 0;
    if (!hasLeader || changes > 0 || failed > failedMax) {
      return [lostLeader({ hasLeader, changes, failed })];
    }
    return slowPeers(etcd);
  },
};

interface Lost {
  readonly hasLeader: boolean;
  readonly changes: number;
  readonly failed: number;
}

function lostLeader({ hasLeader, changes, failed }: Lost): Verdict {
  const what = `the store changed its leader ${changes} times and lost ${failed} proposals`;
  return {
    sentence: hasLeader ? what : "the store has no leader: every write waits",
    culprit: hasLeader ? "the store's members" : "the store: most of its members are away",
    severity: hasLeader ? "warn" : "page",
    figures: { hasLeader: hasLeader ? 1 : 0, leaderChanges: changes, failedProposals: failed },
    remedy:
      "etcdctl endpoint status --cluster -w table; see store-disk first: a disk that stalls loses the leader; then the network between the members",
    certainty: hasLeader ? 0.85 : 0.98,
    unseen: "the other members: one was looked at",
  };
}

function slowPeers(etcd: Samples): readonly Verdict[] {
  const p99 = quantileBound(etcd, peerName, { share: 0.99, observationsMin: 2 });
  // The bucket bounds are 0.1 ms times powers of two; 0.2048 s is the first one above the limit.
  if (p99 === undefined || !(p99 > peerSeconds)) return [];
  const peers = [...growth(etcd, `${peerName}_sum`, ["To"])].toSorted(([, a], [, b]) => b - a);
  return [
    {
      sentence: `a peer of the store answers after up to ${p99} s`,
      culprit: `etcd member ${peers[0]?.[0] ?? "unknown"}`,
      severity: "warn",
      figures: { p99AtMostSeconds: p99 },
      remedy:
        "ping between the members; move that member nearer, or raise --heartbeat-interval to that time and --election-timeout to ten times of it",
      certainty: 0.8,
    },
  ];
}
