/** The metrics of a role, which begin with those of its process. */
import { describeBuild } from "./build-metrics.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import { processMetrics } from "#platform/process-metrics.ts";
import { MetricSet } from "#metrics/metric-set.ts";

/** `gates`: feature gates as given in flags. Empty: every gate that can be switched is off. */
export function processMetricSet(gates: readonly string[] = []): MetricSet {
  const metrics = new MetricSet();
  metrics.figuresOf(() => processMetrics(readProcessFigures()));
  describeBuild(metrics, gates);
  return metrics;
}
