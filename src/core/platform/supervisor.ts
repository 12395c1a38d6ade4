/**
 * The supervisor of background work: the one place where what goes wrong outside of a request ends up.
 *
 * In     throws of timers (`clock`), rejections of loops (`run`), and whatever else the process says is
 *        lost (`failed`; `cmd/shared/supervise.ts` hands it uncaught errors and rejections).
 * Holds  a failure of the world is logged, counted under the loop's name, and the loop goes on: a timer
 *        by its own next turn, a loop of `run` again after a backoff. A bug (AssertionError) goes to
 *        `onBug`, which ends the process: shared state may be broken.
 * Bounds a line per loop and second; `loopsMax` names counted, further ones as "other".
 * Not    requests: the chain answers 500 and logs. Nor one key of a controller: its queue retries it,
 *        with the stack in the log, because only a copy of the state can be wrong there.
 */
import { AssertionError } from "#base/assert.ts";
import { type Clock, sleep } from "./clock.ts";
import type { Log } from "./log.ts";

interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, with the first bug. */
  readonly onBug: (bug: AssertionError) => void;
}

interface Loop {
  count: number;
  toldMs: number;
  untold: number;
}

const loopsMax = 200;
const tellEveryMs = 1_000;
const backoffMsMin = 100;
const backoffMsMax = 30_000;
/** A loop that ran for at least this long restarts with the smallest backoff. */
const healthyMs = 60_000;

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #loops = new Map<string, Loop>();
  #hasBug = false;
  /** The host's clock, except that errors thrown by timer callbacks are passed to `failed`. */
  readonly clock: Clock;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (name, delayMs, f) =>
        clock.after(name, delayMs, () => {
          try {
            f();
          } catch (error) {
            this.failed(name, error);
          }
        }),
    };
  }

  /** Number of failures so far, by loop; for metrics. */
  *failures(): IterableIterator<readonly [readonly string[], number]> {
    for (const [name, { count }] of this.#loops) yield [[name], count];
  }

  /** Records an error that background work threw or rejected with. Never throws. */
  failed(name: string, error: unknown): void {
    const loop = this.#loop(name);
    loop.count++;
    if (error instanceof AssertionError) return this.#bug(error);
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - loop.toldMs < tellEveryMs) {
      loop.untold++;
      return;
    }
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const more = loop.untold === 0 ? {} : { untold: loop.untold };
    this.#deps.log.error("background work failed", { loop: name, error: stack, ...more });
    loop.toldMs = nowMs;
    loop.untold = 0;
  }

  /** Runs `f` until it resolves or `signal` aborts; runs it again after a backoff when it rejects. Never rejects. */
  async run(name: string, signal: AbortSignal, f: () => Promise<void>): Promise<void> {
    const { clock } = this.#deps;
    for (let delayMs = backoffMsMin; ; delayMs = Math.min(delayMs * 2, backoffMsMax)) {
      const beganMs = clock.monotonicMs();
      try {
        return await f();
      } catch (error) {
        this.failed(name, error);
      }
      if (clock.monotonicMs() - beganMs >= healthyMs) delayMs = backoffMsMin;
      await sleep(this.clock, "supervisor.retry", delayMs, signal);
      if (signal.aborted) return;
    }
  }

  #loop(name: string): Loop {
    const known = this.#loops.get(name);
    if (known !== undefined) return known;
    if (this.#loops.size >= loopsMax && name !== "other") return this.#loop("other");
    const loop = { count: 0, toldMs: Number.NEGATIVE_INFINITY, untold: 0 };
    this.#loops.set(name, loop);
    return loop;
  }

  #bug(error: AssertionError): void {
    if (this.#hasBug) return;
    this.#hasBug = true;
    this.#deps.onBug(error);
  }
}
