/** Reads that wait for a revision. Bounds: one entry per reader; each reader has its own time limit. */
export class RevisionWaiters {
  readonly #waiters = new Set<{ readonly revision: number; readonly done: () => void }>();

  /** Calls `done` once `revision` is reached. @returns a function that cancels the call. */
  add(revision: number, done: () => void): () => void {
    const waiter = { revision, done };
    this.#waiters.add(waiter);
    return () => void this.#waiters.delete(waiter);
  }

  reached(revision: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.done();
    }
  }
}
