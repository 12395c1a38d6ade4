/**
 * Divides the server's seats among the priority levels. Finds the fair fraction f: every level gets f times its target,
 * within its bounds, and all levels together get all seats.
 *
 * Out    whole seats per level. Because of rounding, the sum may differ from the total by at most half a seat per
 *        level.
 * After  KEP-1040 borrowing; apiserver pkg/util/flowcontrol conc_alloc.go and updateBorrowingLocked.
 */

export interface LevelDemand {
  /** Number of seats by shares. */
  readonly nominal: number;
  /** nominal - lendable. */
  readonly min: number;
  /** nominal + maximum number of borrowed seats. */
  readonly max: number;
  readonly highWatermark: number;
  readonly smoothed: number;
}

/** Minimum target, because a target of zero would cause a division by zero. */
const targetMin = 0.001;

interface Bounds {
  readonly lower: number;
  readonly upper: number;
  readonly target: number;
}

/** `total`: seats of the server minus those that exempt levels use now. */
export function shareSeats(levels: readonly LevelDemand[], total: number): readonly number[] {
  const bounds = levels.map(boundsOf);
  const minSum = sum(levels.map((level) => level.min));
  const lowerSum = sum(bounds.map((bound) => bound.lower));
  if (total <= minSum) return levels.map((level) => level.min);
  if (total <= lowerSum) {
    // The seats in use exceed the total: every level gets the same share of its demand above its minimum.
    const fraction = (total - minSum) / (lowerSum - minSum);
    return levels.map((level, index) =>
      Math.round(level.min + ((bounds[index]?.lower ?? level.min) - level.min) * fraction),
    );
  }
  const fraction = fairFraction(bounds, total);
  return bounds.map((bound) => Math.round(allocation(bound, fraction)));
}

/** A level keeps what it used recently, up to its nominal share, regardless of other levels' demand. */
function boundsOf(level: LevelDemand): Bounds {
  const lower = Math.max(level.min, Math.min(level.nominal, level.highWatermark));
  const target = Math.max(lower, level.smoothed, targetMin);
  return { lower, upper: Math.max(level.max, lower), target };
}

function allocation({ lower, upper, target }: Bounds, fraction: number): number {
  return Math.min(upper, Math.max(lower, fraction * target));
}

/**
 * The sum of the allocations grows with the fraction. It is piecewise linear: each piece ends where a level meets a
 * bound. Finds the piece that crosses `total`, then the crossing.
 */
function fairFraction(bounds: readonly Bounds[], total: number): number {
  const given = (fraction: number): number =>
    sum(bounds.map((bound) => allocation(bound, fraction)));
  const bends = bounds.flatMap(({ lower, upper, target }) => [lower / target, upper / target]);
  let before = 0;
  for (const bend of bends.toSorted((a, b) => a - b)) {
    const sumHere = given(bend);
    if (sumHere >= total) {
      const sumBefore = given(before);
      if (sumHere <= sumBefore) return bend;
      return before + ((total - sumBefore) / (sumHere - sumBefore)) * (bend - before);
    }
    before = bend;
  }
  // All levels are at their upper bounds.
  return before;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
