/**
 * Latency that stays high after a burst: the load is as before, the answers are not.
 *
 * A counter's whole value is the past since the server began, so no history has to be kept.
 */
import { type Evidence, gaugeOf, growth } from "../evidence.ts";
import type { Series } from "../metrics-text.ts";
import type { Rule } from "../rule.ts";

const sumName = "apiserver_request_sli_duration_seconds_sum";
const countName = "apiserver_request_sli_duration_seconds_count";
const storeSumName = "etcd_request_duration_seconds_sum";
const storeCountName = "etcd_request_duration_seconds_count";
const uptimeSecondsMin = 3_600;
const callsMin = 20;
const timesWorse = 4;
const slowSeconds = 0.1;
const short = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

export const afterBurst: Rule = {
  id: "after-burst",
  title: "Latency stays high at an ordinary load",
  reads: [sumName, countName, storeSumName, storeCountName, "process_start_time_seconds"],
  threshold:
    "mean above 0.1 s and four times that since the start, at no more requests a second than then; the store is quick, the server up for an hour",
  source: "metastable failures (HotOS 2021): a burst's retries and relists keep the load up",
  alerts: [
    {
      query: `(sum(rate(${sumName}[5m])) / sum(rate(${countName}[5m]))) / (sum(rate(${sumName}[1d])) / sum(rate(${countName}[1d]))) and sum(rate(${sumName}[5m])) / sum(rate(${countName}[5m])) > ${slowSeconds}`,
      above: timesWorse,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const past = totals(evidence);
    const calls = growthOf(evidence, countName);
    const mean = growthOf(evidence, sumName) / calls;
    const rate = calls / evidence.secondsBetween;
    const storeMean =
      (growth(evidence, storeSumName, []).get("") ?? 0) /
      (growth(evidence, storeCountName, []).get("") ?? 1);
    if (past === undefined || calls < callsMin || rate > past.rate) return [];
    if (!(mean > slowSeconds) || !(mean > timesWorse * past.mean) || storeMean > slowSeconds) {
      return [];
    }
    return [
      {
        sentence: `requests take ${mean.toFixed(2)} s, ${Math.round(mean / past.mean)} times as long as since the start, at an ordinary load of ${Math.round(rate)} a second`,
        culprit: "a burst that is over: its retries and relists keep the server slow",
        severity: "warn",
        figures: {
          meanSeconds: Number(mean.toFixed(3)),
          pastMeanSeconds: Number(past.mean.toFixed(3)),
          perSecond: Math.round(rate),
          pastPerSecond: Math.round(past.rate),
        },
        remedy:
          "shed load to a third, then let it come back slowly: give the least needed level one share (kubectl edit prioritylevelconfiguration workload-low), wait until the latency falls, then undo it; do not restart the server, which makes every client list anew",
        certainty: 0.5,
        unseen: "when it began: --prometheus URL shows it",
      },
    ];
  },
};

function isShort({ labels }: Series): boolean {
  return short.has(labels.get("verb") ?? "") && labels.get("resource") !== "";
}

function growthOf(evidence: Evidence, name: string): number {
  return growth(evidence, name, [], isShort).get("") ?? 0;
}

/** Undefined: the server's uptime is too short for a comparison with the past. */
function totals({ before, after, nowMs }: Evidence): { mean: number; rate: number } | undefined {
  const startSeconds = gaugeOf({ before, after, secondsBetween: 0 }, "process_start_time_seconds");
  const uptime = nowMs / 1_000 - (startSeconds ?? Number.NaN);
  if (!(uptime >= uptimeSecondsMin)) return undefined;
  let sum = 0;
  let count = 0;
  for (const series of before.series) {
    if (!isShort(series)) continue;
    if (series.name === sumName) sum += series.value;
    if (series.name === countName) count += series.value;
  }
  return { mean: sum / count, rate: count / uptime };
}
