/** Max-min fair division of seats, which fair queuing approximates. For tests, and simple enough to be obviously correct. */

/** Returns the expected division: each gets at most its rate, and those with a higher rate share the rest equally. */
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
