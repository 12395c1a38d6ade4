/** Scheduling attempts that take long: affinity and spread terms, or too many nodes scored. */
import { growth, quantileBound, samplesOf } from "../evidence.ts";
import type { Rule } from "../rule.ts";

const attemptName = "scheduler_scheduling_attempt_duration_seconds";
const pluginName = "scheduler_plugin_execution_duration_seconds_sum";
/** The bound of the bucket above 0.1 s. */
const slowSeconds = 0.128;

export const schedulerSlow: Rule = {
  id: "scheduler-slow",
  title: "The scheduler takes long for a pod",
  reads: [`${attemptName}_bucket`, pluginName],
  threshold: "p99 of at least twenty attempts above 0.1 s (in a bucket beyond 0.128 s)",
  source: "upstream's scheduler: 5,000 nodes with sampling; its cost tests of affinity and spread",
  alerts: [
    {
      query: `histogram_quantile(0.99, sum by (le) (rate(${attemptName}_bucket[5m])))`,
      above: slowSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const scheduler = samplesOf(evidence, "scheduler");
    const p99 = quantileBound(scheduler, attemptName, { share: 0.99, observationsMin: 20 });
    if (p99 === undefined || !(p99 > slowSeconds)) return [];
    const [most] = [...growth(scheduler, pluginName, ["plugin", "extension_point"])].toSorted(
      ([, a], [, b]) => b - a,
    );
    const [plugin = "unknown", point = ""] = most?.[0].split("/") ?? [];
    return [
      {
        sentence:
          `the scheduler takes up to ${p99} s for a pod; most of it is ${plugin} ${point}`.trim(),
        culprit: `scheduler plugin ${plugin}`,
        severity: "warn",
        figures: { p99AtMostSeconds: p99, pluginSeconds: Number((most?.[1] ?? 0).toFixed(3)) },
        remedy:
          "InterPodAffinity or PodTopologySpread: fewer terms, and a nodeSelector first; any other: percentageOfNodesToScore: 10 in the scheduler's configuration",
        certainty: most === undefined ? 0.6 : 0.75,
        unseen: "the pods with these terms: pods are not listed",
      },
    ];
  },
};
