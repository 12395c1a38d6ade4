/**
 * The last changes of a joined view, for readers of its lists of changes and streams.
 *
 * Holds  a position is the number of a change in the life of this one view, with the view's random name before it:
 *        `0f3c…-17`. Another replica, and the view made anew, know nothing of it: resourceVersions of the inputs would
 *        not say which rows a reader has, because a mirror that lists anew may skip what came and went.
 * Bounds `joinedChangesMax` entries and `joinedChangesLengthMax` characters; the oldest go.
 */
import type { JoinLimits } from "./join-plan.ts";
import type { RowObject } from "./row-object.ts";

export interface LogEntry {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: RowObject;
}

export class ChangeLog {
  readonly #life: string;
  readonly #limits: JoinLimits;
  #entries: LogEntry[] = [];
  /** Number of the first entry kept; entries are counted from 1. */
  #first = 1;
  #length = 0;

  /** @param life Text that no other view has, of this process or another. */
  constructor(life: string, limits: JoinLimits) {
    this.#life = life;
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

  /** Returns the position of a reader that has all entries below `number`. */
  position(number = this.end): string {
    return `${this.#life}-${number}`;
  }

  add(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#length += entry.object.bytes;
    const { joinedChangesMax, joinedChangesLengthMax } = this.#limits;
    // Half of the entries are cut at once, because each cut copies the remaining ones.
    if (this.#entries.length > joinedChangesMax || this.#length > joinedChangesLengthMax) {
      this.#cut(Math.ceil(this.#entries.length / 2));
    }
  }

  #cut(count: number): void {
    for (const { object } of this.#entries.slice(0, count)) this.#length -= object.bytes;
    this.#entries = this.#entries.slice(count);
    this.#first += count;
  }

  /** Returns at most `max` entries from `number` on, which must not be below `start`. */
  from(number: number, max: number): readonly LogEntry[] {
    const at = number - this.#first;
    return this.#entries.slice(at, at + max);
  }

  /** Returns the number of the first entry after `position`. Undefined: the log does not know this position. */
  after(position: string): number | undefined {
    const number = Number(position.slice(this.#life.length + 1));
    const isMine = Number.isSafeInteger(number) && position === this.position(number);
    return isMine && number >= this.#first && number <= this.end ? number : undefined;
  }
}
