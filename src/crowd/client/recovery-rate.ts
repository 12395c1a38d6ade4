/**
 * The number of pods per second that a control plane may recover. It grows while the API server has headroom, and is
 * cut at once when it has none. Headroom is measured by the server's answers to this very work: how long they take, and
 * whether it refuses. If the server shares this event loop, answers come within one turn and show little of the
 * waiting time of others; then the loop's lag counts.
 *
 *   answers ─► overloaded (429, 503, none): half of the rate
 *          ─► one of ten takes longer than 500 ms: seven tenths of it
 *          ─► nine of ten take at most 200 ms, and pods waited for the rate: a quarter more, once a second
 *   lag    ─► turns that come more than 60 ms late add up to a tenth of a second: seven tenths of it; the rate
 *             grows only while turns more than 25 ms late add up to less than that
 *
 * Holds  least <= perSecond <= most; at most one cut per 500 ms, because answers of one moment show the same state.
 * Bounds six sums; no history.
 * After  TCP's additive increase and multiplicative decrease (RFC 5681), with a multiplicative increase: herds are short.
 */
import type { Clock } from "#platform/clock.ts";

export interface RecoveryLimits {
  /** Pods a second before anything was measured. */
  readonly firstPerSecond: number;
  /** Never below: pods go on, whatever the server says. */
  readonly leastPerSecond: number;
  readonly mostPerSecond: number;
}

/** Why the rate is what it is. */
export type RecoveryReason = "measuring" | "headroom" | "slow answers" | "slow loop" | "overloaded";

const slowMs = 500;
const briskMs = 200;
/** A caller's request takes a few turns: with these its answer is late by some 250 ms, or not to be felt. */
const lateMs = 60;
const promptMs = 25;
const windowMs = 1_000;
/** By time, because a loop that is late has few turns. */
const lagShareMs = windowMs / 10;
/** One alone may be a pause of the garbage collector. */
const lateLeast = 2;
const cutEveryMs = 500;
/** Fewer answers say nothing about one of ten. */
const answersLeast = 10;

export class RecoveryRate {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #limits: RecoveryLimits;
  #perSecond: number;
  #reason: RecoveryReason = "measuring";
  #answers = 0;
  #slow = 0;
  #brisk = 0;
  #late = 0;
  #lateMs = 0;
  #tardyMs = 0;
  #hasWaited = false;
  #windowMs: number;
  #cutMs = -Infinity;

  constructor(clock: Pick<Clock, "monotonicMs">, limits: RecoveryLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#perSecond = limits.firstPerSecond;
    this.#windowMs = clock.monotonicMs();
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /**
   * Number of writes that may be under way: those of a twentieth of a second. The rate alone learns of a slow server
   * only after its first answers, when thousands of requests are in its queue.
   */
  get inFlightMost(): number {
    return Math.max(1, Math.floor(this.#perSecond / 20));
  }

  get reason(): RecoveryReason {
    return this.#reason;
  }

  /** A pod waited: the rate is the brake, so a higher one would be used. */
  waited(): void {
    this.#hasWaited = true;
  }

  answered(tookMs: number): void {
    this.#answers++;
    if (tookMs > slowMs) this.#slow++;
    if (tookMs <= briskMs) this.#brisk++;
    if (this.#answers < answersLeast) return;
    if (this.#slow * 10 > this.#answers) return this.#cut(0.7, "slow answers");
    if (this.#clock.monotonicMs() - this.#windowMs >= windowMs) this.#endWindow();
  }

  /** A turn of the loop that the server shares came so late. */
  lagged(lagMs: number): void {
    if (lagMs > promptMs) this.#tardyMs += lagMs;
    if (lagMs <= lateMs) return;
    this.#late++;
    this.#lateMs += lagMs;
    if (this.#late >= lateLeast && this.#lateMs >= lagShareMs) this.#cut(0.7, "slow loop");
  }

  /** The server refused for load, or gave no answer. */
  overloaded(): void {
    this.#cut(0.5, "overloaded");
  }

  #endWindow(): void {
    const isPrompt = this.#tardyMs < lagShareMs;
    const isBrisk = isPrompt && this.#brisk * 10 >= this.#answers * 9;
    if (isBrisk && this.#hasWaited) this.#set(this.#perSecond * 1.25, "headroom");
    this.#startWindow();
  }

  #cut(factor: number, reason: RecoveryReason): void {
    this.#startWindow();
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#cutMs < cutEveryMs) return;
    this.#cutMs = nowMs;
    this.#set(this.#perSecond * factor, reason);
  }

  #set(perSecond: number, reason: RecoveryReason): void {
    const { leastPerSecond, mostPerSecond } = this.#limits;
    this.#perSecond = Math.min(mostPerSecond, Math.max(leastPerSecond, perSecond));
    this.#reason = reason;
  }

  #startWindow(): void {
    this.#answers = 0;
    this.#slow = 0;
    this.#brisk = 0;
    this.#late = 0;
    this.#lateMs = 0;
    this.#tardyMs = 0;
    this.#hasWaited = false;
    this.#windowMs = this.#clock.monotonicMs();
  }
}
