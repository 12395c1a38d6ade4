/** Finds control loops that hold their lease and complete nothing, or whose objects fail again and again. */
import { allSamples, growth, type Samples, seriesOf } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

/** Pilothouse exports how long the oldest key waits, a stock program how long its longest work runs. */
const oldestNames = [
  "workqueue_longest_running_processor_seconds",
  "workqueue_longest_waiting_seconds",
];
const doneName = "workqueue_work_duration_seconds_count";
const addsName = "workqueue_adds_total";
const retriesName = "workqueue_retries_total";
const stuckSeconds = 300;
const retriesMin = 20;
const retryShare = 0.1;

/**
 * They put each key back to look at it again later, which client-go counts as retries: every HorizontalPodAutoscaler
 * each 15 s, a CronJob until its next time, a Job until it may go, the documents of an API server each minute.
 */
const comeBack = new Set([
  "horizontalpodautoscaler",
  "cronjob",
  "ttl_jobs_to_delete",
  "open_api_aggregation_controller",
  "open_api_v3_aggregation_controller",
]);

export const stuckLoops: Rule = {
  id: "stuck-loop",
  title: "A control loop does no work, or fails again and again",
  reads: [...oldestNames, doneName, addsName, retriesName],
  threshold:
    "one key is worked on, or waits, for more than 300 s and nothing was completed; or at least 20 retries, more than 10 % of what was added",
  source: "client-go's workqueue metrics; kubernetes-mixin's queue alerts",
  alerts: [
    {
      query: `max by (job, name) (workqueue_longest_running_processor_seconds) unless max by (job, name) (rate(${doneName}[5m])) > 0`,
      above: stuckSeconds,
      severity: "page",
    },
    {
      query: `sum by (job, name) (rate(${retriesName}{name!~"${[...comeBack].join("|")}"}[5m])) / sum by (job, name) (rate(${addsName}[5m])) and sum by (job, name) (increase(${retriesName}[5m])) > ${retriesMin}`,
      above: retryShare,
      severity: "warn",
    },
  ],
  judge: (evidence) =>
    allSamples(evidence).flatMap(([program, samples]) => [
      ...stuck(program, samples),
      ...failing(program, samples),
    ]),
};

function stuck(program: string, samples: Samples): readonly Verdict[] {
  const done = growth(samples, doneName, ["name"]);
  return oldestNames
    .flatMap((name) => seriesOf(samples, name))
    .flatMap(({ labels, value }): readonly Verdict[] => {
      const queue = labels.get("name") ?? "";
      if (!(value > stuckSeconds) || (done.get(queue) ?? 0) > 0) return [];
      return [
        {
          sentence: `the loop ${queue} of the ${program} has not completed a key for ${Math.round(value)} s`,
          culprit: `loop ${queue} of the ${program}`,
          severity: "page",
          figures: { seconds: Math.round(value) },
          remedy: `curl the ${program}'s /debug/pprof/goroutine?debug=2 and look for ${quoted(queue)}; then restart that program: another takes its lease over`,
          certainty: 0.8,
          unseen: "the stack of the loop: profiling shows it",
        },
      ];
    });
}

function failing(program: string, samples: Samples): readonly Verdict[] {
  const adds = growth(samples, addsName, ["name"]);
  return [...growth(samples, retriesName, ["name"])].flatMap(([queue, retries]) => {
    const added = adds.get(queue) ?? 0;
    if (comeBack.has(queue) || !(retries >= retriesMin) || !(retries > retryShare * added))
      return [];
    return [
      {
        sentence: `the loop ${queue} of the ${program} retried ${retries} keys of ${added}`,
        culprit: `loop ${queue} of the ${program}`,
        severity: "warn" as const,
        figures: { retries, added },
        remedy: `the log of the ${program} names the key: grep ${quoted(queue)} | sort | uniq -c | sort -rn | head; two writers of one object, or an object that is refused`,
        certainty: 0.7,
        unseen: "the key: only the log has it",
      },
    ];
  });
}
