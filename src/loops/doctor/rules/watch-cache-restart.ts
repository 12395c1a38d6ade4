/** Finds a restarted watch cache: every watch of its kind ends, and every client lists again. */
import { growth } from "../evidence.ts";
import { kindOf, type Rule } from "../rule.ts";

const initializations = "apiserver_watch_cache_initializations_total";

export const watchCacheRestart: Rule = {
  id: "watch-cache-restart",
  title: "A watch cache began anew",
  reads: [initializations],
  threshold: "any initialization between two samples, but for the first of a kind",
  source: "upstream's cacher: its reflector lost the store's watch, and lists the kind again",
  alerts: [
    {
      query: `sum by (group, resource) (increase(${initializations}[15m])) and sum by (group, resource) (${initializations} > 1)`,
      above: 0,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const again = growth(
      evidence,
      initializations,
      ["group", "resource"],
      ({ value }) => value > 1,
    );
    return [...again].flatMap(([key, count]) => {
      if (!(count > 0)) return [];
      const [group = "", resource = ""] = key.split("/");
      const kind = kindOf(group, resource);
      return [
        {
          sentence: `the watch cache of ${kind} began anew ${count} times: every client that watches ${kind} lists again`,
          culprit: `watch cache of ${kind}`,
          severity: "warn" as const,
          figures: { initializations: count },
          remedy:
            "see store-latency and etcd's findings first: a store that stalls or compacts too early ends the cache's watch; then the API server's log for 'watch chan error'",
          certainty: 0.85,
        },
      ];
    });
  },
};
