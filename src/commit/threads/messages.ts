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
  /** Slabs that the reader has not received yet. */
  readonly slabs: readonly SharedSlab[];
  /** Ranges of whole records, in order: serial of a slab, start, end. */
  readonly extents: readonly number[];
  /** New places of records that were moved: serial of a slab, offset. */
  readonly moves: readonly number[];
  /** Head revision after this batch. */
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

/** Answer without values: the reader has them, because every batch that an answer depends on came before it. */
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
  /** Values of all puts, back to back. */
  readonly values: Uint8Array;
}

export type ForwardedWrite = ForwardedPut | ForwardedDelete | ForwardedGrant;

interface ForwardedPut {
  readonly kind: "put";
  readonly id: number;
  readonly key: Key;
  /** Range of the value in `values`. */
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
