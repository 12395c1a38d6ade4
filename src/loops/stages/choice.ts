/** Chooses the stage to play among those that match an object: by weight, as kwok does. */
import type { Random } from "#platform/random.ts";
import type { DelayRange, Stage, StagedObject } from "./stage.ts";

/** Returns undefined if no stage matches. */
export function chooseStage(
  stages: readonly Stage[],
  object: StagedObject,
  random: Random,
): Stage | undefined {
  const matching = stages.filter((stage) => stage.matches(object));
  if (matching.length <= 1) return matching[0];
  const weighed = matching.map((stage) => ({ stage, weight: stage.weightOf(object) }));
  const known = weighed.filter(({ weight }) => weight !== undefined);
  const total = known.reduce((sum, { weight = 0 }) => sum + Math.max(0, weight), 0);
  if (total <= 0) {
    const among = known.length > 0 ? known : weighed;
    return among[random.below(among.length)]?.stage;
  }
  let left = random.below(Math.min(total, 2 ** 31));
  for (const { stage, weight = 0 } of known) {
    left -= Math.max(0, weight);
    if (left < 0) return stage;
  }
  return known.at(-1)?.stage;
}

/** Maximum delay; longer ones are cut to it. */
const delayMsMax = 2 ** 31 - 1;

export function delayWithin({ fromMs, toMs }: DelayRange, random: Random): number {
  const spanMs = Math.min(delayMsMax, Math.max(0, Math.floor(toMs - fromMs)));
  const jitterMs = spanMs > 0 ? random.below(spanMs) : 0;
  return Math.min(delayMsMax, Math.max(0, fromMs + jitterMs));
}
