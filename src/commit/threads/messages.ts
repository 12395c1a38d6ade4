/**
 * What the thread that writes a store and a thread that reads it tell each other. Plain data, and shared memory.
 *
 * Order  a batch comes before every answer that depends on it. Serials of slabs rise: those of a batch's extents and
 *        moves, merged, from one batch to the next.
 */
import type { SharedSlab } from "#store/shared-state.ts";
import type { Key, LeaseId, WriteRefused } from "#store/store.ts";

export type ToReader = DurableBatch | Answers;

export interface DurableBatch {
  readonly kind: "batch";
  /** Those that the reader has not heard of. */
  readonly slabs: readonly SharedSlab[];
  /** Whole records, in order: serial of a slab, start, end. */
  readonly extents: readonly number[];
  /** Records that lie elsewhere now: serial of a slab, offset. */
  readonly moves: readonly number[];
  /** With this batch. */
  readonly head: number;
}

interface Answers {
  readonly kind: "answers";
  readonly answers: readonly Answer[];
}

export interface Answer {
  readonly id: number;
  readonly result: AnswerResult;
}

/** Without values: the reader has them, because everything that an answer depends on came before it. */
export type AnswerResult =
  | { readonly kind: "committed"; readonly revision: number }
  | { readonly kind: "conflict" }
  | { readonly kind: "missing" }
  | { readonly kind: "granted"; readonly lease: LeaseId }
  | { readonly kind: "rejected"; readonly message: string }
  | WriteRefused;

/** Writes of one turn of the reader's loop. */
export interface FromReader {
  readonly writes: readonly ForwardedWrite[];
  /** Of all puts, back to back. */
  readonly values: Uint8Array;
}

export type ForwardedWrite = ForwardedPut | ForwardedDelete | ForwardedGrant;

interface ForwardedPut {
  readonly kind: "put";
  readonly id: number;
  readonly key: Key;
  /** In `values`. */
  readonly start: number;
  readonly end: number;
  readonly guard: number | undefined;
  readonly lease: LeaseId | undefined;
}

interface ForwardedDelete {
  readonly kind: "delete";
  readonly id: number;
  readonly key: Key;
  readonly guard: number | undefined;
}

interface ForwardedGrant {
  readonly kind: "grant";
  readonly id: number;
  readonly ttlSeconds: number;
}
