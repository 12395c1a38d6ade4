/** Metrics of conversion webhooks, by upstream's names, labels and buckets. */
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";

/** Values of upstream's label `failure_type`. */
export type ConversionFailure =
  | "conversion_webhook_call_failure"
  | "conversion_webhook_malformed_response_failure"
  | "conversion_webhook_partial_response_failure"
  | "conversion_webhook_invalid_converted_object_failure";

interface Conversion {
  /** Name of the definition, such as `crontabs.stable.example.com`. */
  readonly definition: string;
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly seconds: number;
  readonly failure?: ConversionFailure;
}

const callBuckets = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];
/** Buckets from 1 ms, doubled 14 times. */
const definitionBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

export class ConversionMetrics {
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #byDefinition: Histogram;

  constructor(metrics: MetricSet) {
    const labels = ["result", "failure_type"];
    this.#requests = metrics.counter(
      "apiserver_conversion_webhook_request_total",
      "[ALPHA] Counter for conversion webhook requests with success/failure and failure error type",
      labels,
    );
    this.#durations = metrics.histogram(
      "apiserver_conversion_webhook_duration_seconds",
      "[ALPHA] Conversion webhook request latency",
      labels,
      callBuckets,
    );
    this.#byDefinition = metrics.histogram(
      "apiserver_crd_conversion_webhook_duration_seconds",
      "[ALPHA] CRD webhook conversion duration in seconds",
      ["crd_name", "from_version", "to_version", "succeeded"],
      definitionBuckets,
    );
  }

  /** Counts one call with all of its objects. */
  called({ definition, fromVersion, toVersion, seconds, failure }: Conversion): void {
    const labels = [failure === undefined ? "success" : "failure", failure ?? ""];
    this.#requests.add(labels);
    this.#durations.observe(labels, seconds);
    const succeeded = String(failure === undefined);
    this.#byDefinition.observe([definition, fromVersion, toVersion, succeeded], seconds);
  }
}
