/** The processes of a simulation. Each runs until it ends or crashes; an unexpected error is a problem. */
import type { Life } from "./network.ts";

/** Errors that end a process in an orderly way; it is started again. */
const expected =
  /^(FencedError|LogSilentError|UnequalMembersError|StripesError|ChunksAwayError|FellBehindError|StoreStoppedError)$/;

export class Lives {
  readonly all = new Set<Life>();
  readonly problems: string[];
  readonly #run: (life: Life) => Promise<void>;
  #started = 0;

  constructor(problems: string[], run: (life: Life) => Promise<void>) {
    this.problems = problems;
    this.#run = run;
  }

  start(): void {
    const life = { name: `process ${++this.#started}`, isCrashed: false, pausedSteps: 0 };
    this.all.add(life);
    this.#run(life)
      .catch((error: unknown) => this.failed(life, error))
      .finally(() => this.crash(life));
  }

  crash(life: Life): void {
    life.isCrashed = true;
    this.all.delete(life);
  }

  failed({ name }: Life, error: unknown): void {
    const isExpected = error instanceof Error && expected.test(error.name);
    if (!isExpected) this.problems.push(`${name}: ${String(error)}`);
  }
}
