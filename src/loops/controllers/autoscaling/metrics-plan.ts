/**
 * Combines all metrics of an autoscaler, pure: the highest number of replicas wins.
 *
 * Holds  while a metric fails, the other metrics may only increase the number of replicas.
 */
import type { HorizontalPodAutoscaler, MetricStatus } from "#api/gen/types.ts";
import { metricSpecs } from "./metric-specs.ts";
import { planMetric } from "./metric-plan.ts";
import type { Reading } from "./readings.ts";
import type { Scaled } from "./replicas.ts";
import type { Said, Warning } from "./said.ts";

export interface MetricsPlan {
  /** Undefined: no metric yields a number. */
  readonly replicas: number | undefined;
  /** The metric with the highest number. */
  readonly name: string;
  readonly statuses: readonly MetricStatus[];
  readonly warnings: readonly Warning[];
  readonly scalingActive: Said;
  /** Error of the first metric that failed, even if others succeeded. */
  readonly error: string | undefined;
}

/** `readings` correspond to `spec.metrics`, in order. */
export function planMetrics(
  autoscaler: HorizontalPodAutoscaler,
  scaled: Scaled,
  readings: readonly Reading[],
): MetricsPlan {
  const specs = metricSpecs(autoscaler);
  const outcomes = specs.map((spec, at) =>
    planMetric(spec, scaled, readings[at] ?? { kind: "failed", error: "not read" }),
  );
  const failed = outcomes.filter((one) => one.kind === "failed");
  let best = { replicas: 0, name: "" };
  for (const one of outcomes) {
    if (one.kind === "proposed" && (best.replicas === 0 || one.replicas > best.replicas))
      best = one;
  }
  const [first] = failed;
  const plan = {
    statuses: outcomes.map((one) => (one.kind === "proposed" ? one.status : { type: "" })),
    warnings: failed.map(({ reason, error }) => ({ reason, message: error })),
    error:
      first &&
      `invalid metrics (${failed.length} invalid out of ${specs.length}), first error is: ${first.fullError}`,
  };
  const isLost =
    failed.length >= specs.length || (failed.length > 0 && best.replicas < scaled.replicas);
  if (isLost) {
    const { reason = "", error = "" } = first ?? {};
    const message = `the HPA was unable to compute the replica count: ${error}`;
    const scalingActive: Said = { status: "False", reason, message };
    return { ...plan, replicas: undefined, name: "", scalingActive };
  }
  return { ...plan, replicas: best.replicas, name: best.name, scalingActive: found(best.name) };
}

function found(name: string): Said {
  const message = `the HPA was able to successfully calculate a replica count from ${name}`;
  return { status: "True", reason: "ValidMetricFound", message };
}
