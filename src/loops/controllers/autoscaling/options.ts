/** Settings of the horizontal autoscaler: upstream's --horizontal-pod-autoscaler-* flags. */

export interface AutoscalingOptions {
  /** Interval between two reconciliations of an autoscaler. */
  readonly syncMs: number;
  /** Time for which a higher recommendation prevents scaling down. */
  readonly downscaleStabilizationMs: number;
  /** Deviation of the ratio of usage to target from 1 that has no effect. */
  readonly tolerance: number;
  /** Time after a pod's start during which its CPU counts only while it is ready. */
  readonly cpuInitializationMs: number;
  /** Time after a pod's start during which a change of readiness counts as the first one. */
  readonly initialReadinessMs: number;
  /** Timeout of a request to a metrics API. */
  readonly metricsTimeoutMs: number;
  /** Maximum size of a metrics API's answer; 27,000 pods with labels fit. */
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
