/**
 * Computes one gate's share of a number that several gates divide among them: one gate per thread that serves the port.
 *
 * Holds  the shares of all gates add up to the number. Each share is the number divided by the count of gates, rounded
 *        down or up. `name` selects the gates that round up, so that no gate gets the remainder of every level.
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
