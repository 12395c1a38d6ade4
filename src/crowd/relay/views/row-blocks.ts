/**
 * Rows in order, in blocks that are made into bytes one by one: a change dirties one block.
 *
 * Holds  where a block ends is decided by the row's place alone (a hash of it), so the same rows stand
 *        in the same blocks on every replica, regardless of arrival order.
 * Cost   a change O(log n + block); `parts` O(blocks). A block holds `blockRows` rows in the mean.
 */
import { BodyPart } from "../etag/body-part.ts";

export interface Row {
  /** Sort key of the row; unique. */
  readonly place: string;
  readonly hash: bigint;
  bytes(): Uint8Array;
}

interface Block {
  /** Immutable array: body parts made of it read it later. */
  rows: readonly Row[];
  part: BodyPart | undefined;
}

export class RowBlocks {
  readonly #separator: Uint8Array;
  readonly #mask: number;
  readonly #blocks: Block[] = [];

  /** @param options `blockRows`: mean number of rows per block, a power of two. */
  constructor(separator: Uint8Array, options: { blockRows: number }) {
    this.#separator = separator;
    this.#mask = options.blockRows - 1;
  }

  /** Inserts a row at its place, or replaces the row there. */
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

  /** Returns one part per block; a part stays the same object as long as its rows do. */
  parts(): readonly BodyPart[] {
    return this.#blocks.map((block) => (block.part ??= this.#part(block.rows)));
  }

  #part(rows: readonly Row[]): BodyPart {
    return new BodyPart(() => joinRows(rows, this.#separator));
  }

  /** Appends a new last row to the last block, or to a new block when that one is complete. */
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

  /** Returns the index of the first block whose last place is not before `place`. */
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

/** Returns the index of the first row whose place is not before `place`. */
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

/** 32-bit FNV-1a with its upper half folded in, because its low bits alone are poorly distributed. */
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
