/**
 * How many replicas each region has: what it had, what the policy says, and which regions answer.
 *
 *   open    takes part by weight, within least and most
 *   silent  does not answer and is not given up: keeps what it has, gets no more
 *   closed  lost, drained or not chosen any more: gives up to `release` replicas to open regions
 *
 * Holds  shares and `unplaced` add up to `total`. A silent region loses replicas only when the total shrinks below what was
 *        placed. A closed one loses at most `release`, and nothing that no open region can take.
 *        Sticky: on growth no region loses, on shrinking none gains.
 */
import { shareOut, type Claim, type Shares } from "./divisor.ts";

export type Standing = "open" | "silent" | "closed";

export interface RegionClaim extends Claim {
  readonly standing: Standing;
  /** Replicas that the region had so far; 0 for a new region. */
  readonly before: number;
  /** For a closed region: number of its `before` replicas that may move away now. */
  readonly release: number;
  /** Pods of this shape that still fit according to the summary. Undefined: not known, so the share is not bounded. */
  readonly free?: number;
  /** Regions of one domain share the replicas that the domain gets. */
  readonly domain: string;
}

export interface DivideOptions {
  readonly sticky: boolean;
  /** Whether domains get equal parts before their regions do. */
  readonly spread: boolean;
}

interface Division {
  readonly shares: ReadonlyMap<string, number>;
  readonly unplaced: number;
}

export function divide(
  total: number,
  regions: readonly RegionClaim[],
  options: DivideOptions,
): Division {
  const ordered = regions.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const placed = ordered.reduce((all, { before }) => all + before, 0);
  const isGrowing = total >= placed;
  const claimsWith = (isBounded: boolean): readonly DomainClaim[] =>
    ordered.map((region) => claimOf(region, { isGrowing, isBounded, sticky: options.sticky }));
  const share = options.spread ? shareByDomain : shareOut;
  const bounded = share(total, claimsWith(true));
  // It is better for replicas to wait in a region that may get room than to have no region.
  const result = bounded.left > 0 ? share(total, claimsWith(false)) : bounded;
  return keepInClosed(result, ordered);
}

interface DomainClaim extends Claim {
  readonly domain: string;
}

interface Growth {
  readonly isGrowing: boolean;
  /** Whether free room bounds what a region gets. */
  readonly isBounded: boolean;
  readonly sticky: boolean;
}

function claimOf(region: RegionClaim, { isGrowing, isBounded, sticky }: Growth): DomainClaim {
  const { name, weight, before, domain, standing, release, free } = region;
  if (standing === "closed") {
    const kept = Math.max(0, before - release);
    return { name, domain, weight: 0, least: kept, most: kept };
  }
  if (standing === "silent") {
    const least = isGrowing ? before : 0;
    return { name, domain, weight, least, most: before };
  }
  const room = isBounded && free !== undefined ? before + free : Number.MAX_SAFE_INTEGER;
  const most = Math.max(Math.min(region.most, room), region.least);
  if (!sticky) return { name, domain, weight, least: region.least, most };
  if (isGrowing) return { name, domain, weight, least: clamp(before, region.least, most), most };
  return { name, domain, weight, least: region.least, most: clamp(before, region.least, most) };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

function shareByDomain(total: number, claims: readonly DomainClaim[]): Shares {
  const domains = Map.groupBy(claims, ({ domain }) => domain);
  const sums = [...domains].map(([name, members]) => ({
    name,
    weight: members.some(({ weight }) => weight > 0) ? 1 : 0,
    least: members.reduce((all, { least }) => all + least, 0),
    most: Math.min(
      Number.MAX_SAFE_INTEGER,
      members.reduce((all, { most }) => all + most, 0),
    ),
  }));
  const { shares: perDomain, left } = shareOut(total, sums);
  const shares = new Map<string, number>();
  let rest = left;
  for (const [domain, members] of domains) {
    const inDomain = shareOut(perDomain.get(domain) ?? 0, members);
    rest += inDomain.left;
    for (const [name, share] of inDomain.shares) shares.set(name, share);
  }
  return { shares, left: rest };
}

/** Replicas that no open region takes keep counting for the closed region that had them. */
function keepInClosed({ shares, left }: Shares, regions: readonly RegionClaim[]): Division {
  const kept = new Map(shares);
  let unplaced = left;
  for (const { name, standing, before } of regions) {
    if (standing !== "closed") continue;
    const share = kept.get(name) ?? 0;
    const back = Math.min(unplaced, Math.max(0, before - share));
    kept.set(name, share + back);
    unplaced -= back;
  }
  return { shares: kept, unplaced };
}

/** Chooses the region of a workload that is never split. Undefined: no region may run it. */
export function chooseWhole(
  regions: readonly RegionClaim[],
  mayLeave: boolean,
): string | undefined {
  const holder = regions.find(({ before }) => before > 0);
  if (holder !== undefined && (holder.standing !== "closed" || !mayLeave)) return holder.name;
  const best = regions
    .filter(({ standing }) => standing === "open")
    .toSorted((a, b) => (b.free ?? 0) - (a.free ?? 0) || b.weight - a.weight || byName(a, b))
    .at(0);
  return (best ?? holder)?.name;
}

function byName(a: Claim, b: Claim): number {
  return a.name < b.name ? -1 : 1;
}
