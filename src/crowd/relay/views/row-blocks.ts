/**
 * Rows in order, in blocks that are made into bytes one by one: a change dirties one block.
 *
 * Holds  where a block ends is decided by the row's place alone (a hash of it), so the same rows stand
 *        in the same blocks on every replica, regardless of arrival order.
 * Cost   a change O(log n + block); `parts` O(blocks). A block holds `blockRows` rows in the mean.
 */
import { BodyPart } from "../etag/body-part.ts";

export interface Row {
  /** Where the row stands; unique. */
  readonly place: string;
  readonly hash: bigint;
  bytes(): Uint8Array;
}

interface Block {
  /** Never changed: parts made of them read it later. */
  rows: readonly Row[];
  part: BodyPart | undefined;
}

export class RowBlocks {
  readonly #separator: Uint8Array;
  readonly #mask: number;
  readonly #blocks: Block[] = [];

  /** `blockRows` is a power of two. */
  constructor(separator: Uint8Array, options: { blockRows: number }) {
    this.#separator = separator;
    this.#mask = options.blockRows - 1;
  }

  /** Puts a row at its place, in place of the one that is there. */
  set(row: Row): void {
    const at = this.#blockOf(row.place);
    const block = this.#blocks[at];
    if (block === undefined) return this.#append(row);
    const { rows } = block;
    const index = indexOf(rows, row.place);
    if (rows[index]?.place === row.place) {
      this.#replace(at, [rows.with(index, row)]);
    } else if (this.#ends(row.place)) {
      this.#replace(at, [[...rows.slice(0, index), row], rows.slice(index)]);
    } else {
      this.#replace(at, [rows.toSpliced(index, 0, row)]);
    }
  }

  delete(place: string): void {
    const at = this.#blockOf(place);
    const { rows } = this.#blocks[at] ?? { rows: [] };
    const index = indexOf(rows, place);
    if (rows[index]?.place !== place) return;
    const left = rows.toSpliced(index, 1);
    const next = index === rows.length - 1 ? this.#blocks[at + 1] : undefined;
    if (next === undefined) return this.#replace(at, [left]);
    this.#blocks.splice(at, 1);
    this.#replace(at, [[...left, ...next.rows]]);
  }

  /** One part per block; the same object as long as its rows are the same. */
  parts(): readonly BodyPart[] {
    return this.#blocks.map((block) => (block.part ??= this.#part(block.rows)));
  }

  #part(rows: readonly Row[]): BodyPart {
    return new BodyPart(() => joinRows(rows, this.#separator));
  }

  /** A new last row: into the last block, unless that one has ended. */
  #append(row: Row): void {
    const last = this.#blocks.at(-1);
    const end = last?.rows.at(-1);
    if (last === undefined || end === undefined || this.#ends(end.place)) {
      this.#blocks.push({ rows: [row], part: undefined });
    } else {
      this.#replace(this.#blocks.length - 1, [[...last.rows, row]]);
    }
  }

  #replace(at: number, runs: readonly (readonly Row[])[]): void {
    const blocks = runs
      .filter((rows) => rows.length > 0)
      .map((rows) => ({ rows, part: undefined }));
    this.#blocks.splice(at, 1, ...blocks);
  }

  /** The first block whose last place is not before `place`. */
  #blockOf(place: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const end = this.#blocks[middle]?.rows.at(-1)?.place ?? "";
      if (end < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #ends(place: string): boolean {
    return (fnv1a(place) & this.#mask) === 0;
  }
}

/** The first row whose place is not before `place`. */
function indexOf(rows: readonly Row[], place: string): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.place ?? "") < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** 32-bit FNV-1a with its upper half folded in: the low bits alone are poor. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function joinRows(rows: readonly Row[], separator: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = [];
  rows.forEach((row, at) => {
    if (at > 0 && separator.length > 0) chunks.push(separator);
    chunks.push(row.bytes());
  });
  return Buffer.concat(chunks);
}
