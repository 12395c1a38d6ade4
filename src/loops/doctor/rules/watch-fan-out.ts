/** Finds watches whose number grows with the replicas of a workload: each replica watches a whole kind. */
import { seriesOf, type Evidence } from "../evidence.ts";
import { culpritOf, kindOf, quoted, topCaller, type Rule } from "../rule.ts";

/** Allowed watches per node. A DaemonSet has one per node; kubelet and kube-proxy have one each for some kinds. */
const perNode = 4;
const watchesMin = 500;
const longRunning = "apiserver_longrunning_requests";

export const watchFanOut: Rule = {
  id: "watch-fan-out",
  title: "A kind has very many watches",
  reads: [longRunning, "nodeLeases"],
  threshold:
    "500 watches of a whole kind or namespace, and more than four for each node; watches of one object do not count",
  source: "OpenAI's outage of December 2024; kubelet, proxy and two agents make four for a node",
  alerts: [
    {
      query: `sum by (group, resource) (${longRunning}{verb="WATCH",scope!="resource"})`,
      above: watchesMin,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const nodes = evidence.objects.nodeLeases.length;
    const most = Math.max(watchesMin, perNode * nodes);
    return [...watchesOf(evidence)]
      .filter(([, count]) => count > most)
      .map(([kind, count]) => ({
        sentence: `${kind} has ${count} watches open on a cluster of ${nodes} nodes: each change is sent to all of them`,
        ...culpritOf(topCaller(evidence, ["watch"], kind), `whoever watches ${kind}`),
        severity: count > 10 * most ? ("page" as const) : ("warn" as const),
        figures: { watches: count, nodes },
        remedy: `in the audit log: jq -r 'select(.verb=="watch" and .objectRef.resource=="'${quoted(kind.split(".")[0] ?? "")}'") | .userAgent + " " + .user.username' | sort | uniq -c | sort -rn | head; give that workload one informer for all its replicas, or put a relay before it`,
        certainty: nodes > 0 ? 0.8 : 0.6,
      }));
  },
};

function watchesOf(evidence: Evidence): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { labels, value } of seriesOf(evidence, longRunning)) {
    if (labels.get("verb") !== "WATCH" || labels.get("scope") === "resource") continue;
    const kind = kindOf(labels.get("group") ?? "", labels.get("resource") ?? "");
    counts.set(kind, (counts.get(kind) ?? 0) + value);
  }
  return counts;
}
