/** What is done once for all requests of a turn of the loop waits until the last of them has begun. */
export interface TurnRest {
  /** Calls `f` when no request is running or is about to begin in this turn: at once, where none is. `f` never throws. */
  whenBegun(f: () => void): void;
}
