/** Finds slow requests while the store is fast: encoding, a webhook, or a queue of priority and fairness. */
import { growth } from "../evidence.ts";
import { kindOf, type Rule } from "../rule.ts";

const slowSeconds = 1;
const callsMin = 3;
const by = ["verb", "group", "resource", "subresource"];
const sumName = "apiserver_request_duration_seconds_sum";
const countName = "apiserver_request_duration_seconds_count";
/** Long-running requests, which last as long as the client wants. */
const longRunning = /^(WATCH|CONNECT|PROXY)/;
const longSubresources = new Set(["log", "exec", "attach", "portforward", "proxy"]);

export const slowRequests: Rule = {
  id: "slow-requests",
  title: "Requests take long",
  reads: [sumName, countName],
  threshold:
    "mean of a verb of a resource above 1 s, of at least three; lists of a whole cluster 5 s",
  source: "upstream's service level objectives: 1 s, lists of a namespace 5 s, of a cluster 30 s",
  alerts: [
    {
      query: `sum by (verb, group, resource) (rate(${sumName}{verb!~"WATCH|CONNECT|PROXY|LIST"}[5m])) / sum by (verb, group, resource) (rate(${countName}{verb!~"WATCH|CONNECT|PROXY|LIST"}[5m]))`,
      above: slowSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const sums = growth(evidence, sumName, by);
    return [...growth(evidence, countName, by)].flatMap(([key, calls]) => {
      const [verb = "", group = "", resource = "", subresource = ""] = key.split("/");
      if (longRunning.test(verb) || longSubresources.has(subresource)) return [];
      const mean = (sums.get(key) ?? 0) / calls;
      const most = verb === "LIST" ? 5 * slowSeconds : slowSeconds;
      if (!(calls >= callsMin) || !(mean > most)) return [];
      const kind = kindOf(group, resource);
      return [
        {
          sentence: `${verb} of ${kind} takes ${mean.toFixed(1)} s`,
          culprit: `${verb} of ${kind}`,
          severity: "warn" as const,
          figures: { meanSeconds: Number(mean.toFixed(3)), calls },
          remedy:
            "see the findings store-latency, webhook and flow-control first: each is a cause of this one; without them it is the size of the answers, so page the lists (limit=500) and watch instead of polling",
          certainty: 0.6,
          unseen: "the user that asks: the audit log has it",
        },
      ];
    });
  },
};
