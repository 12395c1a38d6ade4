/**
 * One budget for everything that is derived from stored bytes and kept for the next reader: parsed objects,
 * labels, encodings. Stored values themselves are not counted, because they belong to the store.
 *
 * Invariant: the holders' bytes add up to at most `bytesMax` after every `add`. The clock algorithm
 * chooses what to evict: a holder used since the hand last passed gets one more round.
 * Cost: O(1) amortised; a hit only sets a flag in the holder.
 */
import { assert } from "#base/assert.ts";

export interface MemoHolder {
  /** Set by the holder on every hit; cleared by the pool when its hand passes. */
  memoUsed: boolean;
  /** Drops all derived data, which the holder makes again when needed. */
  dropMemo(): void;
  /** Whether no state and no recent event at `mark` contains it: it is older and was not rehomed. */
  outlived(mark: number): boolean;
}

/** Charged for each holder, whatever its content, so that the number of holders is bounded too. */
const holderOverheadBytes = 256;

/** The queue is compacted at about this many dead slots. */
const deadSlotsMax = 4096;

export class MemoPool {
  readonly #bytesMax: number;
  readonly #bytes = new Map<MemoHolder, number>();
  #queue: MemoHolder[] = [];
  #head = 0;
  #total = 0;

  constructor(options: { bytesMax: number }) {
    assert(options.bytesMax >= 0, "memo budget is negative", options);
    this.#bytesMax = options.bytesMax;
  }

  get totalBytes(): number {
    return this.#total;
  }

  /** Charges `holder` with `bytes` more. May drop the memo of any holder, including this one. */
  add(holder: MemoHolder, bytes: number): void {
    const held = this.#bytes.get(holder);
    const added = held === undefined ? bytes + holderOverheadBytes : bytes;
    this.#bytes.set(holder, (held ?? 0) + added);
    if (held === undefined) this.#queue.push(holder);
    this.#total += added;
    while (this.#total > this.#bytesMax) this.#evict();
    assert(this.#total >= 0, "memo pool counts bytes nobody holds");
  }

  /** Stops charging `holder`, which has dropped its memo because it is not expected to be used. */
  release(holder: MemoHolder): void {
    this.#total -= this.#bytes.get(holder) ?? 0;
    this.#bytes.delete(holder);
    if (this.#queue.length > 2 * this.#bytes.size + deadSlotsMax) this.#compact();
  }

  /** Drops holders that will not be used again, because each keeps the stored bytes it was made from. */
  dropOutlived(mark: number): void {
    for (const [holder, bytes] of this.#bytes) {
      if (!holder.outlived(mark)) continue;
      this.#total -= bytes;
      this.#bytes.delete(holder);
      holder.dropMemo();
    }
    this.#compact();
  }

  /** Drops holders unused since the last call, so that memory shrinks after a busy time. */
  dropUnused(): void {
    for (const [holder, bytes] of this.#bytes) {
      if (holder.memoUsed) {
        holder.memoUsed = false;
        continue;
      }
      this.#total -= bytes;
      this.#bytes.delete(holder);
      holder.dropMemo();
    }
    this.#compact();
  }

  #evict(): void {
    const holder = this.#queue[this.#head++];
    assert(holder !== undefined, "memo pool counts bytes nobody holds", { total: this.#total });
    if (this.#head >= deadSlotsMax) this.#compact();
    if (!this.#bytes.has(holder)) return;
    if (holder.memoUsed) {
      holder.memoUsed = false;
      this.#queue.push(holder);
      return;
    }
    this.#total -= this.#bytes.get(holder) ?? 0;
    this.#bytes.delete(holder);
    holder.dropMemo();
  }

  /** Removes dead slots and those of released holders, keeping the order. */
  #compact(): void {
    this.#queue = this.#queue.slice(this.#head).filter((holder) => this.#bytes.has(holder));
    this.#head = 0;
  }
}
