/** Seats that a request takes of its level. */
export interface WorkSize {
  readonly seats: number;
  /** Number of seats held for `extraMs` after the work is done, for the work that it causes elsewhere. */
  readonly finalSeats: number;
  readonly extraMs: number;
  /** Whether the work may use a seat of a work at rest. */
  readonly isSmall: boolean;
}

/** Size of a request about which nothing else is known. */
export const oneSeat: WorkSize = { seats: 1, finalSeats: 0, extraMs: 0, isSmall: false };

export function widthOf({ seats, finalSeats }: WorkSize): number {
  return Math.max(seats, finalSeats);
}
