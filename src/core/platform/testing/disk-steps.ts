/**
 * The steps of a fake disk: each takes a few microtasks, as the seed decides, and longer if `pace`
 * says so; at each the world may stop or a fault come up.
 *
 * Holds  after a crash, everything that waits for a step waits forever.
 */
import type { FakeRandom } from "./random.ts";
import { diskError } from "./disk-error.ts";

const hopsMax = 4;

export type DiskOperation = "open" | "write" | "read" | "sync" | "extend" | "rename" | "remove";

interface Fault {
  readonly operation: DiskOperation;
  readonly code: string;
  left: number;
}

export class DiskSteps {
  readonly #random: FakeRandom;
  readonly #crashed = Promise.withResolvers<void>();
  #faults: Fault[] = [];
  #left = Number.POSITIVE_INFINITY;
  #dead = false;
  #done = 0;
  #pace: (() => Promise<void> | undefined) | undefined;
  #onStep: () => void = () => undefined;

  constructor(random: FakeRandom) {
    this.#random = random;
  }

  /** Number of steps done so far; a crash can be put at each. */
  get done(): number {
    return this.#done;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Whether a step takes time, which passes only while its caller waits. */
  get paced(): boolean {
    return this.#pace !== undefined;
  }

  /** Resolves when the requested crash has happened. */
  get crashed(): Promise<void> {
    return this.#crashed.promise;
  }

  crashAfter(steps: number): void {
    this.#left = steps;
  }

  /** Crashes the disk now. */
  crash(): void {
    this.#dead = true;
    this.#crashed.resolve();
  }

  fail(fault: Fault): void {
    this.#faults.push(fault);
  }

  heal(): void {
    this.#faults = [];
  }

  setPace(pace: (() => Promise<void> | undefined) | undefined): void {
    this.#pace = pace;
  }

  watch(onStep: () => void): void {
    this.#onStep = onStep;
  }

  /** Does one step of the disk: it may crash or fail, and takes a few microtasks. */
  async step(operation: DiskOperation | undefined, path: string): Promise<void> {
    for (let hops = this.#random.below(hopsMax); hops > 0; hops--) await Promise.resolve();
    const waiting = this.#dead ? undefined : this.#pace?.();
    if (waiting !== undefined) await waiting;
    if (!this.stepAtOnce(operation, path)) await never();
  }

  /** @returns whether the disk is still alive. */
  stepAtOnce(operation: DiskOperation | undefined, path: string): boolean {
    this.#done++;
    if (--this.#left < 0) this.crash();
    if (!this.#dead) this.#onStep();
    if (this.#dead) return false;
    const fault = this.#faults.find((f) => f.operation === operation && f.left-- <= 0);
    if (fault === undefined) return true;
    this.#faults = this.#faults.filter((f) => f !== fault);
    throw diskError(fault.operation, path, fault.code);
  }
}

/** Returns a promise that never settles, for operations on a dead disk. */
export function never(): Promise<never> {
  return new Promise<never>(() => {});
}
