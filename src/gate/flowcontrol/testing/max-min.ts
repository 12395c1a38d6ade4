/** For tests: the division of seats that fair queuing comes near, too simple to be wrong. */

/** The oracle: nobody gets more than asked for, and what is left is shared equally by those who want more. */
export function maxMin(rates: readonly number[], seats: number): readonly number[] {
  const shares = rates.map(() => 0);
  let left = seats;
  let open = rates.map((_, at) => at);
  while (open.length > 0 && left > 1e-9) {
    const equal = left / open.length;
    for (const at of open) {
      const given = Math.min(equal, (rates[at] ?? 0) - (shares[at] ?? 0));
      shares[at] = (shares[at] ?? 0) + given;
      left -= given;
    }
    open = open.filter((at) => (rates[at] ?? 0) - (shares[at] ?? 0) > 1e-9);
  }
  return shares;
}
