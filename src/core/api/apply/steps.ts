/**
 * Processes the sets of all managers in steps: an object may have hundreds of managers with hundreds of
 * paths each, and between two steps the server serves other requests.
 *
 * Bounds  a step is at most `stepPathsMax` paths and those of one more manager.
 */
import { countPaths } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";

/** Yields after each step; the return value is the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Paths per step: 2 ms of decoding. */
const stepPathsMax = 8_192;

/** Decides where the steps of a walk over sets end. */
export class StepMeter {
  #paths = 0;

  /** Counts the set, as one path at least. @returns whether the step ends here. */
  isFull(set: FieldSet): boolean {
    this.#paths += countPaths(set) + 1;
    if (this.#paths < stepPathsMax) return false;
    this.#paths = 0;
    return true;
  }
}

/** Runs all steps at once. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
