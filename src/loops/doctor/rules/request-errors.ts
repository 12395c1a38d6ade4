/** Finds requests that end in a server error, by resource and verb. */
import { growth } from "../evidence.ts";
import { kindOf, quoted, type Rule } from "../rule.ts";

const share = 0.03;
const pageShare = 0.2;
const errorsMin = 3;
/** Tolerance for metrics pages written in several turns: one of two counters may be read some requests after the other. */
const skewShare = 0.1;
const by = ["verb", "group", "resource"];
const name = "apiserver_request_total";
/** A webhook that does not answer has its own rule. Its failures explain the same number of errors here. */
const webhookName = "apiserver_admission_webhook_rejection_count";

export const requestErrors: Rule = {
  id: "request-errors",
  title: "Requests end in a server's error",
  reads: [name, webhookName],
  threshold: "3 % of a resource's requests of a verb, at least three; 20 % pages",
  source: "kubernetes-mixin KubeAPIErrorBudgetBurn, for a short time",
  alerts: [
    {
      query: `sum by (verb, group, resource) (rate(${name}{code=~"5.."}[5m])) / sum by (verb, group, resource) (rate(${name}[5m]))`,
      above: share,
      severity: "warn",
    },
    {
      query: `sum by (verb, group, resource) (rate(${name}{code=~"5.."}[5m])) / sum by (verb, group, resource) (rate(${name}[5m]))`,
      above: pageShare,
      severity: "page",
    },
  ],
  judge: (evidence) => {
    const all = growth(evidence, name, by);
    const failed = growth(
      evidence,
      name,
      by,
      ({ labels }) => labels.get("code")?.startsWith("5") === true,
    );
    const byWebhooks = growth(
      evidence,
      webhookName,
      [],
      ({ labels }) => labels.get("error_type") === "calling_webhook_error",
    );
    const explained = byWebhooks.get("") ?? 0;
    return [...failed].flatMap(([key, errors]) => {
      if (errors - explained < Math.max(errorsMin, errors * skewShare)) return [];
      const part = errors / (all.get(key) ?? errors);
      if (!(errors >= errorsMin) || !(part > share)) return [];
      const [verb = "", group = "", resource = ""] = key.split("/");
      const kind = kindOf(group, resource);
      return [
        {
          sentence: `${Math.round(part * 100)} % of the requests to ${verb} ${kind} end in a server's error`,
          culprit: `${verb} of ${kind}`,
          severity: part > pageShare ? ("page" as const) : ("warn" as const),
          figures: { errors, share: Number(part.toFixed(3)), seconds: evidence.secondsBetween },
          remedy: `kubectl get ${quoted(kind)} -A --chunk-size=1 -v=6 shows one such answer; its reason is in the API server's log; a webhook, a conversion or an aggregated API that is away is a finding of its own`,
          certainty: Math.min(0.9, 0.5 + errors / 50),
        },
      ];
    });
  },
};
