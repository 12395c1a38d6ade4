/**
 * The way of one command through the store. Everything that changes the store takes it, in one queue.
 *
 *   submit(command) ─── waits here while the batch is full
 *     ▼
 *   sequence(batch, command) ─▶ decision     sequencer.ts: guard, next revision, record, index
 *     │   the answer waits until what it depends on is durable (batch.ts)
 *     ▼
 *   engine.append(batch)                     engines/*: one durable write; the next batch fills
 *     ▼
 *   publish(revision, effects)               embedded.ts: reads see the batch, watchers get it, effects
 *     ▼
 *   answers
 *
 * The sequencer decides, this class carries out: it owns the order of the steps, and knows nothing about
 * keys. Nothing below calls back into it. A watcher's sink may `submit`; its command joins the next batch.
 *
 * C1  At most `engine.pace.appendsMax` batches are in flight, and batches become durable in order. batch-pace.ts
 *     decides when the next one starts.
 * C2  `publish` gets durable revisions only, before any caller of the batch is answered. No answer
 *     names a revision that is not published.
 * C3  An idle store writes at once: a batch starts in the microtask after its first record. It is delayed
 *     only while more commands arrive within the same host turn (at most `hopsMax` microtasks), and until the
 *     last request of the turn has begun (`requests`).
 * C4  A batch takes commands until it holds batchBytesMax or batchItemsMax; further ones wait in order,
 *     unsequenced.
 * C5  After a failed append, and after a bug, the store is stopped for good: all unanswered and all
 *     later commands answer `stopped`. Of the batches in flight, a prefix may be present after a restart.
 *
 * The queue has no bound of its own: each entry belongs to a caller that waits for a promise, and the services
 * above the store bound their callers.
 */
import { assert, AssertionError } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { TurnRest } from "#platform/turn-rest.ts";
import { Batches } from "./batch.ts";
import { BatchPace } from "./batch-pace.ts";
import type { Batch } from "./batch.ts";
import type { Answer, Command, Decision, Effect, Submit } from "./command.ts";
import type { Engine } from "./engines/engine.ts";
import { Submission } from "./submission.ts";

/** A batch waits this many microtasks for more commands of the same turn; they arrive within one or two. */
const hopsMax = 16;

interface CommitDeps {
  /** Decides a command and adds its record to the batch. Changes only batch and state. */
  readonly sequence: (batch: Batch, command: Command) => Decision;
  readonly engine: Engine;
  /** Called when everything up to `revision` is durable, with the effects to carry out. */
  readonly publish: (revision: number, effects: readonly Effect[]) => void;
  readonly onFailed: (error: Error) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Requests of this process that will submit commands; absent: the batch does not wait for them. */
  readonly requests?: TurnRest | undefined;
}

interface CommitOptions {
  readonly epoch: number;
  readonly headRevision: number;
  readonly batchBytesMax: number;
  readonly batchItemsMax: number;
}

/** Called when a batch is durable and published, with the duration of both steps. */
export type ObserveCommit = (appendMs: number, publishMs: number) => void;

export interface CommitStats {
  readonly batches: number;
  readonly records: number;
  readonly bytes: number;
  readonly waiting: number;
}

export class Committer {
  readonly #deps: CommitDeps;
  readonly #epoch: number;
  readonly #batches: Batches;
  readonly #pace: BatchPace;
  #timer: Timer | undefined;
  #waiting: Submission[] = [];
  #isScheduled = false;
  #stopped: Error | undefined;
  #observe: ObserveCommit | undefined;

  constructor(deps: CommitDeps, options: CommitOptions) {
    this.#deps = deps;
    this.#epoch = options.epoch;
    this.#batches = new Batches(options.headRevision, options);
    this.#pace = new BatchPace(deps.engine.pace);
  }

  get stopped(): Error | undefined {
    return this.#stopped;
  }

  /** Replaces the observer. */
  observe(observe: ObserveCommit): void {
    this.#observe = observe;
  }

  stats(): CommitStats {
    return { ...this.#batches.totals, waiting: this.#waiting.length };
  }

  /** Resolves with the command's answer once everything it depends on is durable. Never rejects. */
  readonly submit: Submit = (command: Command) => {
    const answer = new Promise<Answer>((resolve) => this.#take(new Submission(command, resolve)));
    // The sequencer answers each kind of command with its own type, as declared by `Submit`.
    return answer as Promise<never>;
  };

  /** Like `submit`, for a command whose answer is not needed. */
  post(command: Command): void {
    this.#take(new Submission(command, () => undefined));
  }

  #take(submission: Submission): void {
    if (this.#stopped !== undefined) submission.stopped(this.#stopped);
    else if (this.#waiting.length > 0 || this.#batches.isFull()) this.#waiting.push(submission);
    else this.#sequence(submission);
  }

  #sequence(submission: Submission): void {
    const batch = this.#batches.filling;
    try {
      const { answer, after, effect } = this.#deps.sequence(batch, submission.command);
      submission.answer = answer;
      if (effect !== undefined) batch.effects.push(effect);
      const awaited = this.#batches.find(after);
      if (awaited === undefined) submission.durable();
      else awaited.submissions.push(submission);
    } catch (error) {
      // State and batch may be inconsistent now, so the store stops and answers this caller together with the others.
      batch.submissions.push(submission);
      this.#threw(error);
    }
    if (batch.items > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const { filling, inFlight } = this.#batches;
    if (inFlight.length >= this.#deps.engine.pace.appendsMax) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const waitMs = this.#pace.waitMs(nowMs, filling.items, inFlight.length);
    if (waitMs > 0 && !this.#batches.isFull()) return this.#scheduleIn(waitMs);
    this.#isScheduled = true;
    this.#hop(0, hopsMax);
  }

  #scheduleIn(waitMs: number): void {
    this.#timer ??= this.#deps.clock.after("store.batch", waitMs, () => {
      this.#timer = undefined;
      if (this.#batches.filling.items > 0) this.#schedule();
    });
  }

  #hop(itemsBefore: number, left: number): void {
    const hop = (): void => {
      const { items } = this.#batches.filling;
      if (left > 0 && items > itemsBefore && !this.#batches.isFull()) this.#hop(items, left - 1);
      else this.#startWhenBegun();
    };
    Promise.resolve()
      .then(hop)
      .catch((error: unknown) => this.#threw(error));
  }

  #startWhenBegun(): void {
    const { requests } = this.#deps;
    if (requests === undefined) return this.#start();
    requests.whenBegun(() => {
      try {
        this.#start();
      } catch (error) {
        this.#threw(error);
      }
    });
  }

  #start(): void {
    this.#isScheduled = false;
    if (this.#stopped !== undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const { appendsMax } = this.#deps.engine.pace;
    assert(this.#batches.inFlight.length < appendsMax, "too many batches would be in flight");
    const batch = this.#batches.begin();
    const beganMs = this.#deps.clock.monotonicMs();
    this.#pace.started(beganMs, batch.items);
    const { lastRevision, bytes, items: records } = batch;
    const buffers = batch.buffers();
    this.#deps.engine
      .append({ epoch: this.#epoch, lastRevision, buffers, bytes, records })
      .then(() => this.#appended(batch, beganMs))
      .catch((error: unknown) => this.#threw(error));
    this.#admit();
  }

  /** If `publish` throws, the batch stays in flight, so that its callers are answered with `stopped`. */
  #appended(batch: Batch, beganMs: number): void {
    if (this.#stopped !== undefined) return;
    const durableMs = this.#deps.clock.monotonicMs();
    this.#deps.publish(batch.lastRevision, batch.effects);
    this.#observe?.(durableMs - beganMs, this.#deps.clock.monotonicMs() - durableMs);
    this.#batches.end(batch);
    const { filling, inFlight } = this.#batches;
    if (inFlight.length === 0)
      this.#pace.ended(this.#deps.clock.monotonicMs(), batch.items, filling.items);
    for (const submission of batch.submissions) submission.durable();
    this.#admit();
    if (this.#batches.filling.items > 0) this.#schedule();
  }

  /** Sequences waiting commands while the batch has room. */
  #admit(): void {
    const waiting = this.#waiting;
    let admitted = 0;
    while (admitted < waiting.length && !this.#batches.isFull() && this.#stopped === undefined) {
      this.#sequence(waiting[admitted++] as Submission);
    }
    if (admitted > 0 && this.#stopped === undefined) this.#waiting = waiting.slice(admitted);
  }

  /** Answers all unanswered submissions with `stopped`; nothing is appended after this. */
  stop(error: Error): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    this.#timer?.cancel();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const submission of this.#batches.unanswered()) submission.stopped(error);
    for (const submission of waiting) submission.stopped(error);
  }

  /** After the store has stopped, a bug is reported to the owner of the process. */
  #threw(error: unknown): void {
    if (this.#stopped === undefined) this.#fail(error);
    if (error instanceof AssertionError) throw error;
  }

  #fail(error: unknown): void {
    const cause = error instanceof Error ? error : new Error(String(error));
    this.#deps.log.error("the store stops: a commit could not be made durable", {
      error: cause.message,
      code: (cause as { readonly code?: unknown }).code,
      revision: this.#batches.inFlight[0]?.lastRevision,
    });
    this.stop(cause);
    this.#deps.onFailed(cause);
  }
}
