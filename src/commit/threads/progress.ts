/**
 * Numbers that the threads of one process read of each other without a message.
 *
 *   0 head: the newest durable revision     1 beat of the writer
 *   then for each reader: 2 + 2n applied: the revision up to which it shows all, 3 + 2n its beat
 *
 * Holds  a batch is in every reader's queue before `head` names it; `head` names it before any writer is answered.
 *        A beat is a count that rises while its thread's loop turns.
 */

const headAt = 0;
const writerBeatAt = 1;

export function sharedProgress(readers: number): SharedArrayBuffer {
  return new SharedArrayBuffer((2 + 2 * readers) * BigInt64Array.BYTES_PER_ELEMENT);
}

export class Progress {
  readonly #cells: BigInt64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory);
  }

  get head(): number {
    return Number(Atomics.load(this.#cells, headAt));
  }

  set head(revision: number) {
    Atomics.store(this.#cells, headAt, BigInt(revision));
  }

  get writerBeat(): number {
    return Number(Atomics.load(this.#cells, writerBeatAt));
  }

  beatAsWriter(): void {
    Atomics.add(this.#cells, writerBeatAt, 1n);
  }

  applied(reader: number): number {
    return Number(Atomics.load(this.#cells, 2 + 2 * reader));
  }

  setApplied(reader: number, revision: number): void {
    Atomics.store(this.#cells, 2 + 2 * reader, BigInt(revision));
  }

  beat(reader: number): number {
    return Number(Atomics.load(this.#cells, 3 + 2 * reader));
  }

  beatAsReader(reader: number): void {
    Atomics.add(this.#cells, 3 + 2 * reader, 1n);
  }
}
