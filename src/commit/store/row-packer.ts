/**
 * Keeps the version table dense. After a busy time the remaining rows are spread over thousands of chunks, and one row
 * keeps its whole chunk allocated. Rows move from the top into the lowest chunks, a few per step.
 *
 * Holds  only the newest row of a key moves, once it is below history: then only the index refers to it. A row of
 *        history stays, and is gone or below history by the next pass.
 * Cost   about 5 ns per place of the table, and a microsecond per row that moves.
 */
import type { Mvcc } from "./mvcc.ts";
import { chunkRows, type Row } from "./versions.ts";

/** Packing starts when chunks exceed what the rows need by this factor plus `slackChunks`. */
const chunkFactor = 2;
const slackChunks = 64;
const stepRows = 4_096;
const stepMoves = 64;

export class RowPacker {
  readonly #mvcc: Mvcc;
  /** The next row to look at, in descending order. */
  #row: Row = 0;
  /** The next pass starts only after more was pruned, because rows that could not move still cannot. */
  #prunedTo = 0;

  constructor(mvcc: Mvcc) {
    this.#mvcc = mvcc;
  }

  /** Does one small step of the work. @returns whether nothing is left to do. */
  step(): boolean {
    if (this.#row === 0 && !this.#begin()) return true;
    const until = Math.max(0, this.#row - stepRows);
    for (let moves = 0; this.#row > until && moves < stepMoves; this.#row--) {
      if (this.#canMove(this.#row)) {
        if (!this.#move(this.#row)) this.#row = 1;
        moves++;
      }
    }
    return false;
  }

  /** Begins a pass. @returns whether a pass would free anything. */
  #begin(): boolean {
    const { versions, pruning } = this.#mvcc;
    const needed = Math.ceil(versions.size / chunkRows);
    const isSparse = versions.chunks > needed * chunkFactor + slackChunks;
    if (!isSparse || pruning.revision <= this.#prunedTo) return false;
    this.#prunedTo = pruning.revision;
    this.#row = versions.end - 1;
    return this.#row > 0;
  }

  #canMove(row: Row): boolean {
    const { versions, log, index } = this.#mvcc;
    if (!versions.inUse(row) || versions.revision(row) > log.base) return false;
    return index.get(versions.key(row)) === row;
  }

  /** @returns false: no lower chunk has room for this row or any row below it. */
  #move(row: Row): boolean {
    const { versions, index } = this.#mvcc;
    const key = versions.key(row);
    const moved = versions.lower(row);
    if (moved !== row) index.set(key, moved);
    return moved !== row;
  }
}
