/**
 * The history by revision: for every r in (base, head], the rows that revision made. A revision has no rows if it
 * changed nothing that is kept here (`mirror.ts`).
 *
 * Cost: 4 bytes per revision. Rows, and the bytes they refer to, stay until compaction. Reads at an old
 * revision are synchronous, so history within (compactRevision, head] must be in memory anyway, and
 * watches are served from the same rows. The engine's log holds the same history for a restart.
 */
import { assert, must } from "#base/assert.ts";
import { noRow } from "./versions.ts";
import type { Row } from "./versions.ts";

const chunkBits = 14;
const chunkSize = 1 << chunkBits;
/** Marks a revision with several rows, which are in `#many`. */
const many = -1;

export class RevisionLog {
  /** Chunk i holds revisions from (#firstChunk + i) << chunkBits on. */
  readonly #chunks: Int32Array[] = [];
  readonly #many = new Map<number, readonly Row[]>();
  #firstChunk: number;
  #base: number;
  #head: number;

  /** `base`: the revision of the state that history starts after. */
  constructor(base: number) {
    this.#base = base;
    this.#head = base;
    this.#firstChunk = Math.floor((base + 1) / chunkSize);
  }

  /** Rows of revisions up to and including this one have been dropped. */
  get base(): number {
    return this.#base;
  }

  /** The latest revision assigned. */
  get head(): number {
    return this.#head;
  }

  /** Appends the next revision, with its rows in order. */
  append(revision: number, rows: readonly Row[]): void {
    if (rows.length === 1) {
      this.appendOne(revision, rows[0] as Row);
      return;
    }
    assert(rows.length > 1, "a revision without changes", { revision });
    this.#many.set(revision, rows);
    this.appendOne(revision, many);
  }

  appendOne(revision: number, row: Row): void {
    assert(revision === this.#head + 1, "revisions must be dense", { revision, head: this.#head });
    assert(row !== noRow, "a revision without a row", { revision });
    const at = Math.floor(revision / chunkSize) - this.#firstChunk;
    while (at >= this.#chunks.length) this.#chunks.push(new Int32Array(chunkSize));
    (this.#chunks[at] as Int32Array)[revision % chunkSize] = row;
    this.#head = revision;
  }

  /** Records that revisions up to and including this one have no rows. */
  skipTo(revision: number): void {
    const last = Math.floor(revision / chunkSize) - this.#firstChunk;
    while (last >= this.#chunks.length) this.#chunks.push(new Int32Array(chunkSize));
    this.#head = Math.max(this.#head, revision);
  }

  /** The row of `revision`; undefined when it has none or several: see `rows`. */
  row(revision: number): Row | undefined {
    const at = Math.floor(revision / chunkSize) - this.#firstChunk;
    const row = must(this.#chunks[at], "history is gone")[revision % chunkSize] as Row;
    return row === many || row === noRow ? undefined : row;
  }

  rows(revision: number): readonly Row[] {
    const at = Math.floor(revision / chunkSize) - this.#firstChunk;
    const row = must(this.#chunks[at], "history is gone")[revision % chunkSize] as Row;
    if (row === many) return must(this.#many.get(revision), "rows are gone");
    return row === noRow ? [] : [row];
  }

  /** Drops revisions up to and including `base`. */
  trim(base: number): void {
    for (const revision of this.#many.keys()) {
      if (revision > base) break;
      this.#many.delete(revision);
    }
    this.#base = base;
    const first = Math.floor((base + 1) / chunkSize);
    const gone = Math.min(first - this.#firstChunk, this.#chunks.length);
    if (gone <= 0) return;
    this.#chunks.splice(0, gone);
    this.#firstChunk = first;
  }
}
