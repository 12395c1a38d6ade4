/** Answers of metrics APIs, in the form that the plan uses. */

/** The metric of one pod. */
export interface PodMetric {
  /** In thousandths. */
  readonly milli: bigint;
  readonly timestampMs: number;
  readonly windowMs: number;
}

/** By pod name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** The answer for one metric of an autoscaler, or the reason for its absence. */
export type Reading =
  | { readonly kind: "pods"; readonly metrics: PodMetrics }
  /** In thousandths: one value of an object, or any number of an external metric. */
  | { readonly kind: "values"; readonly millis: readonly bigint[] }
  | { readonly kind: "failed"; readonly error: string };

/** A metric cannot be used, with upstream's text. */
export class MetricError extends Error {}
