/** Finds an API server that uses all of its processors, or whose single event loop is always busy: every request waits. */
import { gaugeOf, growth } from "../evidence.ts";
import { kindOf, type Rule } from "../rule.ts";

const share = 0.8;
const cpuName = "process_cpu_seconds_total";
/** Exported by Pilothouse servers, whose requests share one event loop regardless of the number of processors. */
const loopName = "nodejs_eventloop_busy_seconds_total";
const coresName = "go_sched_gomaxprocs_threads";
const bytesName = "apiserver_response_sizes_sum";

export const serverBusy: Rule = {
  id: "server-busy",
  title: "The API server uses all of its processors",
  reads: [cpuName, coresName, loopName, bytesName],
  threshold:
    "more than 80 % of its processors, or of its event loop's time, between two samples; of a server that tells them",
  source: "kubernetes-mixin CPUThrottlingHigh; Go's GOMAXPROCS",
  alerts: [
    {
      query: `rate(${cpuName}{job=~".*apiserver.*"}[5m]) / ${coresName}{job=~".*apiserver.*"}`,
      above: share,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const cores = gaugeOf(evidence, coresName) ?? 0;
    const used = (growth(evidence, cpuName, []).get("") ?? 0) / evidence.secondsBetween;
    const loop = (growth(evidence, loopName, []).get("") ?? 0) / evidence.secondsBetween;
    const isFull = cores > 0 && used > share * cores;
    if (!isFull && !(loop > share)) return [];
    // Encoding costs the most, so the source of the most response bytes is the first suspect.
    const [most] = [...growth(evidence, bytesName, ["verb", "group", "resource"])].toSorted(
      ([, a], [, b]) => b - a,
    );
    const [verb = "", group = "", resource = ""] = most?.[0].split("/") ?? [];
    return [
      {
        sentence: isFull
          ? `the API server uses ${used.toFixed(1)} of its ${cores} processors`
          : `the API server's event loop is busy ${Math.round(loop * 100)} % of the time`,
        culprit:
          most === undefined
            ? "unknown"
            : `${verb} of ${kindOf(group, resource)}, the most bytes sent`,
        severity: "warn",
        figures: {
          ...(isFull ? { processors: cores } : { loopBusy: Number(loop.toFixed(2)) }),
          used: Number(used.toFixed(2)),
          bytes: most?.[1] ?? 0,
        },
        remedy:
          "see large-lists, list-storm and watch-fan-out first; then kubectl get --raw '/debug/pprof/profile?seconds=10' > profile, or a second API server",
        certainty: most === undefined ? 0.6 : 0.7,
        unseen: "the code that uses them: a profile shows it",
      },
    ];
  },
};
