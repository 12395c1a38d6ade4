/** The status of a HorizontalPodAutoscaler after one look at its target, pure. */
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { withSaid, type Said } from "./plan.ts";

/** The observed scale and the result of acting on it. */
export interface Outcome {
  readonly current: number | undefined;
  readonly desired: number | undefined;
  readonly rescaled: boolean;
  readonly ableToScale: Said;
  readonly scalingActive: Said | undefined;
}

/** The scale of the target could not be read: what was known of it stays. */
export function outcomeWithoutScale(autoscaler: HorizontalPodAutoscaler, why: string): Outcome {
  const message = `the HPA controller was unable to get the target's current scale: ${why}`;
  const ableToScale: Said = { status: "False", reason: "FailedGetScale", message };
  const { currentReplicas: current, desiredReplicas: desired } = autoscaler.status ?? {};
  return { current, desired, rescaled: false, ableToScale, scalingActive: undefined };
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
  { metadata, status: old }: HorizontalPodAutoscaler,
  { current, desired, rescaled, ableToScale, scalingActive }: Outcome,
  now: string,
): HorizontalPodAutoscalerStatus {
  const able = withSaid(old?.conditions, "AbleToScale", ableToScale, now);
  const conditions =
    scalingActive === undefined ? able : withSaid(able, "ScalingActive", scalingActive, now);
  const generation = metadata?.generation;
  return {
    ...old,
    ...given({ observedGeneration: generation, currentReplicas: current }),
    desiredReplicas: desired ?? 0,
    ...(rescaled ? { lastScaleTime: now } : {}),
    conditions,
  };
}
