/**
 * The last changes of a joined view, for readers that resume: which rows, and up to which positions of the inputs.
 *
 * Holds  positions of entries never fall, so what a reader at some position lacks is the end of the log. A position
 *        below `floor` in any part may lack what is not in the log any more.
 * Bounds `joinedChangesMax` entries and `joinedChangesLengthMax` characters; the oldest go.
 */
import { isWithin, type Positions } from "./positions.ts";
import type { JoinLimits } from "./join-plan.ts";
import type { RowObject } from "./row-object.ts";

export interface LogEntry {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: RowObject;
  readonly positions: Positions;
}

export class ChangeLog {
  readonly #limits: JoinLimits;
  #entries: LogEntry[] = [];
  /** Of the first entry; entries are counted from 1 on. */
  #first = 1;
  #length = 0;
  #floor: Positions;

  constructor(floor: Positions, limits: JoinLimits) {
    this.#floor = floor;
    this.#limits = limits;
  }

  /** Number of the next entry. */
  get end(): number {
    return this.#first + this.#entries.length;
  }

  /** Number of the oldest entry. */
  get start(): number {
    return this.#first;
  }

  add(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#length += entry.object.bytes;
    const { joinedChangesMax, joinedChangesLengthMax } = this.#limits;
    // In portions: each cut moves what is left.
    if (this.#entries.length > joinedChangesMax || this.#length > joinedChangesLengthMax) {
      this.#cut(Math.ceil(this.#entries.length / 2));
    }
  }

  #cut(count: number): void {
    for (const { object } of this.#entries.slice(0, count)) this.#length -= object.bytes;
    this.#floor = this.#entries[count - 1]?.positions ?? this.#floor;
    this.#entries = this.#entries.slice(count);
    this.#first += count;
  }

  /** At most `max`, from a number on that is not below `start`. */
  from(number: number, max: number): readonly LogEntry[] {
    const at = number - this.#first;
    return this.#entries.slice(at, at + max);
  }

  /** The number from which on a reader at `positions` lacks entries; undefined: it may lack older ones. */
  after(positions: Positions): number | undefined {
    if (!isWithin(this.#floor, positions)) return undefined;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isWithin(this.#entries[middle]?.positions ?? [], positions)) low = middle + 1;
      else high = middle;
    }
    return this.#first + low;
  }
}
