/** Finds conversion webhooks of custom resources that fail or are slow: every read of an older version waits for them. */
import { growth } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

const prefix = "apiserver_crd_conversion_webhook_duration_seconds";
const slowSeconds = 0.5;

export const conversion: Rule = {
  id: "conversion-webhook",
  title: "A conversion webhook fails or is slow",
  reads: [`${prefix}_sum`, `${prefix}_count`],
  threshold: "any failed conversion between two samples; mean above 0.5 s",
  source: "as of admission webhooks: upstream's webhook good practices",
  alerts: [
    {
      query: `sum by (crd_name) (rate(${prefix}_count{succeeded="false"}[5m]))`,
      above: 0,
      severity: "page",
    },
    {
      query: `sum by (crd_name) (rate(${prefix}_sum[5m])) / sum by (crd_name) (rate(${prefix}_count[5m]))`,
      above: slowSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const by = ["crd_name"];
    const calls = growth(evidence, `${prefix}_count`, by);
    const seconds = growth(evidence, `${prefix}_sum`, by);
    const failed = growth(
      evidence,
      `${prefix}_count`,
      by,
      ({ labels }) => labels.get("succeeded") === "false",
    );
    return [...calls].flatMap(([crd, count]) => {
      const bad = failed.get(crd) ?? 0;
      const mean = (seconds.get(crd) ?? 0) / count;
      return bad > 0 || mean > slowSeconds ? [verdictOf(crd, { calls: count, bad, mean })] : [];
    });
  },
};

interface Conversions {
  readonly calls: number;
  readonly bad: number;
  readonly mean: number;
}

function verdictOf(crd: string, { calls, bad, mean }: Conversions): Verdict {
  const failing = `the conversion webhook of ${crd} failed ${bad} of ${calls} times: its objects cannot be read or written`;
  const slow = `the conversion webhook of ${crd} takes ${mean.toFixed(2)} s for each call`;
  return {
    sentence: bad > 0 ? failing : slow,
    culprit: `conversion webhook of ${crd}`,
    severity: bad > 0 ? "page" : "warn",
    figures: { calls, failed: bad, meanSeconds: Number(mean.toFixed(3)) },
    remedy: `kubectl get crd ${quoted(crd)} -o jsonpath='{.spec.conversion}'; repair that service, or store and serve one version with strategy None`,
    certainty: bad > 0 ? 0.95 : 0.8,
  };
}
