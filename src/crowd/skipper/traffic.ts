/**
 * How traffic is spread over several backends of one path: by predicates of their routes.
 *
 *   traffic-predicate           Traffic(share of what the backends before left) and True() for the order
 *   traffic-segment-predicate   TrafficSegment(from, to), of 0 to 1
 *
 * Holds  without any weight all get the same; a backend that gets nothing has no route of an Ingress.
 */
import { type Call, call } from "./route.ts";
import type { SkipperOptions } from "./options.ts";

export interface Weighted {
  readonly name: string;
  readonly weight: number;
}

interface Share {
  readonly isAllowed: boolean;
  readonly predicates: readonly Call[];
}

export const wholeShare: Share = { isAllowed: true, predicates: [] };

export function sharesOf(
  algorithm: SkipperOptions["trafficAlgorithm"],
  backends: readonly Weighted[],
): ReadonlyMap<string, Share> {
  return algorithm === "traffic-predicate" ? byPredicate(backends) : bySegment(backends);
}

function byPredicate(backends: readonly Weighted[]): ReadonlyMap<string, Share> {
  const hasWeights = backends.reduce((sum, { weight }) => sum + weight, 0) !== 0;
  const weights = backends.map(({ weight }) => (hasWeights ? weight : 1));
  let left = weights.reduce((sum, weight) => sum + weight, 0);
  const last = weights.findLastIndex((weight) => weight > 0);
  const shares = new Map<string, Share>();
  backends.forEach(({ name }, at) => {
    const weight = weights[at] ?? 0;
    const value = at === Math.max(last, 0) ? 1 : weight === 0 ? 0 : weight / left;
    left -= weight;
    shares.set(name, {
      isAllowed: value > 0,
      predicates: traffic(value, backends.length - at - 2),
    });
  });
  return shares;
}

function traffic(value: number, behind: number): readonly Call[] {
  if (value === 1) return [];
  return [
    call("Traffic", value),
    ...Array.from({ length: Math.max(behind, 0) }, () => call("True")),
  ];
}

function bySegment(backends: readonly Weighted[]): ReadonlyMap<string, Share> {
  const hasWeights = backends.some(({ weight }) => weight !== 0);
  const segments = new Map<string, [from: number, to: number]>();
  let sum = 0;
  for (const { name, weight } of backends) {
    if (hasWeights && segments.has(name)) continue;
    segments.set(name, [sum, (sum += hasWeights ? weight : 1)]);
  }
  const shares = new Map<string, Share>();
  for (const [name, segment] of segments) {
    const [from, to] = segment.map((one) => one / sum) as [number, number];
    const predicates = from === 0 && to === 1 ? [] : [call("TrafficSegment", from, to)];
    shares.set(name, { isAllowed: from !== to, predicates });
  }
  return shares;
}
