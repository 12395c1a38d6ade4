/** Finds large Endpoints objects that change often: each change sends the whole object to every node. */
import { growth } from "../evidence.ts";
import { culpritOf, topCaller, type Rule } from "../rule.ts";

const eventsName = "apiserver_watch_events_total";
/** A stock server exports a histogram, whose series has the suffix `_sum`. */
const bytesNames = ["apiserver_watch_events_sizes", "apiserver_watch_events_sizes_sum"];
const meanBytesMax = 15 * 1024;
const bytesPerSecond = 2 ** 20;

export const endpoints: Rule = {
  id: "large-endpoints",
  title: "Large Endpoints objects change often",
  reads: [eventsName, ...bytesNames],
  threshold: "the mean event of Endpoints is above 15 KiB, and 1 MiB a second are sent",
  source: "upstream's EndpointSlice proposal: 100 addresses of 150 bytes a slice",
  alerts: [
    {
      query: `sum(rate(apiserver_watch_events_sizes_sum{resource="endpoints"}[5m]))`,
      above: bytesPerSecond,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const grown = (name: string): number =>
      growth(
        evidence,
        name,
        [],
        ({ labels }) => labels.get("resource") === "endpoints" && labels.get("group") === "",
      ).get("") ?? 0;
    const events = grown(eventsName);
    const bytes = grown(bytesNames[0] ?? "") + grown(bytesNames[1] ?? "");
    const mean = Math.round(bytes / events);
    if (!(mean > meanBytesMax) || !(bytes / evidence.secondsBetween > bytesPerSecond)) return [];
    return [
      {
        sentence: `each change of Endpoints sends ${Math.round(mean / 1024)} KiB to every watcher`,
        ...culpritOf(topCaller(evidence, ["watch"], "endpoints"), "whoever watches endpoints"),
        severity: "warn",
        figures: { events, meanBytes: mean },
        remedy:
          "kubectl get endpoints -A -o json --chunk-size=100 | jq -r '.items[] | [([.subsets[]?.addresses[]?] | length), .metadata.namespace, .metadata.name] | @tsv' | sort -rn | head; let what watches them watch EndpointSlices",
        certainty: 0.8,
      },
    ];
  },
};
