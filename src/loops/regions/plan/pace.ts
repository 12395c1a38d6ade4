/**
 * How far each region may go now towards its share: first new replicas, then fewer old ones.
 *
 * In     of each region that answers: its share, what its object asks for, and how many are ready.
 * Holds  asked for in sum <= max(total + surge, what is asked for already); ready replicas never fall below
 *        min(total - unavailable elsewhere, what is ready now) by what is taken down here.
 *        With no ready replica anywhere nothing is held back.
 */
interface Pace {
  readonly name: string;
  readonly share: number;
  readonly asked: number;
  readonly ready: number;
}

/** @returns the number of replicas to request next from each region. `total`: sum of the regions' shares. */
export function pace(
  total: number,
  surge: number,
  regions: readonly Pace[],
): ReadonlyMap<string, number> {
  const next = new Map(regions.map(({ name, asked }) => [name, asked]));
  let room = total + surge - regions.reduce((all, { asked }) => all + asked, 0);
  for (const { name, share, asked } of regions) {
    const grown = Math.min(Math.max(0, share - asked), Math.max(0, room));
    if (grown === 0) continue;
    next.set(name, asked + grown);
    room -= grown;
  }
  const ready = regions.reduce((all, one) => all + Math.min(one.ready, one.asked), 0);
  let spare = ready - Math.min(total, ready);
  for (const one of regions) {
    const excess = Math.max(0, one.asked - one.share);
    const taken = takeDown(one, excess, spare);
    next.set(one.name, (next.get(one.name) ?? 0) - taken.count);
    spare -= taken.ready;
  }
  return next;
}

/** Takes replicas that are not ready first; these do not use up the spare. */
function takeDown(
  { asked, ready }: Pace,
  excess: number,
  spare: number,
): { readonly count: number; readonly ready: number } {
  const idle = Math.max(0, asked - Math.min(ready, asked));
  const count = Math.min(excess, idle + Math.max(0, spare));
  return { count, ready: Math.max(0, count - idle) };
}
