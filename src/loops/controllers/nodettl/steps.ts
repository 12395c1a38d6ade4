/** How long kubelets may cache Secrets and ConfigMaps, by number of nodes. */

/** Upstream's steps: the range of node counts, and the seconds. */
const steps: readonly (readonly [least: number, most: number, seconds: number])[] = [
  [0, 100, 0],
  [90, 500, 15],
  [450, 1_000, 30],
  [900, 2_000, 60],
  [1_800, Number.POSITIVE_INFINITY, 300],
];

/** The step after `step` for `count` nodes. Pure. */
export function nextStep(step: number, count: number): number {
  let next = step;
  while (count > (steps[next]?.[1] ?? 0)) next++;
  while (count < (steps[next]?.[0] ?? 0)) next--;
  return next;
}

export function secondsOf(step: number): number {
  return steps[step]?.[2] ?? 0;
}
