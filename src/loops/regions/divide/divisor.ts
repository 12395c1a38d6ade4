/**
 * Shares of a whole number by weights: the divisor method of Webster (Sainte-Lagüe), with a least and a most for each share.
 *
 * Holds  shares and what is left over add up to `total`; least <= share <= most.
 *        One more in `total` changes one share, by one: no scale-up moves what is placed (house monotone), which methods of
 *        largest remainders do not promise. The same input gives the same shares; equal claims go to the earlier name.
 * Cost   O(n x 64): a search for the divisor, then less than n single steps, however large `total` is.
 */
export interface Claim {
  readonly name: string;
  /** Greater than 0: the claim takes part in the division beyond `least`. Fractions are allowed. */
  readonly weight: number;
  readonly least: number;
  /** Maximum share. If it is below `least`, `least` counts. */
  readonly most: number;
}

export interface Shares {
  readonly shares: ReadonlyMap<string, number>;
  /** Number of units that no claim may take. */
  readonly left: number;
}

/** Divides `total` among the claims. If the least shares alone exceed `total`, they are filled in the order of `claims`. */
export function shareOut(total: number, claims: readonly Claim[]): Shares {
  const shares = startAtLeast(total, claims);
  const open = claims.filter((claim) => claim.weight > 0);
  let left = total - sum(shares.values());
  if (left > 0 && open.length > 0) left -= giveByDivisor(left, open, shares);
  while (left > 0) {
    const next = nextClaim(open, shares);
    if (next === undefined) break;
    shares.set(next.name, (shares.get(next.name) ?? 0) + 1);
    left--;
  }
  return { shares, left };
}

function startAtLeast(total: number, claims: readonly Claim[]): Map<string, number> {
  const shares = new Map<string, number>();
  let left = total;
  for (const { name, least } of claims) {
    const given = Math.min(left, Math.max(0, least));
    shares.set(name, given);
    left -= given;
  }
  return shares;
}

/** Gives in one step what single steps in any order would give, except for the last few units. @returns the number of units given. */
function giveByDivisor(
  left: number,
  claims: readonly Claim[],
  shares: Map<string, number>,
): number {
  const smallest = Math.min(...claims.map(({ weight }) => weight));
  const before = new Map(shares);
  const at = (claim: Claim, scale: number): number =>
    shareAt(claim, before.get(claim.name) ?? 0, scale / smallest);
  const givenAt = (scale: number): number =>
    sum(claims.map((claim) => at(claim, scale) - (before.get(claim.name) ?? 0)));
  const scale = largestScale((tried) => givenAt(tried) <= left, sum(before.values()) + left + 2);
  for (const claim of claims) shares.set(claim.name, at(claim, scale));
  return givenAt(scale);
}

/** The largest number up to `most` for which `fits` is known to hold; 0 always fits. */
function largestScale(fits: (scale: number) => boolean, most: number): number {
  if (fits(most)) return most;
  let low = 0;
  let high = most;
  for (let step = 0; step < 64; step++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns a claim's share when one unit of weight is worth `scale`, rounded like Webster's method. Ties are not resolved here. */
function shareAt({ weight, most }: Claim, before: number, scale: number): number {
  const rounded = Math.ceil(weight * scale - 0.5);
  return Math.max(before, Math.min(most, rounded));
}

/** Returns the claim with the highest quotient weight / (2 share + 1) among those that may take one more unit. */
function nextClaim(
  claims: readonly Claim[],
  shares: ReadonlyMap<string, number>,
): Claim | undefined {
  let best: Claim | undefined;
  let bestQuotient = 0;
  for (const claim of claims) {
    const share = shares.get(claim.name) ?? 0;
    if (share >= claim.most) continue;
    const quotient = claim.weight / (2 * share + 1);
    if (quotient > bestQuotient) [best, bestQuotient] = [claim, quotient];
  }
  return best;
}

function sum(values: Iterable<number>): number {
  let all = 0;
  for (const value of values) all += value;
  return all;
}
