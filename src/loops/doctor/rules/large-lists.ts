/** Finds lists without pages, whose answers are large. */
import { growth } from "../evidence.ts";
import { culpritOf, kindOf, quoted, topCaller, type Rule } from "../rule.ts";

const meanBytesMax = 5 * 2 ** 20;
const by = ["group", "resource"];

export const largeLists: Rule = {
  id: "large-lists",
  title: "Lists are answered whole",
  reads: ["apiserver_response_sizes_sum", "apiserver_response_sizes_count"],
  threshold: "the mean answer to a list of a resource is above 5 MiB",
  source: "EKS control plane guide: page lists by 500; 500 Pods of 10 KiB are 5 MiB",
  alerts: [
    {
      query: `sum by (group, resource) (rate(apiserver_response_sizes_sum{verb="LIST"}[5m])) / sum by (group, resource) (rate(apiserver_response_sizes_count{verb="LIST"}[5m]))`,
      above: meanBytesMax,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const isList = ({ labels }: { labels: ReadonlyMap<string, string> }): boolean =>
      labels.get("verb") === "LIST";
    const sums = growth(evidence, "apiserver_response_sizes_sum", by, isList);
    const counts = growth(evidence, "apiserver_response_sizes_count", by, isList);
    return [...counts].flatMap(([key, lists]) => {
      const mean = (sums.get(key) ?? 0) / lists;
      if (!(lists > 0) || !(mean > meanBytesMax)) return [];
      const [group = "", resource = ""] = key.split("/");
      const kind = kindOf(group, resource);
      const megabytes = Math.round(mean / 2 ** 20);
      return [
        {
          sentence: `lists of ${kind} are answered with ${megabytes} MiB each`,
          ...culpritOf(topCaller(evidence, ["list-whole", "list"], kind), `whoever lists ${kind}`),
          severity: "warn" as const,
          figures: { lists, meanBytes: Math.round(mean) },
          remedy: `in the audit log: jq -r 'select(.verb=="list" and .objectRef.resource=="'${quoted(resource)}'" and (.requestURI | contains("limit=") | not)) | .userAgent + " " + .user.username' | sort | uniq -c | sort -rn | head; give that client pages (limit=500), a selector, or an informer`,
          certainty: 0.85,
        },
      ];
    });
  },
};
