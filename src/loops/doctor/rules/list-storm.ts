/** Finds kinds with many lists: a client polls, or many clients list again at the same time. */
import { growth } from "../evidence.ts";
import { culpritOf, kindOf, quoted, topCaller, type Rule } from "../rule.ts";

const listsPerSecond = 50;

export const listStorm: Rule = {
  id: "list-storm",
  title: "A kind is listed very often",
  reads: ["apiserver_request_total"],
  threshold: "50 lists of a resource a second",
  source: "EKS control plane guide: find the top listers; a watch makes one list",
  alerts: [
    {
      query: `sum by (group, resource) (rate(apiserver_request_total{verb="LIST"}[5m]))`,
      above: listsPerSecond,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const lists = growth(
      evidence,
      "apiserver_request_total",
      ["group", "resource"],
      ({ labels }) => labels.get("verb") === "LIST",
    );
    return [...lists].flatMap(([key, count]) => {
      const rate = count / evidence.secondsBetween;
      if (!(rate >= listsPerSecond)) return [];
      const [group = "", resource = ""] = key.split("/");
      const kind = kindOf(group, resource);
      return [
        {
          sentence: `${kind} is listed ${Math.round(rate)} times a second`,
          ...culpritOf(topCaller(evidence, ["list-whole", "list"], kind), `whoever lists ${kind}`),
          severity: "warn" as const,
          figures: { lists: count, perSecond: Math.round(rate) },
          remedy: `in the audit log: jq -r 'select(.verb=="list" and .objectRef.resource=="'${quoted(resource)}'") | .userAgent + " " + .user.username' | sort | uniq -c | sort -rn | head; give that client an informer, or put a relay before it`,
          certainty: 0.8,
        },
      ];
    });
  },
};
