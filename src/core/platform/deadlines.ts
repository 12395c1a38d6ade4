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
  /** The deadline given with `add` has passed. May add and delete. */
  expire(): void;
}

/** A member's deadline in steps, rounded up. `add` returns it, and `delete` takes it to find the member. */
export type DeadlineStep = number;

export class Deadlines {
  readonly #clock: Clock;
  readonly #name: TimerName;
  readonly #stepMs: number;
  readonly #members = new Map<DeadlineStep, Set<Expiring>>();
  /** Every step with members, and some whose members are all gone. */
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

  /** Runs `f` in the next turn of the loop, once: what gives way in long work of its own needs no other clock. */
  turn(f: () => void): void {
    this.#clock.after("request.turn", 0, f);
  }

  /** `step` as `add` returned it. No harm when the member has expired. */
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
    // The others had their turn; the clock's owner hears of the first.
    if (thrown.length > 0) throw thrown[0];
  }
}
