/**
 * How much work the expressions of one call have done, so that the caller can end them and have them
 * evaluated on another thread.
 *
 * Why not the cost  Kubernetes' costs are part of its contract and do not follow time: sorting 60,000 texts costs
 *        one unit, a check of access 350,000. A unit of effort takes some 200 ns at most.
 * Holds  a function that does more than a few steps spends before it works; outside of `withEffort` nothing is counted.
 */
export class EffortExceeded extends Error {
  constructor() {
    super("the expressions take longer than the loop may be held");
    this.name = "EffortExceeded";
  }
}

let left = Number.POSITIVE_INFINITY;

interface Done<T> {
  readonly result: T;
  readonly effort: number;
}

/** @throws EffortExceeded when `run` needs more effort; its partial result is lost. */
export function withEffort<T>(units: number, run: () => T): Done<T> {
  const before = left;
  left = units;
  try {
    const result = run();
    return { result, effort: units - left };
  } finally {
    left = before;
  }
}

/** @throws EffortExceeded. */
export function spendEffort(units: number): void {
  left -= units;
  if (left < 0) throw new EffortExceeded();
}
