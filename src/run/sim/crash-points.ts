/**
 * Where a simulated server may crash: at every event its code waits for - a step of the disk, a message to
 * it or from it, a timer - and any number of awaits later.
 *
 * Microtasks run in the order they were queued, so a chain of n awaits of ours ends among the n-th
 * awaits of whatever the same event set going: over many seeds, between any two of them.
 */
export const crashPoints = ["disk step", "message in", "message out", "timer"] as const;
type CrashPoint = (typeof crashPoints)[number];

/** Place of a crash: directly at a point, or some awaits after one. */
export type CrashPlace = CrashPoint | "between";

export const crashPlaces: readonly CrashPlace[] = [...crashPoints, "between"];

export interface CrashPlan {
  /** Kinds of points that are counted. Timers fire far less often than messages arrive. */
  readonly kinds: readonly CrashPoint[];
  readonly points: number;
  readonly awaits: number;
}

export class CrashPoints {
  readonly #crash: (place: CrashPlace) => void;
  #plan: CrashPlan | undefined;
  #pointsLeft = 0;

  constructor(crash: (place: CrashPlace) => void) {
    this.#crash = crash;
  }

  /** Plans a crash `awaits` awaits after `points` more points have passed. Undefined: no crash. */
  arm(plan: CrashPlan | undefined): void {
    this.#plan = plan;
    this.#pointsLeft = plan?.points ?? 0;
  }

  /** Call it before an incoming event takes effect, and after an outgoing message was sent. */
  pass(point: CrashPoint): void {
    const plan = this.#plan;
    if (plan === undefined || !plan.kinds.includes(point) || --this.#pointsLeft >= 0) return;
    this.#plan = undefined;
    if (plan.awaits > 0) void this.#later(plan.awaits);
    // The server's code is still running, so the crash waits until that code awaits.
    else if (point === "message out") queueMicrotask(() => this.#crash(point));
    else this.#crash(point);
  }

  async #later(awaits: number): Promise<void> {
    for (let left = awaits; left > 0; left--) await Promise.resolve();
    this.#crash("between");
  }
}
