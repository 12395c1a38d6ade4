/**
 * Group commit: one append per batch; the next batch fills while the disk is busy.
 *
 *   submit -> [waiting] -> sequenced into `filling` -> in flight -> durable -> settled
 *
 * C1  At most one batch is in flight, and batches become durable in order.
 * C2  `commitRevision` moves only when a batch is durable. Watchers get the batch before any writer is
 *     answered, and no answer names a revision above `commitRevision`.
 * C3  An idle store writes at once: a batch starts in the microtask after its first write, delayed
 *     only while more writes arrive within the same host turn (at most `hopsMax` microtasks).
 * C4  A batch holds at most batchBytesMax and batchItemsMax; further writes wait in order, unsequenced.
 * C5  After a failed append the committer is stopped for good: all unsettled and all later writes get
 *     the error. The batch in flight may or may not be there after the next start.
 *
 * The waiting queue has no bound of its own: each entry is a caller that holds a promise, and the
 * faces above the store bound their callers.
 */
import { assert, AssertionError } from "#base/assert.ts";
import type { Log } from "#platform/log.ts";
import { Batch } from "./batch.ts";
import type { Settlement } from "./batch.ts";
import type { Engine } from "./engines/engine.ts";

/** More writes of the same turn join within one or two microtasks; this many bounds the wait. */
const hopsMax = 16;

/** A write that has not been sequenced yet. */
export interface Submission {
  /** Sequences into the filling batch. Called once, or not at all if `stopped` was. */
  sequence(): void;
  stopped(error: Error): void;
}

export interface CommitOptions {
  readonly epoch: number;
  readonly batchBytesMax: number;
  readonly batchItemsMax: number;
  readonly headRevision: number;
  /** Called with the new commit revision, before anyone is settled. */
  readonly publish: (revision: number) => void;
  readonly onFailed: (error: Error) => void;
}

export interface CommitStats {
  readonly batches: number;
  readonly records: number;
  readonly bytes: number;
  readonly waiting: number;
}

export class Committer {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #options: CommitOptions;
  #filling: Batch;
  #inFlight: Batch | undefined;
  #scheduled = false;
  #waiting: Submission[] = [];
  #stopped: Error | undefined;
  #idle: (() => void)[] = [];
  #batches = 0;
  #records = 0;
  #bytes = 0;
  #durable: number;

  constructor(deps: { readonly engine: Engine; readonly log: Log }, options: CommitOptions) {
    this.#engine = deps.engine;
    this.#log = deps.log;
    this.#options = options;
    this.#durable = options.headRevision;
    this.#filling = new Batch(options.headRevision);
  }

  get stopped(): Error | undefined {
    return this.#stopped;
  }

  /** The batch that records go into. Sequence, `extend`, then `wake`, without awaiting between. */
  get filling(): Batch {
    return this.#filling;
  }

  stats(): CommitStats {
    const waiting = this.#waiting.length;
    return { batches: this.#batches, records: this.#records, bytes: this.#bytes, waiting };
  }

  /** Sequences at once, or in turn once there is room. */
  submit(submission: Submission): void {
    if (this.#stopped !== undefined) submission.stopped(this.#stopped);
    else if (this.#waiting.length > 0 || this.#full()) this.#waiting.push(submission);
    else submission.sequence();
  }

  /** Records were added to `filling`. */
  wake(): void {
    if (this.#scheduled || this.#inFlight !== undefined) return;
    this.#scheduled = true;
    this.#hop(0, hopsMax);
  }

  /** Settles once `revision` is durable: at once if it is. */
  settleAfter(revision: number, settlement: Settlement): void {
    if (this.#stopped !== undefined) settlement.stopped(this.#stopped);
    else if (revision <= this.#durable) settlement.durable();
    else if (this.#inFlight !== undefined && revision <= this.#inFlight.lastRevision) {
      this.#inFlight.settlements.push(settlement);
    } else this.#filling.settlements.push(settlement);
  }

  /** Settles once everything sequenced so far is durable. */
  settleAfterAll(settlement: Settlement): void {
    if (this.#stopped !== undefined) settlement.stopped(this.#stopped);
    else if (this.#filling.items > 0) this.#filling.settlements.push(settlement);
    else if (this.#inFlight !== undefined) this.#inFlight.settlements.push(settlement);
    else settlement.durable();
  }

  /** Resolves when nothing is waiting, filling or in flight. */
  drain(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Fails all unsettled writes with `error`; nothing is appended any more. */
  stop(error: Error): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    const unsettled = [...(this.#inFlight?.settlements ?? []), ...this.#filling.settlements];
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const settlement of unsettled) settlement.stopped(error);
    for (const submission of waiting) submission.stopped(error);
    this.#drained();
  }

  #full(): boolean {
    const { bytes, items } = this.#filling;
    return bytes >= this.#options.batchBytesMax || items >= this.#options.batchItemsMax;
  }

  #hop(itemsBefore: number, left: number): void {
    const hop = (): void => {
      const items = this.#filling.items;
      if (left > 0 && items > itemsBefore && !this.#full()) this.#hop(items, left - 1);
      else this.#start();
    };
    Promise.resolve()
      .then(hop)
      .catch((error: unknown) => this.#threw(error));
  }

  #start(): void {
    this.#scheduled = false;
    if (this.#stopped !== undefined || this.#filling.items === 0) return;
    const batch = this.#filling;
    this.#inFlight = batch;
    this.#filling = new Batch(batch.lastRevision);
    const append = this.#engine.append({
      epoch: this.#options.epoch,
      lastRevision: batch.lastRevision,
      buffers: batch.buffers(),
      bytes: batch.bytes,
      records: batch.items,
    });
    // A throw while it is published leaves readers behind for good: the store stops by it, too.
    append.then(() => this.#appended(batch)).catch((error: unknown) => this.#threw(error));
    this.#admit();
  }

  #appended(batch: Batch): void {
    if (this.#stopped !== undefined) return;
    assert(this.#inFlight === batch, "a batch became durable out of turn");
    this.#inFlight = undefined;
    this.#durable = batch.lastRevision;
    this.#batches++;
    this.#records += batch.items;
    this.#bytes += batch.bytes;
    this.#publish(batch);
    for (const settlement of batch.settlements) settlement.durable();
    this.#admit();
    if (this.#filling.items > 0) this.wake();
    else this.#drained();
  }

  #publish(batch: Batch): void {
    try {
      this.#options.publish(batch.lastRevision);
    } catch (error) {
      // Its writers get the error of the stopped store with the others.
      this.#inFlight = batch;
      throw error;
    }
  }

  /** A bug is for the owner of the process, after the store has stopped. */
  #threw(error: unknown): void {
    this.#failed(error);
    if (error instanceof AssertionError) throw error;
  }

  #failed(error: unknown): void {
    const cause = error instanceof Error ? error : new Error(String(error));
    this.#log.error("the store stops: a commit could not be made durable", {
      error: cause.message,
      code: (cause as { readonly code?: unknown }).code,
      revision: this.#inFlight?.lastRevision,
    });
    this.stop(cause);
    this.#options.onFailed(cause);
  }

  #admit(): void {
    let admitted = 0;
    const waiting = this.#waiting;
    while (admitted < waiting.length && !this.#full()) {
      (waiting[admitted++] as Submission).sequence();
    }
    if (admitted > 0) this.#waiting = waiting.slice(admitted);
  }

  #isIdle(): boolean {
    if (this.#stopped !== undefined) return true;
    return this.#waiting.length === 0 && this.#filling.items === 0 && this.#inFlight === undefined;
  }

  #drained(): void {
    if (!this.#isIdle()) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
