/** What a request takes of its level. */
export interface WorkSize {
  readonly seats: number;
  /** Seats held for `extraMs` after the work is done, for what it sets off elsewhere. */
  readonly finalSeats: number;
  readonly extraMs: number;
  /** It may have a seat of a work at rest. */
  readonly isSmall: boolean;
}

/** Of a request of which nothing else is known. */
export const oneSeat: WorkSize = { seats: 1, finalSeats: 0, extraMs: 0, isSmall: false };

export function widthOf({ seats, finalSeats }: WorkSize): number {
  return Math.max(seats, finalSeats);
}
