/** The host's clock. Timers are unref'd: waiting for one does not keep the process alive. */
import { performance } from "node:perf_hooks";
import type { Clock, Timer, TimerName } from "../clock.ts";

export class NodeClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  after(_name: TimerName, delayMs: number, f: () => void): Timer {
    return delayMs <= 0 ? afterTurn(f) : new NodeTimer(performance.now() + delayMs, f);
  }
}

/**
 * Next host turn: `setTimeout(0)` would wait a whole millisecond. Not unref'd: the host does not end its
 * wait for sockets for an unref'd immediate, which could stay due for minutes.
 */
function afterTurn(f: () => void): Timer {
  const immediate = setImmediate(f);
  return { cancel: () => clearImmediate(immediate) };
}

/**
 * The host counts a delay from the start of its current turn, so after long synchronous work a
 * timer fires early; the contract says never. An early one waits for the rest.
 */
class NodeTimer implements Timer {
  readonly #dueMs: number;
  readonly #f: () => void;
  #timeout: NodeJS.Timeout;

  constructor(dueMs: number, f: () => void) {
    this.#dueMs = dueMs;
    this.#f = f;
    this.#timeout = this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #arm(): NodeJS.Timeout {
    // setTimeout takes 31 bits; a longer wait is done in steps. The due time may be past already, and
    // Node warns of negative delays.
    const leftMs = Math.max(1, Math.ceil(this.#dueMs - performance.now()));
    const delayMs = Math.min(leftMs, 2 ** 31 - 1);
    const timeout = setTimeout(() => this.#fired(), delayMs);
    timeout.unref();
    return timeout;
  }

  #fired(): void {
    if (performance.now() >= this.#dueMs) this.#f();
    else this.#timeout = this.#arm();
  }
}
