/** Finds watchers that do not keep up. They are cut off and list again, which may start a herd of lists. */
import { growth } from "../evidence.ts";
import { kindOf, quoted, type Rule } from "../rule.ts";

const name = "apiserver_terminated_watchers_total";
const watchersMin = 3;

export const slowWatchers: Rule = {
  id: "slow-watchers",
  title: "Watchers are cut off because they do not keep up",
  reads: [name],
  threshold: "three watchers of a resource between two samples",
  source: "upstream's watch cache: a watcher whose buffer is full is terminated, and lists anew",
  alerts: [
    {
      query: `sum by (group, resource) (increase(${name}[5m]))`,
      above: watchersMin,
      severity: "warn",
    },
  ],
  judge: (evidence) =>
    [...growth(evidence, name, ["group", "resource"])].flatMap(([key, count]) => {
      if (!(count >= watchersMin)) return [];
      const [group = "", resource = ""] = key.split("/");
      const kind = kindOf(group, resource);
      return [
        {
          sentence: `${count} watchers of ${kind} were cut off because they did not keep up`,
          culprit: `watchers of ${kind}`,
          severity: "warn" as const,
          figures: { watchers: count, seconds: evidence.secondsBetween },
          remedy: `kubectl get --raw /metrics | grep apiserver_watch_events_total | grep ${quoted(resource)}: few objects that change often are a writer to slow down; else give the clients selectors, or put a relay before them`,
          certainty: 0.8,
          unseen: "the user agent of the watchers",
        },
      ];
    }),
};
