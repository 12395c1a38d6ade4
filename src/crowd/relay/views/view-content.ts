/**
 * The content of a view, or of one zone of it: rows, their digest, and one body for all readers.
 *
 * Holds  the digest is the sum of the rows' hashes, so the ETag depends on the rows alone: the same on
 *        every replica, and equal again when the content is equal again. So do the body bytes: the body
 *        names no position.
 * Cost   a change O(log n + one block); the next read of the body pays for the changed blocks.
 */
import { assert } from "#base/assert.ts";
import type { ReplayHead } from "#platform/replay.ts";
import { BodyPart, PartedBody } from "../etag/body-part.ts";
import { digestText, sum } from "./digest.ts";
import { type Row, RowBlocks } from "./row-blocks.ts";

/** Bytes before, between and after the rows. */
export interface Frame {
  readonly head: Uint8Array;
  readonly separator: Uint8Array;
  readonly tail: Uint8Array;
  /** Mean number of rows per block, a power of two. */
  readonly blockRows: number;
}

export class ViewContent {
  /** 304 answers of this content, by ETag; made and stored by poll-head.ts. */
  readonly heads = new Map<string, { readonly at: string; readonly head: ReplayHead }>();
  readonly #frame: readonly [BodyPart, BodyPart, BodyPart];
  readonly #separates: boolean;
  readonly #blocks: RowBlocks;
  readonly #waiters = new Set<() => void>();
  #count = 0;
  #digest = 0n;
  #changedMs: number;
  #etag: string | undefined;
  #body: PartedBody | undefined;

  constructor(frame: Frame, nowMs: number) {
    const part = (bytes: Uint8Array): BodyPart => new BodyPart(() => bytes);
    this.#frame = [part(frame.head), part(frame.separator), part(frame.tail)];
    this.#separates = frame.separator.length > 0;
    this.#blocks = new RowBlocks(frame.separator, frame);
    this.#changedMs = nowMs;
  }

  /** ETag of the content: equal on every replica with the same rows. */
  get etag(): string {
    return (this.#etag ??= `${digestText(this.#digest)}-${this.#count}`);
  }

  get count(): number {
    return this.#count;
  }

  get changedMs(): number {
    return this.#changedMs;
  }

  get body(): PartedBody {
    return (this.#body ??= new PartedBody(this.#parts()));
  }

  /** Calls `f` at the next change, or when the view ends. @returns a function that cancels the call. */
  onChange(f: () => void): () => void {
    this.#waiters.add(f);
    return () => void this.#waiters.delete(f);
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Replaces a row by another; `changed` then wakes the waiters, once for all rows of a batch. */
  put(before: Row | undefined, after: Row | undefined): void {
    if (before !== undefined && before.place !== after?.place) this.#blocks.delete(before.place);
    if (after !== undefined) this.#blocks.set(after);
    this.#count += Number(after !== undefined) - Number(before !== undefined);
    assert(this.#count >= 0, "more rows left a view than came");
    this.#digest = sum(this.#digest, (after?.hash ?? 0n) - (before?.hash ?? 0n));
  }

  changed(nowMs: number): void {
    this.#changedMs = nowMs;
    this.#body = undefined;
    this.#etag = undefined;
    this.heads.clear();
    this.wake();
  }

  wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  #parts(): readonly BodyPart[] {
    const [head, separator, tail] = this.#frame;
    const parts = [head];
    for (const [at, part] of this.#blocks.parts().entries()) {
      if (at > 0 && this.#separates) parts.push(separator);
      parts.push(part);
    }
    return [...parts, tail];
  }
}
