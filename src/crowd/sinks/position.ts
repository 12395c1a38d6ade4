/**
 * How far a source has been written: a resourceVersion, and how many events of it. Several events may share
 * one (a lease's end deletes many keys at once), and a batch may end between them.
 *
 *   "41"      all up to 41
 *   "42.2"    all before 42, and the first two events of 42
 *   "begun"      the whole state is being written, between marks
 *   "comparing"  what changed during a gap is being written: until its end only another comparison helps
 */
export interface Position {
  /** A watch begins after this. */
  readonly resourceVersion: string;
  /** Events at the head of that watch that are written already. */
  readonly skip: { readonly resourceVersion: string; readonly events: number } | undefined;
}

export const snapshotBegun = "begun";
export const comparing = "comparing";

/** Undefined: a state is being written. */
export function parsePosition(text: string | undefined): Position | undefined {
  const match = /^(\d{1,19})(?:\.(\d{1,9}))?$/.exec(text ?? "");
  if (match === null) return undefined;
  const [, resourceVersion = "", events] = match;
  if (events === undefined) return { resourceVersion, skip: undefined };
  const before = (BigInt(resourceVersion) - 1n).toString();
  return { resourceVersion: before, skip: { resourceVersion, events: Number(events) } };
}

/** Counts the events of one resourceVersion as they come. */
export class PositionCounter {
  #resourceVersion = "";
  #events = 0;

  /** The position after one more event. */
  next(resourceVersion: string): string {
    this.#events = resourceVersion === this.#resourceVersion ? this.#events + 1 : 1;
    this.#resourceVersion = resourceVersion;
    return `${resourceVersion}.${this.#events}`;
  }
}
