/**
 * The server's handler for loops of this process: a limited number of calls in one turn of the event loop,
 * further ones in later turns.
 *
 * A call that waits for nothing resolves within the turn it was made in, so a loop that makes a thousand
 * of them one after the other would hold all other requests meanwhile.
 */
import type { Clock } from "#platform/clock.ts";
import type { PlainHandler } from "#platform/http.ts";

/** Calls take 100 to 300 us, so a turn takes about 10 ms. */
const callsPerTurn = 48;

export function pacedHandler(clock: Clock, handler: PlainHandler): PlainHandler {
  const turns = new Turns(clock);
  return async (request) => {
    if (!turns.take()) await turns.wait();
    return handler(request);
  };
}

/** Limits the calls started per turn; further calls start in later turns, in order. */
class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #isArmed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(): boolean {
    if (!this.#isArmed) this.#arm();
    if (this.#begun >= callsPerTurn || this.#waiting.length > 0) return false;
    this.#begun++;
    return true;
  }

  wait(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #arm(): void {
    this.#isArmed = true;
    this.#clock.after("client.turn", 0, () => this.#next());
  }

  #next(): void {
    const released = this.#waiting.splice(0, callsPerTurn);
    this.#begun = released.length;
    this.#isArmed = false;
    if (released.length > 0) this.#arm();
    for (const begin of released) begin();
  }
}
