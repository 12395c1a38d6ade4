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
  /** The watch resumes after this resourceVersion. */
  readonly resourceVersion: string;
  /** Number of the watch's first events, of this resourceVersion, that are already written. Undefined: none. */
  readonly skip: { readonly resourceVersion: string; readonly events: number } | undefined;
}

export const snapshotBegun = "begun";
export const comparing = "comparing";

/** Parses a position. Undefined: there is none, or a whole state was being written. */
export function parsePosition(text: string | undefined): Position | undefined {
  const match = /^(\d{1,19})(?:\.(\d{1,9}))?$/.exec(text ?? "");
  if (match === null) return undefined;
  const [, resourceVersion = "", events] = match;
  if (events === undefined) return { resourceVersion, skip: undefined };
  const before = (BigInt(resourceVersion) - 1n).toString();
  return { resourceVersion: before, skip: { resourceVersion, events: Number(events) } };
}

/** Counts the events of the current resourceVersion. */
export class PositionCounter {
  #resourceVersion = "";
  #events = 0;

  /** Returns the position after one more event. */
  next(resourceVersion: string): string {
    this.#events = resourceVersion === this.#resourceVersion ? this.#events + 1 : 1;
    this.#resourceVersion = resourceVersion;
    return `${resourceVersion}.${this.#events}`;
  }
}
