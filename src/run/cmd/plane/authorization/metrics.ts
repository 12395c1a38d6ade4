/** Metrics of authorizers, with upstream's names. */
import type { Authorizer, Decision } from "#auth/auth.ts";
import type { AuthorizerObserver } from "#auth/webhooks/webhook-authorizer.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const type = "Webhook";

export function webhookObserver(metrics: MetricSet): AuthorizerObserver {
  const evaluations = metrics.counter(
    "apiserver_authorization_webhook_evaluations_total",
    "[ALPHA] Round-trips to authorization webhooks.",
    ["name", "result"],
  );
  const durations = metrics.histogram(
    "apiserver_authorization_webhook_duration_seconds",
    "[ALPHA] Request latency in seconds.",
    ["name", "result"],
    defaultBuckets,
  );
  const failOpen = metrics.counter(
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "[ALPHA] NoOpinion results due to webhook timeout or error.",
    ["name", "result"],
  );
  const matched = matchObserver(metrics);
  return {
    evaluated(name, result, seconds) {
      evaluations.add([name, result]);
      durations.observe([name, result], seconds);
    },
    failedOpen: (name, result) => failOpen.add([name, result]),
    matched,
  };
}

function matchObserver(metrics: MetricSet): NonNullable<AuthorizerObserver["matched"]> {
  const labels = ["type", "name"];
  const errors = metrics.counter(
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "[ALPHA] Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
    labels,
  );
  const exclusions = metrics.counter(
    "apiserver_authorization_match_condition_exclusions_total",
    "[ALPHA] Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    labels,
  );
  const seconds = metrics.histogram(
    "apiserver_authorization_match_condition_evaluation_seconds",
    "[ALPHA] Authorization match condition evaluation time in seconds, split by authorizer type and name.",
    labels,
    [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  );
  return (name, outcome, took) => {
    seconds.observe([type, name], took);
    if (outcome === "no-match") exclusions.add([type, name]);
    if (outcome === "error") errors.add([type, name]);
  };
}

export type CountDecisions = (
  kind: { readonly type: string; readonly name: string },
  authorizer: Authorizer,
) => Authorizer;

/** Counts the decisions of each authorizer. "No opinion" is not a decision. */
export function decisionCounter(metrics: MetricSet): CountDecisions {
  const decisions = metrics.counter(
    "apiserver_authorization_decisions_total",
    "[ALPHA] Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
    ["type", "name", "decision"],
  );
  return (kind, authorizer) => {
    const labels = [kind.type, kind.name];
    const allowed = decisions.cell([...labels, "allowed"]);
    const denied = decisions.cell([...labels, "denied"]);
    const count = (decision: Decision): Decision => {
      if (decision.allowed) allowed.count++;
      else if (decision.denied) denied.count++;
      return decision;
    };
    return {
      authorize(attributes) {
        const answer = authorizer.authorize(attributes);
        return answer instanceof Promise ? answer.then(count) : count(answer);
      },
      rulesFor: (user, namespace) => authorizer.rulesFor(user, namespace),
    };
  };
}
