/**
 * A timer wheel: every member has its turn once per round, at a phase of its own, on one clock timer.
 *
 * Why    50,000 nodes renew every ten seconds; 50,000 timers in phase would be a herd every ten
 *        seconds, and a phase that restarts with the process would make one after each restart.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";

const slotsPerRound = 100;

export class Wheel<T> {
  readonly #deps: { readonly clock: Clock; readonly random: Random };
  readonly #slots: Set<T>[] = Array.from({ length: slotsPerRound }, () => new Set());
  readonly #turn: (member: T) => void;
  readonly #stepMs: number;
  #startMs = 0;
  /** Number of steps since the start; the slot is the step modulo the number of slots. */
  #step = 0;
  #timer: Timer | undefined;
  #running = false;

  constructor(
    deps: { clock: Clock; random: Random },
    options: { roundMs: number; turn: (member: T) => void },
  ) {
    this.#deps = deps;
    this.#turn = options.turn;
    this.#stepMs = options.roundMs / slotsPerRound;
  }

  add(member: T): void {
    // Steps that passed while there was no member are not made up for.
    if (this.#nextStep() === undefined) this.#step = Math.max(this.#step, this.#passed());
    this.#slots[this.#deps.random.below(slotsPerRound)]?.add(member);
    this.#arm();
  }

  delete(member: T): void {
    for (const slot of this.#slots) if (slot.delete(member)) return;
  }

  start(): void {
    this.#running = true;
    this.#startMs = this.#deps.clock.monotonicMs();
    this.#arm();
  }

  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
  }

  /** Sets the timer to the next occupied slot: ten nodes wake a process ten times a round, not a hundred times. */
  #arm(): void {
    this.#timer?.cancel();
    if (!this.#running) return;
    const next = this.#nextStep();
    if (next === undefined) return;
    // Computed from the start, not from now, because the delays of single steps must not add up over a day.
    const dueMs = this.#startMs + next * this.#stepMs;
    const delayMs = Math.max(0, dueMs - this.#deps.clock.monotonicMs());
    this.#timer = this.#deps.clock.after("hollow.heartbeat", delayMs, () => this.#fire(next));
  }

  #nextStep(): number | undefined {
    // Steps that a stalled process missed are made up for only within one round.
    const from = Math.max(this.#step, this.#passed() - slotsPerRound);
    for (let step = from + 1; step <= from + slotsPerRound; step++) {
      if ((this.#slots[step % slotsPerRound]?.size ?? 0) > 0) return step;
    }
    return undefined;
  }

  #passed(): number {
    return Math.floor((this.#deps.clock.monotonicMs() - this.#startMs) / this.#stepMs);
  }

  #fire(step: number): void {
    this.#step = step;
    // The timer is set first, because an error of one turn must not end the wheel.
    this.#arm();
    for (const member of this.#slots[step % slotsPerRound] ?? []) this.#turn(member);
  }
}
