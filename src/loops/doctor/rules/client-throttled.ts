/** Finds programs that wait for their own client-side rate limit, while the API server has capacity left. */
import { allSamples, growth } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

const name = "rest_client_rate_limiter_duration_seconds";
const waitSeconds = 0.05;
const requestsMin = 10;

export const clientThrottled: Rule = {
  id: "client-throttled",
  title: "A program throttles its own requests",
  reads: [`${name}_sum`, `${name}_count`],
  threshold: "the mean wait of at least ten requests is above 0.05 s",
  source: "client-go: 20 requests a second by default make 0.05 s each; upstream's QPS flags",
  alerts: [
    {
      query: `sum by (job) (rate(${name}_sum[5m])) / sum by (job) (rate(${name}_count[5m]))`,
      above: waitSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) =>
    allSamples(evidence).flatMap(([program, samples]): readonly Verdict[] => {
      const requests = growth(samples, `${name}_count`, []).get("") ?? 0;
      const mean = (growth(samples, `${name}_sum`, []).get("") ?? 0) / requests;
      if (!(requests >= requestsMin) || !(mean > waitSeconds)) return [];
      return [
        {
          sentence: `each request of the ${program} waits ${mean.toFixed(2)} s for its own limit`,
          culprit: program,
          severity: "warn",
          figures: { requests, meanWaitSeconds: Number(mean.toFixed(3)) },
          remedy: `raise --kube-api-qps and --kube-api-burst of the ${program}: priority and fairness protects the API server`,
          certainty: 0.9,
        },
      ];
    }),
};
