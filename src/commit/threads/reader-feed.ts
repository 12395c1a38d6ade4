/**
 * The writer's side: durable batches go to every reader of the store, and their writes come back into its one queue.
 *
 * Holds  a reader gets each durable batch once, in order, from the state on that it began with; before anybody is
 *        answered (`durable`). Its answers come after the batches they depend on.
 *        A write of a reader that has gone is carried out, as that of any client that has gone; its answer is dropped.
 * Bounds of a message: a few numbers a batch, since records lie in shared memory; a write in flight is a request that
 *        holds a seat. A reader that takes nothing is its owner's to end (`applied`).
 */
import type { AppendBatch } from "#store/engines/engine.ts";
import type { SharedStore } from "#store/open.ts";
import type { SharedSlab, SharedState } from "#store/shared-state.ts";
import type { DeleteResult, PutResult, Revision } from "#store/store.ts";
import type { Answer, AnswerResult, ForwardedWrite, FromReader, ToReader } from "./messages.ts";
import type { Progress } from "./progress.ts";
import type { ThreadPort } from "./thread-port.ts";

type ReaderPort = ThreadPort<ToReader, FromReader>;

export class ReaderFeed {
  readonly #progress: Progress;
  readonly #readers = new Set<Reader>();
  /** Moves that have not been sent to the readers yet, in the order of rising serials. */
  #moves: Move[] = [];
  #shared: SharedStore | undefined;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  /** Sets the store. Called once, when the store is open. */
  serve(shared: SharedStore): void {
    this.#shared = shared;
    this.#progress.head = Math.max(this.#progress.head, shared.store.commitRevision);
  }

  durable({ buffers, lastRevision: head }: AppendBatch): void {
    if (this.#readers.size > 0) this.#tell(buffers, head);
    this.#progress.head = head;
  }

  moved(slab: SharedSlab, offset: number): void {
    if (this.#readers.size > 0) this.#moves.push({ slab, offset });
  }

  /** Adds a reader. It begins with the returned state, and receives later batches by `port`. */
  add(port: ReaderPort): { readonly state: SharedState; readonly remove: () => void } {
    const shared = this.#store();
    const state = shared.state(this.#progress.head);
    const known = state.slabs.reduce((most, { serial }) => Math.max(most, serial), 0);
    const reader = new Reader(shared, port, known);
    this.#readers.add(reader);
    const remove = (): void => {
      this.#readers.delete(reader);
      reader.close();
    };
    return { state, remove };
  }

  /** Sends a batch. A move into a slab that no durable batch has reached waits: a batch in flight may lie before it. */
  #tell(buffers: readonly Uint8Array[], head: number): void {
    const places = buffers.map((bytes) => ({ bytes, slab: this.#store().slabOf(bytes) }));
    const last = places.at(-1)?.slab.serial ?? 0;
    const waiting = this.#moves.findIndex(({ slab }) => slab.serial > last);
    const moves = this.#moves.splice(0, waiting === -1 ? this.#moves.length : waiting);
    const named = [...moves, ...places].map(({ slab }) => [slab.serial, slab] as const);
    const slabs = [...new Map(named).values()].toSorted((a, b) => a.serial - b.serial);
    const batch = {
      kind: "batch",
      extents: places.flatMap(({ slab: { serial }, bytes: { byteOffset, length } }) => [
        serial,
        byteOffset,
        byteOffset + length,
      ]),
      moves: moves.flatMap(({ slab: { serial }, offset }) => [serial, offset]),
      head,
    } as const;
    for (const reader of this.#readers) reader.tell(batch, slabs);
  }

  #store(): SharedStore {
    if (this.#shared === undefined) throw new Error("the store is not open yet");
    return this.#shared;
  }
}

interface Move {
  readonly slab: SharedSlab;
  readonly offset: number;
}

class Reader {
  readonly #shared: SharedStore;
  readonly #port: ReaderPort;
  /** Serial of the newest slab that the reader has received. */
  #known: number;
  #answers: Answer[] = [];
  #isClosed = false;

  constructor(shared: SharedStore, port: ReaderPort, known: number) {
    this.#shared = shared;
    this.#port = port;
    this.#known = known;
    port.listen((message) => this.#take(message));
  }

  tell(
    batch: Omit<Extract<ToReader, { kind: "batch" }>, "slabs">,
    slabs: readonly SharedSlab[],
  ): void {
    const fresh = slabs.filter(({ serial }) => serial > this.#known);
    this.#known = fresh.at(-1)?.serial ?? this.#known;
    this.#port.post({ ...batch, slabs: fresh });
  }

  close(): void {
    this.#isClosed = true;
    this.#port.close();
  }

  #take({ writes, values }: FromReader): void {
    for (const write of writes) {
      this.#carryOut(write, values).then(
        (result) => this.#answer({ id: write.id, result }),
        (error: unknown) => this.#answer({ id: write.id, result: rejected(error) }),
      );
    }
  }

  async #carryOut(write: ForwardedWrite, values: Uint8Array): Promise<AnswerResult> {
    const { store } = this.#shared;
    switch (write.kind) {
      case "put": {
        const { key, start, end, guard, lease } = write;
        const leased = lease === undefined ? {} : { lease };
        return plain(
          await store.put(key, values.subarray(start, end), { ...guardOf(guard), ...leased }),
        );
      }
      case "delete":
        return plain(await store.delete(write.key, guardOf(write.guard)));
      case "grant":
        return { kind: "granted", lease: await store.grantLease(write.ttlSeconds) };
    }
  }

  /** Answers to the writes of one batch are made in one turn, so they share a message. */
  #answer(answer: Answer): void {
    if (this.#isClosed) return;
    if (this.#answers.push(answer) > 1) return;
    queueMicrotask(() => {
      const answers = this.#answers;
      this.#answers = [];
      if (!this.#isClosed) this.#port.post({ kind: "answers", answers });
    });
  }
}

function guardOf(modRevision: number | undefined): {
  readonly guard?: { readonly modRevision: Revision | 0 };
} {
  return modRevision === undefined ? {} : { guard: { modRevision: modRevision as Revision | 0 } };
}

function plain(result: PutResult | DeleteResult): AnswerResult {
  if (result.kind === "committed") return { kind: "committed", revision: result.revision };
  if (result.kind === "conflict") return { kind: "conflict" };
  return result;
}

function rejected(error: unknown): AnswerResult {
  return { kind: "rejected", message: error instanceof Error ? error.message : String(error) };
}
