/**
 * Many deadlines on one clock timer: 50,000 open watches must not be 50,000 timers.
 *
 * Holds  a member expires once, never early, at most `stepMs` late (deadlines are rounded up to a
 *        multiple of it); the one armed timer is that of the earliest step with members.
 * Cost   add and delete O(1), and O(log steps) when a step gets its first member.
 */
import { Heap } from "#base/heap.ts";
import type { Clock, Timer, TimerName } from "./clock.ts";

export interface Expiring {
  /** Called when the deadline given with `add` has passed. May call `add` and `delete`. */
  expire(): void;
}

/** A member's deadline in steps, rounded up. `add` returns it; `delete` needs it to find the member. */
export type DeadlineStep = number;

export class Deadlines {
  readonly #clock: Clock;
  readonly #name: TimerName;
  readonly #stepMs: number;
  readonly #members = new Map<DeadlineStep, Set<Expiring>>();
  /** Every step that has members, and some steps whose members are all gone. */
  readonly #steps = new Heap<DeadlineStep>((a, b) => a - b);
  #timer: { readonly step: DeadlineStep; readonly timer: Timer } | undefined;

  constructor(clock: Clock, options: { name: TimerName; stepMs: number }) {
    this.#clock = clock;
    this.#name = options.name;
    this.#stepMs = options.stepMs;
  }

  add(member: Expiring, delayMs: number): DeadlineStep {
    const step = Math.ceil((this.#clock.monotonicMs() + delayMs) / this.#stepMs);
    const others = this.#members.get(step);
    if (others !== undefined) {
      others.add(member);
      return step;
    }
    this.#members.set(step, new Set([member]));
    this.#steps.push(step);
    this.#arm();
    return step;
  }

  /** Runs `f` once in the next turn of the loop, so that an owner that yields in long work needs no clock of its own. */
  turn(f: () => void): void {
    this.#clock.after("request.turn", 0, f);
  }

  /** Removes a member. `step`: the value `add` returned. Does nothing when the member has expired. */
  delete(member: Expiring, step: DeadlineStep): void {
    const others = this.#members.get(step);
    if (others?.delete(member) !== true || others.size > 0) return;
    this.#members.delete(step);
    this.#arm();
  }

  #arm(): void {
    let step = this.#steps.peek();
    while (step !== undefined && !this.#members.has(step)) {
      this.#steps.pop();
      step = this.#steps.peek();
    }
    if (step === this.#timer?.step) return;
    this.#timer?.timer.cancel();
    this.#timer = step === undefined ? undefined : { step, timer: this.#timerFor(step) };
  }

  #timerFor(step: DeadlineStep): Timer {
    const delayMs = Math.max(0, step * this.#stepMs - this.#clock.monotonicMs());
    return this.#clock.after(this.#name, delayMs, () => this.#expire(step));
  }

  #expire(step: DeadlineStep): void {
    const members = this.#members.get(step);
    this.#members.delete(step);
    this.#timer = undefined;
    this.#arm();
    const thrown: unknown[] = [];
    for (const member of members ?? []) {
      try {
        member.expire();
      } catch (error) {
        thrown.push(error);
      }
    }
    // All members have been called by now; only the first error is passed to the owner of the clock.
    if (thrown.length > 0) throw thrown[0];
  }
}
