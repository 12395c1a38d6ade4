/**
 * One gate's share of numbers that several gates hold together: the threads that serve one port.
 *
 * Holds  the shares of all gates add up to the number, each is the whole divided by the gates, rounded down or up. Which
 *        gates get the rest differs by `name`, so that no gate has the rest of every level.
 */
export interface Share {
  /** Index of the gate, from 0. The share of a gate from index `count` on is 0. */
  readonly index: number;
  readonly count: number;
}

export function shareOf(whole: number, share: Share | undefined, name = ""): number {
  if (share === undefined || !Number.isFinite(whole)) return whole;
  const { index, count } = share;
  if (index >= count) return 0;
  const place = (index + first(name, count)) % count;
  return Math.floor(whole / count) + (place < whole % count ? 1 : 0);
}

function first(name: string, count: number): number {
  let sum = 0;
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) % count;
  return sum;
}
