/** Delays work that is done once for all requests of a turn of the loop until the last of them has begun. */
export interface TurnRest {
  /** Calls `f` when no request runs or is about to begin in this turn, at once if that is so now. `f` never throws. */
  whenBegun(f: () => void): void;
}
