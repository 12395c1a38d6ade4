/** What is decided outside for the horizontal autoscaler: upstream's --horizontal-pod-autoscaler-* flags. */

export interface AutoscalingOptions {
  /** Between two looks at an autoscaler. */
  readonly syncMs: number;
  /** For how long a higher recommendation keeps replicas. */
  readonly downscaleStabilizationMs: number;
  /** How far the ratio of usage to target may be from 1 without an effect. */
  readonly tolerance: number;
  /** After the start of a pod, in which its CPU counts only while it is ready. */
  readonly cpuInitializationMs: number;
  /** After the start of a pod, in which changes of its readiness count as its first. */
  readonly initialReadinessMs: number;
  /** For an answer of a metrics API. */
  readonly metricsTimeoutMs: number;
  /** Of an answer of a metrics API; 27,000 pods with labels fit. */
  readonly metricsBytesMax: number;
}

/** Upstream's defaults; the last two are our own. */
export const autoscalingDefaults: AutoscalingOptions = {
  syncMs: 15_000,
  downscaleStabilizationMs: 300_000,
  tolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
  metricsTimeoutMs: 10_000,
  metricsBytesMax: 16 * 1024 * 1024,
};
