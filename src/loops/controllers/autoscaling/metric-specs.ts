/** The metrics of an autoscaler. */
import type { HorizontalPodAutoscaler, MetricSpec } from "#api/gen/types.ts";

export function metricSpecs({ spec }: HorizontalPodAutoscaler): readonly MetricSpec[] {
  return spec?.metrics ?? [];
}

/** Whether a metric is available without pods, so that it can scale from zero. */
export function hasObjectOrExternal(autoscaler: HorizontalPodAutoscaler): boolean {
  return metricSpecs(autoscaler).some(({ type }) => type === "Object" || type === "External");
}
