/**
 * What a HorizontalPodAutoscaler does where no metrics are read, pure: it keeps the target within its
 * bounds, and says that it cannot do more.
 */
import { ownEntry } from "#base/own.ts";
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  MetricSpec,
} from "#api/gen/types.ts";
import { withCondition } from "#client/conditions.ts";

/** Replicas the target must have, and upstream's words for why. */
export interface Rescale {
  readonly replicas: number;
  readonly reason: string;
}

interface ScalePlan {
  /** Absent: the target has as many replicas as it must. */
  readonly rescale?: Rescale;
  readonly scalingActive: Said;
}

export interface Said {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const disabled: Said = {
  status: "False",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the replica count of the target is zero",
};

export function planScale(autoscaler: HorizontalPodAutoscaler, current: number): ScalePlan {
  const min = autoscaler.spec?.minReplicas ?? 1;
  const max = autoscaler.spec?.maxReplicas ?? min;
  const scalingActive = planWithoutMetrics(autoscaler.spec?.metrics ?? []);
  if (current === 0 && min !== 0) return { scalingActive: disabled };
  if (current > max) {
    const reason = "Current number of replicas above Spec.MaxReplicas";
    return { scalingActive, rescale: { replicas: max, reason } };
  }
  if (current < min) {
    const reason = "Current number of replicas below Spec.MinReplicas";
    return { scalingActive, rescale: { replicas: min, reason } };
  }
  return { scalingActive };
}

const reasons: Readonly<Record<string, string>> = {
  Resource: "FailedGetResourceMetric",
  ContainerResource: "FailedGetContainerResourceMetric",
  Pods: "FailedGetPodsMetric",
  Object: "FailedGetObjectMetric",
  External: "FailedGetExternalMetric",
};

function planWithoutMetrics([first]: readonly MetricSpec[]): Said {
  const what = first?.resource?.name ?? first?.type ?? "resource";
  const why = `unable to get metrics for ${what}: this control plane reads no metrics API`;
  const message = `the HPA was unable to compute the replica count: ${why}`;
  return {
    status: "False",
    reason: ownEntry(reasons, first?.type ?? "Resource") ?? "InvalidMetricSourceType",
    message,
  };
}

/** The same array when nothing new is said. */
export function withSaid(
  conditions: readonly HorizontalPodAutoscalerCondition[] | undefined,
  type: string,
  said: Said,
  now: string,
): readonly HorizontalPodAutoscalerCondition[] {
  return withCondition(conditions, { type, ...said, lastTransitionTime: now });
}
