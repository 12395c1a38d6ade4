/** Finds slow scheduling attempts: affinity and spread terms, too many nodes scored, or an extender. */
import { growth, quantileBound, type Samples, samplesOf } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

const attemptName = "scheduler_scheduling_attempt_duration_seconds";
/** Time of all plugins at an extension point. Single plugins are measured in one of ten attempts only. */
const pointName = "scheduler_framework_extension_point_duration_seconds";
/** Extension points within the attempt; binding comes after it. */
const attemptPoints = new Set(["PreFilter", "Filter", "PostFilter", "PreScore", "Score"]);
const pluginName = "scheduler_plugin_execution_duration_seconds_sum";
/** Upper bound of the histogram bucket above 0.1 s. */
const slowSeconds = 0.128;

export const schedulerSlow: Rule = {
  id: "scheduler-slow",
  title: "The scheduler takes long for a pod",
  reads: [
    `${attemptName}_bucket`,
    `${attemptName}_sum`,
    `${pointName}_sum`,
    `${pointName}_count`,
    pluginName,
  ],
  threshold: "p90 of at least twenty attempts above 0.1 s (in a bucket beyond 0.128 s)",
  source: "upstream's scheduler: 5,000 nodes with sampling; its cost tests of affinity and spread",
  alerts: [
    {
      query: `histogram_quantile(0.90, sum by (le) (rate(${attemptName}_bucket[5m])))`,
      above: slowSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const scheduler = samplesOf(evidence, "scheduler");
    const p90 = quantileBound(scheduler, attemptName, { share: 0.9, observationsMin: 20 });
    if (p90 === undefined || !(p90 > slowSeconds)) return [];
    if (isOutside(scheduler)) return [outside(p90)];
    const [most] = [...growth(scheduler, pluginName, ["plugin", "extension_point"])].toSorted(
      ([, a], [, b]) => b - a,
    );
    const [plugin = "unknown", point = ""] = most?.[0].split("/") ?? [];
    return [
      {
        sentence:
          `the scheduler takes up to ${p90} s for a pod; most of it is ${plugin} ${point}`.trim(),
        culprit: `scheduler plugin ${plugin}`,
        severity: "warn",
        figures: { p90AtMostSeconds: p90, pluginSeconds: Number((most?.[1] ?? 0).toFixed(3)) },
        remedy:
          "InterPodAffinity or PodTopologySpread: fewer terms, and a nodeSelector first; any other: percentageOfNodesToScore: 10 in the scheduler's configuration",
        certainty: most === undefined ? 0.6 : 0.75,
        unseen: "the pods with these terms: pods are not listed",
      },
    ];
  },
};

/** Whether more than half of the attempts' time was spent outside plugins. */
function isOutside(scheduler: Samples): boolean {
  const attempts = growth(scheduler, `${attemptName}_sum`, []).get("") ?? 0;
  let points = 0;
  let count = 0;
  for (const [point, seconds] of growth(scheduler, `${pointName}_sum`, ["extension_point"])) {
    if (attemptPoints.has(point)) points += seconds;
  }
  for (const grown of growth(scheduler, `${pointName}_count`, []).values()) count += grown;
  return count > 0 && points < attempts / 2;
}

function outside(p90: number): Verdict {
  return {
    sentence: `the scheduler takes up to ${p90} s for a pod; most of it is no plugin of its own`,
    culprit: "an extender of the scheduler, or a lack of processor time",
    severity: "warn",
    figures: { p90AtMostSeconds: p90 },
    remedy:
      "see extenders in the scheduler's configuration: give them managedResources so that few pods ask them, nodeCacheCapable, and a short httpTimeout with ignorable; else its cpu limits and throttling",
    certainty: 0.7,
    unseen: "the extender: the metrics do not name it",
  };
}
