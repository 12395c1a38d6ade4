/** Many lists of a kind: a client that polls, or many that list anew at once. */
import { growth } from "../evidence.ts";
import { quoted, type Rule } from "../rule.ts";

const listsPerSecond = 50;

export const listStorm: Rule = {
  id: "list-storm",
  title: "A kind is listed very often",
  reads: ["apiserver_request_total"],
  threshold: "50 lists of a resource a second",
  source: "EKS control plane guide: find the top listers; a watch makes one list",
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
      const kind = group === "" ? resource : `${resource}.${group}`;
      return [
        {
          sentence: `${kind} is listed ${Math.round(rate)} times a second`,
          culprit: `whoever lists ${kind}`,
          severity: "warn" as const,
          figures: { lists: count, perSecond: Math.round(rate) },
          remedy: `in the audit log: jq -r 'select(.verb=="list" and .objectRef.resource=="'${quoted(resource)}'") | .userAgent + " " + .user.username' | sort | uniq -c | sort -rn | head; give that client an informer, or put a relay before it`,
          certainty: 0.8,
          unseen: "the user agent: the audit log has it",
        },
      ];
    });
  },
};
