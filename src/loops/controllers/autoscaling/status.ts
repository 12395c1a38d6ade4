/** The status of a HorizontalPodAutoscaler after one reconciliation. Pure. Texts are upstream's. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { withCondition } from "#client/conditions.ts";
import type { Said } from "./said.ts";

/** New conditions by type; absent: unchanged. */
export interface Conditions {
  readonly AbleToScale?: Said;
  readonly ScalingActive?: Said;
  readonly ScalingLimited?: Said;
  readonly ScaledToZero?: Said;
}

/** The observed scale, and the result of the reconciliation. */
export interface Outcome {
  /** Undefined: the scale could not be read, and its last known values stay. */
  readonly replicas?: Replicas;
  readonly conditions: Conditions;
}

interface Replicas {
  readonly current: number;
  /** Absent: unchanged. */
  readonly desired?: number;
  readonly rescaled: boolean;
  /** One per metric; `type` "" when the metric could not be read. */
  readonly metrics: readonly MetricStatus[];
}

export function failedScale(why: string): Said {
  const message = `the HPA controller was unable to get the target's current scale: ${why}`;
  return { status: "False", reason: "FailedGetScale", message };
}

export const gotScale: Said = {
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};

export function updatedScale(replicas: number): Said {
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  return { status: "True", reason: "SucceededRescale", message };
}

export function failedUpdate(why: string): Said {
  const message = `the HPA controller was unable to update the target scale: ${why}`;
  return { status: "False", reason: "FailedUpdateScale", message };
}

/** `now` is a timestamp of the API. */
export function statusAfter(
  { status: old }: HorizontalPodAutoscaler,
  { replicas, conditions }: Outcome,
  now: string,
): HorizontalPodAutoscalerStatus {
  const said = withConditions(old?.conditions, conditions, now);
  if (replicas === undefined) return { desiredReplicas: 0, ...old, conditions: said };
  const { current, desired = old?.desiredReplicas ?? 0, rescaled, metrics } = replicas;
  const lastScaleTime = rescaled ? now : old?.lastScaleTime;
  const currentMetrics = metrics.length === 0 ? undefined : metrics;
  return {
    ...given({ lastScaleTime, currentMetrics }),
    currentReplicas: current,
    desiredReplicas: desired,
    conditions: said,
  };
}

function withConditions(
  old: HorizontalPodAutoscalerStatus["conditions"],
  conditions: Conditions,
  now: string,
): readonly HorizontalPodAutoscalerCondition[] {
  let list = old ?? [];
  for (const [type, said] of Object.entries(conditions) as [string, Said | undefined][]) {
    if (said !== undefined) list = withCondition(list, { type, ...said, lastTransitionTime: now });
  }
  return list;
}
