/**
 * Plans one round of an autoscaler, pure except for its history: decides whether metrics are needed, and then the size.
 *
 * Scale to zero needs no option here: an API server accepts `minReplicas: 0` only with its feature gate HPAScaleToZero
 * on.
 */
import type { HorizontalPodAutoscaler } from "#api/gen/types.ts";
import { findCondition } from "#client/conditions.ts";
import type { ScaleHistory } from "./history.ts";
import { hasObjectOrExternal } from "./metric-specs.ts";
import type { MetricsPlan } from "./metrics-plan.ts";
import { normalize, type Normalized } from "./normalize.ts";
import type { AutoscalingOptions } from "./options.ts";
import type { Said } from "./said.ts";

/** The new number of replicas, with upstream's text for the reason. */
export interface Rescale {
  readonly replicas: number;
  readonly reason: string;
}

type Start =
  /** The target was scaled to zero by someone else. */
  | { readonly kind: "disabled"; readonly scalingActive: Said }
  /** The current number is outside the bounds, so metrics are not read. */
  | { readonly kind: "bounds"; readonly rescale: Rescale }
  | { readonly kind: "metrics" };

const disabled: Start = {
  kind: "disabled",
  scalingActive: {
    status: "False",
    reason: "ScalingDisabled",
    message: "scaling is disabled since the replica count of the target is zero",
  },
};

const belowMin = "Current number of replicas below Spec.MinReplicas";

function minReplicas({ spec }: HorizontalPodAutoscaler): number {
  return spec?.minReplicas ?? 1;
}

function maxReplicas(autoscaler: HorizontalPodAutoscaler): number {
  return autoscaler.spec?.maxReplicas ?? minReplicas(autoscaler);
}

/** The autoscaler itself scaled the target to zero, so it may scale up again. */
function isScaledToZero({ status }: HorizontalPodAutoscaler): boolean {
  return findCondition(status?.conditions, "ScaledToZero")?.status === "True";
}

export function planStart(autoscaler: HorizontalPodAutoscaler, current: number): Start {
  const min = minReplicas(autoscaler);
  const max = maxReplicas(autoscaler);
  if (current === 0) return canLeaveZero(autoscaler, min) ? { kind: "metrics" } : disabled;
  if (current > max) {
    const reason = "Current number of replicas above Spec.MaxReplicas";
    return { kind: "bounds", rescale: { replicas: max, reason } };
  }
  if (current < min) return { kind: "bounds", rescale: { replicas: min, reason: belowMin } };
  return { kind: "metrics" };
}

function canLeaveZero(autoscaler: HorizontalPodAutoscaler, min: number): boolean {
  return isScaledToZero(autoscaler) && (min !== 0 || hasObjectOrExternal(autoscaler));
}

interface ScalePlan extends Pick<Normalized, "ableToScale" | "scalingLimited"> {
  /** Absent: the number of replicas is right. */
  readonly rescale?: Rescale;
}

/** `proposed`: the number from the metrics. Records it in the history. */
export function planScale(
  autoscaler: HorizontalPodAutoscaler,
  current: number,
  { replicas: proposed, name }: Pick<MetricsPlan, "name"> & { readonly replicas: number },
  history: ScaleHistory,
  { downscaleStabilizationMs }: Pick<AutoscalingOptions, "downscaleStabilizationMs">,
  nowMs: number,
): ScalePlan {
  const min = minReplicas(autoscaler);
  // A hostile negative metric counts as a request for zero.
  const desired = Math.max(0, proposed);
  const { replicas, ...said } = normalize(autoscaler, history, {
    current,
    desired,
    min,
    max: maxReplicas(autoscaler),
    nowMs,
    downscaleStabilizationMs,
  });
  const isLow = current === 0 && replicas < min;
  const next = isLow ? min : replicas;
  if (next === current) return said;
  return { ...said, rescale: { replicas: next, reason: reasonOf(desired, current, name) } };
}

function reasonOf(desired: number, current: number, name: string): string {
  if (desired > current) return `${desired > 0 ? name : ""} above target`;
  if (desired < current) return "All metrics below target";
  return current === 0 ? belowMin : "";
}

/** Whether the autoscaler itself scaled its target to zero; undefined: it cannot, and has no such condition. */
export function scaledToZero(
  autoscaler: HorizontalPodAutoscaler,
  from: number,
  to: number,
): Said | undefined {
  const min = minReplicas(autoscaler);
  const isKnown = findCondition(autoscaler.status?.conditions, "ScaledToZero") !== undefined;
  if (min !== 0 && !isKnown) return undefined;
  if (from > 0 && to === 0 && min === 0 && hasObjectOrExternal(autoscaler)) {
    const message = "the HPA controller scaled the workload to zero";
    return { status: "True", reason: "ScaledToZero", message };
  }
  const message = "the HPA controller did not scale the workload to zero";
  return { status: "False", reason: "NotScaledToZero", message };
}
