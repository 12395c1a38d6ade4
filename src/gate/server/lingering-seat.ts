/**
 * Keeps the seat of a long answer, or of a watch's initial events, while the client reads it: a level of one seat sends
 * one list at a time.
 *
 * Time   the seat is released when the answer has been sent, or when the client has read nothing for `stillMs`: from
 *        then on the answer costs memory, which is charged, but no more time of the server. It is also released at the
 *        end of the request's time. The gate is notified of a stalled reader, and again when its answer has been sent.
 */
import type { Clock, Timer } from "#platform/clock.ts";

/** Two round trips around the world. After this time a stalled reader no longer keeps its seat. */
const stillMs = 500;

interface Seat {
  release(): void;
  stall(): void;
}

export class LingeringSeat {
  readonly #clock: Clock;
  readonly #seat: Seat;
  readonly #untilMs: number;
  #timer: Timer | undefined;
  #hasMoved = false;
  #isOver = false;

  /** `untilMs`: monotonic time at which the seat is released. */
  constructor(clock: Clock, seat: Seat, untilMs: number) {
    this.#clock = clock;
    this.#seat = seat;
    this.#untilMs = untilMs;
    this.#timer = this.#look();
  }

  /** Call when the client has taken a part of the answer. */
  moved(): void {
    this.#hasMoved = true;
  }

  /** Call when the answer has been sent, or never will be. Idempotent. */
  left(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#seat.release();
  }

  #stall(): void {
    this.#timer = undefined;
    this.#seat.stall();
  }

  #look(): Timer {
    const leftMs = Math.max(0, this.#untilMs - this.#clock.monotonicMs());
    return this.#clock.after("server.answer", Math.min(stillMs, leftMs), () => {
      if (!this.#hasMoved || this.#clock.monotonicMs() >= this.#untilMs) return this.#stall();
      this.#hasMoved = false;
      this.#timer = this.#look();
    });
  }
}
