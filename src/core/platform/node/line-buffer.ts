/**
 * Lines that wait for a file, of many writers: none of them can make the lines of another be lost.
 *
 *   push ──► pending, oldest first ──(chunk, take)──► file
 *              └ full: the newest line of the writer that holds most gives way
 *
 * Bounds `bytesMax` of lines in sum. Beyond it lines of strangers (requests without credentials) give way
 *        to any other; among equals the newest line of the writer that holds most bytes, perhaps the new one.
 *        No more than `linesMax` lines wait, by the same rule.
 *        at most `holdersMax` writers have an account each; further ones share one.
 * Holds  what `chunk` returned stays first until `take` has said how much of it was written.
 * Cost   constant per line; at the limit a look at each writer.
 */

export interface LineWriter {
  /** Name that the line is accounted to. */
  readonly name: string;
  /** Whether the name is not authenticated. */
  readonly isStranger: boolean;
}

/** Called once. False: the line is lost, or waits after a failed write. */
export type TakeWritten = (isWritten: boolean) => void;

/** Called once for each line that is lost. */
export type TakeDropped = (writer: LineWriter) => void;

interface Holder {
  readonly key: string;
  readonly isStranger: boolean;
  /** Lines, oldest first. Lines that are gone stay in the list until they are swept. */
  lines: Line[];
  bytes: number;
  count: number;
}

interface Line {
  bytes: Buffer;
  readonly writer: LineWriter;
  readonly holder: Holder;
  /** `leaving`: part of the write under way, or the rest of a partly written line. */
  state: "waiting" | "leaving" | "gone";
  isTorn: boolean;
  told: TakeWritten | undefined;
}

const holdersMax = 1_000;
/** Number of gone lines from which on a sweep is worth its cost. */
const sweepAt = 64;
const nothing = Buffer.alloc(0);

export class LineBuffer {
  readonly #bytesMax: number;
  readonly #linesMax: number;
  readonly #holders = new Map<string, Holder>();
  /** Lines that wait. Lines that gave way stay, without bytes, until they are swept. */
  #pending: Line[] = [];
  #bytes = 0;
  #goneCount = 0;
  #leavingCount = 0;

  constructor(bytesMax: number, linesMax = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax;
    this.#linesMax = linesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#pending.length - this.#goneCount;
  }

  /** @returns false when this line is dropped. `dropped` is called for lines that give way to it. */
  push(bytes: Buffer, writer: LineWriter, dropped?: TakeDropped, told?: TakeWritten): boolean {
    const holder = this.#holderOf(writer);
    while (this.#bytes + bytes.length > this.#bytesMax || this.count >= this.#linesMax) {
      const victim = this.#victimOf(holder, bytes.length);
      if (victim === undefined) return false;
      this.#drop(victim);
      dropped?.(victim.writer);
    }
    const line: Line = { bytes, writer, holder, state: "waiting", isTorn: false, told };
    this.#pending.push(line);
    holder.lines.push(line);
    holder.count++;
    this.#charge(holder, bytes.length);
    this.#holders.set(holder.key, holder);
    return true;
  }

  /** Returns the oldest lines, whole, at least one and at most `linesMax`. They cannot give way until `take`. */
  chunk(bytesMax: number, linesMax = this.#pending.length): Buffer {
    let bytes = 0;
    const over = this.#pending.findIndex((line) => (bytes += line.bytes.length) > bytesMax);
    const end = over === -1 ? linesMax : Math.min(over, linesMax);
    const lines = this.#pending.slice(0, Math.max(1, end));
    for (const line of lines) if (line.state === "waiting") line.state = "leaving";
    this.#leavingCount = lines.length;
    return Buffer.concat(lines.map((line) => line.bytes));
  }

  /**
   * `count` bytes from the front were written, none when the write failed. Of a line that was written in
   * part the rest stays first.
   */
  take(count: number): void {
    let left = count;
    let taken = 0;
    const leaving = this.#pending.slice(0, this.#leavingCount);
    for (const line of leaving) {
      if (line.bytes.length > left) break;
      left -= line.bytes.length;
      taken++;
      this.#leave(line);
      tell(line, true);
    }
    this.#pending.splice(0, taken);
    this.#leavingCount = 0;
    const rest = leaving.slice(taken);
    const [torn] = rest;
    if (left > 0 && torn !== undefined) {
      this.#charge(torn.holder, -left);
      torn.bytes = torn.bytes.subarray(left);
      torn.isTorn = true;
    }
    for (const line of rest) if (line.state === "leaving" && !line.isTorn) line.state = "waiting";
  }

  /** Notifies the writers of all waiting lines that the write failed; the lines stay. */
  tellFailed(): void {
    for (const line of this.#pending) tell(line, false);
  }

  /** Drops the first line. @returns its writer. */
  dropFirst(): LineWriter | undefined {
    this.#leavingCount = 0;
    const first = this.#pending.shift();
    if (first !== undefined) {
      this.#leave(first);
      tell(first, false);
    }
    return first?.writer;
  }

  #holderOf({ name, isStranger }: LineWriter): Holder {
    const kind = isStranger ? "?" : "=";
    const known = this.#holders.get(kind + name);
    if (known !== undefined) return known;
    const key = this.#holders.size < holdersMax ? kind + name : kind;
    return this.#holders.get(key) ?? { key, isStranger, lines: [], bytes: 0, count: 0 };
  }

  #victimOf(holder: Holder, bytes: number): Line | undefined {
    const strangers = this.#largest(true);
    if (!holder.isStranger && strangers !== undefined) return newestOf(strangers);
    const most = holder.isStranger ? strangers : this.#largest(false);
    if (most === undefined || most.bytes <= holder.bytes + bytes) return undefined;
    return newestOf(most);
  }

  /** Returns the holder of most bytes, among those that have a line that can give way. */
  #largest(isStranger: boolean): Holder | undefined {
    let most: Holder | undefined;
    for (const one of this.#holders.values()) {
      if (one.isStranger !== isStranger || one.bytes <= (most?.bytes ?? 0)) continue;
      if (newestOf(one) !== undefined) most = one;
    }
    return most;
  }

  #drop(line: Line): void {
    this.#leave(line);
    tell(line, false);
    line.bytes = nothing;
    this.#goneCount++;
    if (this.#goneCount <= sweepAt || this.#goneCount * 2 <= this.#pending.length) return;
    const leaving = this.#pending.slice(0, this.#leavingCount);
    const waiting = this.#pending.slice(this.#leavingCount).filter(isThere);
    this.#goneCount = leaving.reduce((sum, one) => sum + (isThere(one) ? 0 : 1), 0);
    this.#pending = [...leaving, ...waiting];
  }

  #leave(line: Line): void {
    if (line.state === "gone") return void this.#goneCount--;
    const { holder } = line;
    line.state = "gone";
    holder.count--;
    this.#charge(holder, -line.bytes.length);
    if (holder.count === 0) this.#holders.delete(holder.key);
    else if (holder.lines.length > 2 * holder.count + sweepAt)
      holder.lines = holder.lines.filter(isThere);
  }

  #charge(holder: Holder, bytes: number): void {
    this.#bytes += bytes;
    holder.bytes += bytes;
  }
}

function tell(line: Line, isWritten: boolean): void {
  const { told } = line;
  line.told = undefined;
  told?.(isWritten);
}

/** Returns the newest line, if it can give way. */
function newestOf({ lines }: Holder): Line | undefined {
  while (lines.at(-1)?.state === "gone") lines.pop();
  const last = lines.at(-1);
  return last?.state === "waiting" ? last : undefined;
}

function isThere(line: Line): boolean {
  return line.state !== "gone";
}
