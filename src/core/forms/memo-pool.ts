/**
 * One budget for everything derived from stored bytes and kept for the next reader: parsed objects,
 * labels, encodings. Stored values themselves are not counted: they are the store's.
 *
 * Invariant: the holders' bytes add up to at most `bytesMax` after every `add`. The clock algorithm
 * chooses what to evict: a holder used since the hand last passed gets one more round.
 * Cost: O(1) amortised; nothing is done on a hit but setting a flag in the holder.
 */
import { assert } from "#base/assert.ts";

export interface MemoHolder {
  /** Set by the holder on every hit, cleared by the pool when the hand passes. */
  memoUsed: boolean;
  /** Drops everything derived; the holder makes it again when asked. */
  dropMemo(): void;
  /** No state and no recent event at `mark` has it: it is older, and was not rehomed then. */
  outlived(mark: number): boolean;
}

/** Charged per holder regardless of its content, so that the number of holders is bounded too. */
const holderOverheadBytes = 256;

/** The queue is compacted when about this many of its slots are dead. */
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

  /** `holder` keeps `bytes` more. May drop the memo of any holder, this one included. */
  add(holder: MemoHolder, bytes: number): void {
    const held = this.#bytes.get(holder);
    const added = held === undefined ? bytes + holderOverheadBytes : bytes;
    this.#bytes.set(holder, (held ?? 0) + added);
    if (held === undefined) this.#queue.push(holder);
    this.#total += added;
    while (this.#total > this.#bytesMax) this.#evict();
    assert(this.#total >= 0, "memo pool counts bytes nobody holds");
  }

  /** Stops charging for `holder`, which has dropped its memo because no further use is expected. */
  release(holder: MemoHolder): void {
    this.#total -= this.#bytes.get(holder) ?? 0;
    this.#bytes.delete(holder);
    if (this.#queue.length > 2 * this.#bytes.size + deadSlotsMax) this.#compact();
  }

  /** Drops holders that will not be used again: each would pin the stored bytes it was made from. */
  dropOutlived(mark: number): void {
    for (const [holder, bytes] of this.#bytes) {
      if (!holder.outlived(mark)) continue;
      this.#total -= bytes;
      this.#bytes.delete(holder);
      holder.dropMemo();
    }
    this.#compact();
  }

  /** What nobody used since the last call goes, so that the memos of a busy hour do not outlast it. */
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

  /** Drops dead slots: before the head, and of holders released. Order stays. */
  #compact(): void {
    this.#queue = this.#queue.slice(this.#head).filter((holder) => this.#bytes.has(holder));
    this.#head = 0;
  }
}
