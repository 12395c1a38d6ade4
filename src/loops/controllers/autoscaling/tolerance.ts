/** Deviation of usage from its target without effect, up and down (HPAConfigurableTolerance). */
import type { HorizontalPodAutoscaler, HPAScalingRules } from "#api/gen/types.ts";
import { milliOf } from "./amounts.ts";

export interface Tolerances {
  readonly down: number;
  readonly up: number;
}

export function tolerancesOf({ spec }: HorizontalPodAutoscaler, fallback: number): Tolerances {
  const { scaleDown, scaleUp } = spec?.behavior ?? {};
  return { down: toleranceOf(scaleDown, fallback), up: toleranceOf(scaleUp, fallback) };
}

function toleranceOf(rules: HPAScalingRules | undefined, fallback: number): number {
  const milli = rules?.tolerance === undefined ? undefined : milliOf(rules.tolerance);
  return milli === undefined ? fallback : Number(milli) / 1000;
}

export function isWithin({ down, up }: Tolerances, ratio: number): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}
