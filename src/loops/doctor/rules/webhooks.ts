/** Finds admission webhooks that fail or are slow: every matching write waits for them. */
import { growth, type Evidence } from "../evidence.ts";
import type { Series } from "../metrics-text.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

const prefix = "apiserver_admission_webhook_";
const slowSeconds = 0.5;

export const webhooks: Rule = {
  id: "webhook",
  title: "An admission webhook fails or is slow",
  reads: [
    `${prefix}rejection_count`,
    `${prefix}fail_open_count`,
    `${prefix}admission_duration_seconds_sum`,
    `${prefix}admission_duration_seconds_count`,
  ],
  threshold: "any failed call between two samples; mean above 0.5 s",
  source: "upstream's webhook good practices; EKS control plane guide",
  alerts: [
    {
      query: `sum by (name) (rate(${prefix}rejection_count{error_type="calling_webhook_error"}[5m]))`,
      above: 0,
      severity: "page",
    },
    {
      query: `sum by (name) (rate(${prefix}admission_duration_seconds_sum[5m])) / sum by (name) (rate(${prefix}admission_duration_seconds_count[5m]))`,
      above: slowSeconds,
      severity: "warn",
    },
  ],
  judge: (evidence) => [...failing(evidence), ...slow(evidence)],
};

function isCallError({ labels }: Series): boolean {
  return labels.get("error_type") === "calling_webhook_error";
}

function failing(evidence: Evidence): readonly Verdict[] {
  const refused = growth(evidence, `${prefix}rejection_count`, ["name"], isCallError);
  const ignored = growth(evidence, `${prefix}fail_open_count`, ["name"]);
  return [...new Set([...refused.keys(), ...ignored.keys()])].flatMap((name) => {
    const stopped = refused.get(name) ?? 0;
    const passed = ignored.get(name) ?? 0;
    if (!(stopped + passed > 0)) return [];
    return [
      {
        sentence: `webhook ${name} does not answer: ${stopped} writes were refused and ${passed} let through unchecked`,
        culprit: `webhook ${name}`,
        severity: stopped > 0 ? "page" : "warn",
        figures: { refused: stopped, passed, seconds: evidence.secondsBetween },
        remedy: remedyOf(name),
        certainty: 0.95,
      },
    ];
  });
}

function slow(evidence: Evidence): readonly Verdict[] {
  const counts = growth(evidence, `${prefix}admission_duration_seconds_count`, ["name"]);
  const sums = growth(evidence, `${prefix}admission_duration_seconds_sum`, ["name"]);
  return [...counts].flatMap(([name, calls]): readonly Verdict[] => {
    const mean = (sums.get(name) ?? 0) / calls;
    if (!(calls > 0) || !(mean > slowSeconds)) return [];
    return [
      {
        sentence: `webhook ${name} takes ${mean.toFixed(2)} s for each write`,
        culprit: `webhook ${name}`,
        severity: "warn",
        figures: { meanSeconds: mean, calls },
        remedy: `${remedyOf(name)}; timeoutSeconds of 3 at most`,
        certainty: Math.min(0.9, 0.5 + calls / 50),
      },
    ];
  });
}

function remedyOf(name: string): string {
  return `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml | grep -B20 ${quoted(name)}; repair its service, narrow its rules, or set failurePolicy: Ignore`;
}
