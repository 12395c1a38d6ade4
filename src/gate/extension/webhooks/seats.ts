/**
 * Limits the calls in flight per webhook, so that a slow webhook delays only its own requests.
 *
 * Limits `callsMax` concurrent calls to one webhook. `waitingMax` more wait in order for one of them to end, no longer
 *        than their own timeout. Above that a call fails, and failurePolicy decides.
 */
import { CallError } from "./call-error.ts";

export interface SeatLimits {
  readonly callsMax: number;
  readonly waitingMax: number;
}

interface Hall {
  calls: number;
  readonly waiting: Set<() => void>;
}

export class Seats {
  readonly #limits: SeatLimits;
  readonly #halls = new Map<string, Hall>();

  constructor(limits: SeatLimits) {
    this.#limits = limits;
  }

  /** Yields the webhooks with calls in progress, and the number of these calls. */
  *inFlight(): Iterable<readonly [readonly string[], number]> {
    for (const [id, { calls }] of this.#halls) yield [[id], calls];
  }

  /** Resolves to the release, which must be called once. Rejects with CallError, or with the reason of `signal`. */
  async enter(id: string, signal: AbortSignal): Promise<() => void> {
    const hall = this.#halls.get(id) ?? { calls: 0, waiting: new Set<() => void>() };
    this.#halls.set(id, hall);
    if (hall.calls >= this.#limits.callsMax) await this.#wait(hall, signal);
    else hall.calls++;
    return () => this.#leave(id, hall);
  }

  #wait(hall: Hall, signal: AbortSignal): Promise<void> {
    const { callsMax, waitingMax } = this.#limits;
    if (hall.waiting.size >= waitingMax) {
      const text = `failed to call webhook: ${callsMax} calls are under way and ${waitingMax} wait`;
      throw new CallError(text, 429);
    }
    return new Promise((resolve, reject) => {
      const take = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        hall.waiting.delete(take);
        reject(signal.reason as Error);
      };
      hall.waiting.add(take);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Passes the seat to the next waiting call, or frees it. */
  #leave(id: string, hall: Hall): void {
    const [next] = hall.waiting;
    if (next !== undefined) {
      hall.waiting.delete(next);
      next();
      return;
    }
    if (--hall.calls === 0) this.#halls.delete(id);
  }
}
