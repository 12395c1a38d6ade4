/** A role's metrics begin with those of its process. */
import { describeBuild } from "./build-metrics.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import { processMetrics } from "#platform/process-metrics.ts";
import { MetricSet } from "#metrics/metric-set.ts";

/** `gates`: as flags set them; none: those that may be switched are off. */
export function processMetricSet(gates: readonly string[] = []): MetricSet {
  const metrics = new MetricSet();
  metrics.figuresOf(() => processMetrics(readProcessFigures()));
  describeBuild(metrics, gates);
  return metrics;
}
