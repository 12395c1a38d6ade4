/**
 * A command and the caller that waits for its answer, in one object, because there are a hundred
 * thousand per second. It is answered exactly once, by `durable` or by `stopped`.
 */
import { must } from "#base/assert.ts";
import type { Answer, Command } from "./command.ts";
import { stopped } from "./refusals.ts";

export class Submission {
  readonly command: Command;
  readonly #resolve: (answer: Answer) => void;
  /** The answer, decided but not delivered yet. */
  answer: Answer | undefined;

  constructor(command: Command, resolve: (answer: Answer) => void) {
    this.command = command;
    this.#resolve = resolve;
  }

  /** Delivers the answer: what it depends on is durable. */
  durable(): void {
    this.#resolve(must(this.answer, "a command is answered that was not decided"));
  }

  /** The store has stopped: the outcome is unknown, unless the command was never sequenced. */
  stopped(error: Error): void {
    this.#resolve(stopped(error));
  }
}
