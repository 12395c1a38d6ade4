/**
 * Calls on their way through the committer, as promises: sequenced in their turn, answered when what
 * they saw is durable.
 */
import type { Settlement } from "./batch.ts";
import type { Committer, Submission } from "./commit.ts";
import { StoreStoppedError } from "./full-store.ts";
import { stopped } from "./refusals.ts";
import type { Decided } from "./sequencer.ts";
import type { WriteRefused } from "./store.ts";

/** Resolves with what `decide` says in its turn, once that is durable. */
export function submitWrite<Result>(
  committer: Committer,
  decide: () => Decided<Result>,
): Promise<Result | WriteRefused> {
  return new Promise((resolve) => {
    committer.submit(new Write(committer, decide, resolve));
  });
}

/** A put or delete on its way: one object, because there are a hundred thousand a second. */
class Write<Result> implements Submission, Settlement {
  readonly #committer: Committer;
  readonly #decide: () => Decided<Result>;
  readonly #resolve: (result: Result | WriteRefused) => void;
  #result: Result | undefined;

  constructor(
    committer: Committer,
    decide: () => Decided<Result>,
    resolve: (result: Result | WriteRefused) => void,
  ) {
    this.#committer = committer;
    this.#decide = decide;
    this.#resolve = resolve;
  }

  sequence(): void {
    const { result, after } = this.#decide();
    this.#result = result;
    if (after === "all") this.#committer.settleAfterAll(this);
    else this.#committer.settleAfter(after, this);
  }

  durable(): void {
    this.#resolve(this.#result as Result);
  }

  stopped(error: Error): void {
    this.#resolve(stopped(error));
  }
}

/** Resolves, synchronously after `sequence` ran in its turn, in the next microtask. */
export function inTurn(committer: Committer, sequence: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    committer.submit({
      sequence: () => {
        sequence();
        resolve();
      },
      stopped: (error) => reject(new StoreStoppedError(error)),
    });
  });
}

/** Runs `durable`, if given, and resolves once all that was sequenced so far is durable. */
export function whenDurable(committer: Committer, durable?: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    committer.settleAfterAll({
      durable: () => {
        durable?.();
        resolve();
      },
      stopped: (error) => reject(new StoreStoppedError(error)),
    });
  });
}
