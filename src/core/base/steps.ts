/** Long work as a generator: at each `yield` it may give way to other work. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps at once. */
export function allSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs the steps, and awaits `turn` at every `every`th yield. */
export async function stepsInTurns<T>(
  steps: Steps<T>,
  turn: () => Promise<void>,
  every: number,
): Promise<T> {
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (count % every === 0) await turn();
  }
}
