/** Reports how much a relay has saved the API server since its start. Not a fault; reported if a flag gives the URL of its metrics. */
import { gaugeOf, seriesOf, type Samples } from "../evidence.ts";
import type { Rule } from "../rule.ts";

const answered = new Set(["mirror", "etag", "discovery"]);

export const relay: Rule = {
  id: "relay",
  title: "What a relay saves",
  reads: [
    "relay_requests_total",
    "relay_upstream_lists_total",
    "relay_upstream_watches",
    "relay_streams",
    "relay_body_bytes_sent_total",
    "relay_watch_bytes_sent_total",
    "process_start_time_seconds",
  ],
  threshold: "none: it is told of every relay that has answered a read",
  source: "the relay's own counters, since its start",
  judge: ({ programs, nowMs }) => {
    const samples = programs.relay;
    if (samples === undefined) return [];
    const reads = sum(samples, "relay_requests_total", (labels) =>
      answered.has(labels.get("by") ?? ""),
    );
    if (!(reads > 0)) return [];
    const lists = sum(samples, "relay_upstream_lists_total");
    const streams = sum(samples, "relay_streams");
    const watches = sum(samples, "relay_upstream_watches");
    const bytes =
      sum(samples, "relay_body_bytes_sent_total", (labels) => labels.get("kind") !== "upstream") +
      sum(samples, "relay_watch_bytes_sent_total");
    const startSeconds = gaugeOf(samples, "process_start_time_seconds");
    const hours = startSeconds === undefined ? undefined : (nowMs / 1_000 - startSeconds) / 3_600;
    const since = hours === undefined ? "" : ` in ${Math.round(hours * 10) / 10} h`;
    return [
      {
        sentence: `the relay has answered ${reads} reads${since} with ${lists} lists of the API server, and feeds ${streams} streams from ${watches} watches`,
        culprit: "relay",
        severity: "info",
        figures: {
          reads,
          upstreamLists: lists,
          streams,
          upstreamWatches: watches,
          bytesSent: bytes,
        },
        remedy: "nothing: what these clients asked for did not reach the API server",
        certainty: 1,
      },
    ];
  },
};

function sum(
  samples: Samples,
  name: string,
  isCounted: (labels: ReadonlyMap<string, string>) => boolean = () => true,
): number {
  let total = 0;
  for (const { labels, value } of seriesOf(samples, name)) if (isCounted(labels)) total += value;
  return total;
}
