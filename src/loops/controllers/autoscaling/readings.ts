/** What metrics APIs said, as the plan takes it. */

/** Of one pod. */
export interface PodMetric {
  /** Thousandths. */
  readonly milli: bigint;
  readonly timestampMs: number;
  readonly windowMs: number;
}

/** By name of the pod. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** The answer for one metric of an autoscaler, or why there is none. */
export type Reading =
  | { readonly kind: "pods"; readonly metrics: PodMetrics }
  /** Thousandths: one of an object, any number of an external metric. */
  | { readonly kind: "values"; readonly millis: readonly bigint[] }
  | { readonly kind: "failed"; readonly error: string };

/** A metric that cannot be used, in upstream's words. */
export class MetricError extends Error {}
