/**
 * Measures the seat demand of a level: how many seats it would use if it had them, over time, summed up per period.
 *
 * Out    the highest value, the time-weighted mean and deviation of a period, and a smoothed demand. The smoothed
 *        demand rises at once and decays slowly: its half-life is five minutes with a period of ten seconds.
 */
import type { Clock } from "#platform/clock.ts";

/** Weight of earlier periods in the smoothed demand: apiserver's seatDemandSmoothingCoefficient. */
const smoothing = 0.977;

export class SeatDemand {
  readonly #clock: Clock;
  #value = 0;
  #sinceMs: number;
  #lastMs: number;
  #sum = 0;
  #squares = 0;
  #highest = 0;
  #smoothed = 0;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
    this.#sinceMs = deps.clock.monotonicMs();
    this.#lastMs = this.#sinceMs;
  }

  set(value: number): void {
    this.#integrate();
    this.#value = value;
    if (value > this.#highest) this.#highest = value;
  }

  /** Ends the period and returns its demand. */
  next(): { readonly highWatermark: number; readonly smoothed: number } {
    this.#integrate();
    const elapsed = this.#lastMs - this.#sinceMs;
    const highWatermark = this.#highest;
    if (elapsed > 0) {
      const mean = this.#sum / elapsed;
      const deviation = Math.sqrt(Math.max(0, this.#squares / elapsed - mean * mean));
      const envelope = mean + deviation;
      const decayed = smoothing * this.#smoothed + (1 - smoothing) * envelope;
      this.#smoothed = Math.max(envelope, decayed);
    }
    this.#sinceMs = this.#lastMs;
    this.#sum = 0;
    this.#squares = 0;
    this.#highest = this.#value;
    return { highWatermark, smoothed: this.#smoothed };
  }

  #integrate(): void {
    const now = this.#clock.monotonicMs();
    const elapsed = now - this.#lastMs;
    this.#lastMs = now;
    this.#sum += this.#value * elapsed;
    this.#squares += this.#value * this.#value * elapsed;
  }
}
