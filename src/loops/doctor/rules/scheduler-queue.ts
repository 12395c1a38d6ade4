/** Finds pods that wait for the scheduler: it is too slow for them, or it keeps trying pods that fit nowhere. */
import { growth, type Samples, samplesOf, seriesOf } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

const pendingName = "scheduler_pending_pods";
const attemptsName = "scheduler_schedule_attempts_total";
const reasonsName = "scheduler_unschedulable_pods";
const activeMin = 500;
const attemptsPerSecond = 20;
const vainShare = 10;

export const schedulerQueue: Rule = {
  id: "scheduler-queue",
  title: "Pods wait for the scheduler",
  reads: [pendingName, attemptsName, reasonsName],
  threshold:
    "500 pods in the active queue, and more than a sample before; or 20 vain attempts a second, ten times those that succeed",
  source: "upstream's scheduler metrics: pending_pods by queue, schedule_attempts_total by result",
  alerts: [
    {
      query: `sum(${pendingName}{queue="active"}) and sum(deriv(${pendingName}{queue="active"}[5m])) > 0`,
      above: activeMin,
      severity: "warn",
    },
    {
      query: `sum(rate(${attemptsName}{result="unschedulable"}[5m])) and sum(rate(${attemptsName}{result="unschedulable"}[5m])) > ${vainShare} * sum(rate(${attemptsName}{result="scheduled"}[5m]))`,
      above: attemptsPerSecond,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const scheduler = samplesOf(evidence, "scheduler");
    return [...growingQueue(scheduler), ...vainAttempts(scheduler)];
  },
};

function activePods(series: Samples["before"]): number {
  const active = series.series.find(
    ({ name, labels }) => name === pendingName && labels.get("queue") === "active",
  );
  return active?.value ?? 0;
}

function growingQueue(scheduler: Samples): readonly Verdict[] {
  const [before, after] = [activePods(scheduler.before), activePods(scheduler.after)];
  if (!(after >= activeMin) || !(after > before)) return [];
  const bound = resultOf(scheduler, "scheduled") / scheduler.secondsBetween;
  return [
    {
      sentence: `${after} pods wait for the scheduler, ${after - before} more than a sample before; it binds ${Math.round(bound)} a second`,
      culprit: "the scheduler: its limit of requests, or slow binds",
      severity: "warn",
      figures: { active: after, before, boundPerSecond: Math.round(bound) },
      remedy:
        "see client-throttled, scheduler-slow and slow-requests first; then raise --kube-api-qps and --kube-api-burst of kube-scheduler",
      certainty: 0.75,
      unseen: "who makes the pods: --audit FILE shows it",
    },
  ];
}

function vainAttempts(scheduler: Samples): readonly Verdict[] {
  const vain = resultOf(scheduler, "unschedulable");
  const perSecond = vain / scheduler.secondsBetween;
  if (!(perSecond >= attemptsPerSecond) || vain < vainShare * resultOf(scheduler, "scheduled")) {
    return [];
  }
  const [reason] = seriesOf(scheduler, reasonsName).toSorted((a, b) => b.value - a.value);
  const plugin = reason?.labels.get("plugin") ?? "unknown";
  return [
    {
      sentence: `the scheduler tries ${Math.round(perSecond)} times a second pods that fit on no node; ${plugin} turns most of them away`,
      culprit: `scheduler plugin ${plugin}`,
      severity: "warn",
      figures: { attemptsPerSecond: Math.round(perSecond), pods: reason?.value ?? 0 },
      remedy:
        "kubectl get events -A --field-selector reason=FailedScheduling | tail; add nodes or a quota (NodeResourcesFit), repair taints (TaintToleration) or terms (NodeAffinity, InterPodAffinity)",
      certainty: 0.8,
    },
  ];
}

function resultOf(scheduler: Samples, result: string): number {
  const grown = growth(
    scheduler,
    attemptsName,
    [],
    ({ labels }) => labels.get("result") === result,
  );
  return grown.get("") ?? 0;
}
