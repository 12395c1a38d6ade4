/** --horizontal-pod-autoscaler-*: the settings of the horizontal pod autoscaler. */
import { type Command, InvalidArgumentError } from "commander";
import { autoscalingDefaults, type AutoscalingOptions } from "#controllers/autoscaling/options.ts";
import { duration, durationOrZero } from "../shared/flag-values.ts";

/** Values in milliseconds, except for the tolerance. */
export interface AutoscalingFlags {
  readonly horizontalPodAutoscalerSyncPeriod: number;
  readonly horizontalPodAutoscalerDownscaleStabilization: number;
  readonly horizontalPodAutoscalerTolerance: number;
  readonly horizontalPodAutoscalerCpuInitializationPeriod: number;
  readonly horizontalPodAutoscalerInitialReadinessDelay: number;
}

export function addAutoscalingFlags(command: Command): void {
  const { syncMs, downscaleStabilizationMs, tolerance, ...times } = autoscalingDefaults;
  command
    .option(
      "--horizontal-pod-autoscaler-sync-period <duration>",
      "between two looks at an autoscaler's metrics",
      duration,
      syncMs,
    )
    .option(
      "--horizontal-pod-autoscaler-downscale-stabilization <duration>",
      "in which a higher recommendation keeps replicas",
      durationOrZero,
      downscaleStabilizationMs,
    )
    .option(
      "--horizontal-pod-autoscaler-tolerance <number>",
      "distance of usage to target, from 1, without an effect",
      toleranceOf,
      tolerance,
    )
    .option(
      "--horizontal-pod-autoscaler-cpu-initialization-period <duration>",
      "after the start of a pod, in which its CPU counts only while it is ready",
      durationOrZero,
      times.cpuInitializationMs,
    )
    .option(
      "--horizontal-pod-autoscaler-initial-readiness-delay <duration>",
      "after the start of a pod, in which changes of its readiness count as its first",
      durationOrZero,
      times.initialReadinessMs,
    );
}

function toleranceOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1_000) return value;
  throw new InvalidArgumentError("a number from 0 to 1000.");
}

export function autoscalingOf(flags: AutoscalingFlags): AutoscalingOptions {
  return {
    ...autoscalingDefaults,
    syncMs: flags.horizontalPodAutoscalerSyncPeriod,
    downscaleStabilizationMs: flags.horizontalPodAutoscalerDownscaleStabilization,
    tolerance: flags.horizontalPodAutoscalerTolerance,
    cpuInitializationMs: flags.horizontalPodAutoscalerCpuInitializationPeriod,
    initialReadinessMs: flags.horizontalPodAutoscalerInitialReadinessDelay,
  };
}
