/**
 * Decides when the watchers of one cache are served; the dispatcher decides what they get.
 *
 *   feed: request --> gather window --> dispatch --+--> few cursors: served before dispatch returns
 *                                                  +--> a crowd: waitForTurn ------------------> turns --> serve(slice)
 *                                                  +--> latest state: waitForWindow --> window --^
 *
 * Policy  three data records (`DeliveryPolicy`): `gather` applies to the feed, `turns` bounds one turn of the
 *         event loop, `latest` applies to watchers that asked for the latest state only.
 * Holds   an applied event waits at most `gather.windowMs` before it is dispatched. A waiting slice has a
 *         position of its own and one place in the order. A turn starts no further slice once it has served
 *         `cursorsPerTurn` cursors or made `lookupsPerTurn` look-ups for selectors (judged-portion.ts). An
 *         exception in one turn or window does not stop the next one.
 * Cost    a set entry per waiting slice and three timers; nothing is queued per event or cursor. A slice
 *         reads the ring when its turn comes. A busy crowd is therefore written less often, not later: an event
 *         waits for one round, not two.
 */
import { assert } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import { lookupsPerTurn } from "./judged-portion.ts";
import type { Slice } from "./slice.ts";

export interface DeliveryPolicy {
  /**
   * Below `watchersMin` watchers, each request dispatches before it returns. From there on, dispatches are at
   * least `windowMs` apart; the first one after a quiet window runs at once.
   */
  readonly gather: { readonly watchersMin: number; readonly windowMs: number };
  /**
   * Events that concern at least `cursorsMin` cursors are served in turns of about `cursorsPerTurn` cursors. Events
   * that need more than `lookupsPerTurn` look-ups are served in turns of about that many look-ups.
   */
  readonly turns: { readonly cursorsMin: number; readonly cursorsPerTurn: number };
  /** Latest-state watchers receive one batch per window. Undefined: they receive every event. */
  readonly latest: { readonly windowMs: number } | undefined;
}

/**
 * Turns of a feed whose watchers are sockets. 500 writes to plain sockets take about 5 ms; fewer than
 * 1,000 are served at once, in up to 10 ms.
 */
export const socketTurns: DeliveryPolicy["turns"] = { cursorsMin: 1_000, cursorsPerTurn: 500 };

interface DeliveryDeps {
  readonly clock: Clock;
  /** Delivers the applied events to the cursors they concern, or makes their slices wait for a turn. */
  readonly dispatch: () => void;
  /**
   * Brings a waiting slice to the dispatched position, or as far as `lookups` allow.
   * @returns the number of look-ups it made.
   */
  readonly serve: (slice: Slice, lookups: number) => number;
}

export class DeliveryScheduler {
  readonly #deps: DeliveryDeps;
  readonly #policy: DeliveryPolicy;
  readonly #gather: Throttle;
  readonly #latest: Throttle | undefined;
  /** Slices to be served from the next latest-state window on. */
  #due = new Set<Slice>();
  /** Slices waiting for a turn, in the order of their turns. */
  readonly #waiting = new Set<Slice>();
  #isTurnScheduled = false;
  #turnTimer: Timer | undefined;

  constructor(deps: DeliveryDeps, policy: DeliveryPolicy) {
    this.#deps = deps;
    this.#policy = policy;
    const { clock } = deps;
    const { gather, latest } = policy;
    this.#gather = new Throttle(clock, gather.windowMs, () => deps.dispatch());
    if (latest === undefined) return;
    this.#latest = new Throttle(clock, latest.windowMs, () => this.#beginWindow());
  }

  /** Whether latest-state watchers have windows of their own. */
  get hasLatestWindow(): boolean {
    return this.#latest !== undefined;
  }

  /** Dispatches now or at the end of the window: something was applied to a cache with `watchers`. */
  request(watchers: number): void {
    if (watchers < this.#policy.gather.watchersMin) this.#deps.dispatch();
    else this.#gather.request();
  }

  /** Dispatches now and starts the next window. */
  dispatchNow(): void {
    this.#gather.run();
  }

  /** Whether serving `cursors` with `lookups` takes more than one turn. */
  isCrowd(cursors: number, lookups: number): boolean {
    return cursors >= this.#policy.turns.cursorsMin || lookups > lookupsPerTurn;
  }

  /** Queues `slice` for a turn of its own, after `startTurns` is called. */
  waitForTurn(slice: Slice): void {
    assert(slice.behindAt !== undefined, "a slice waits without a position");
    this.#waiting.add(slice);
  }

  /**
   * Adds `slice` to those that are served from the next latest-state window on. A slice that still waits for its turn
   * from the last window is not added again: in overload it gets fewer batches, each with the newest state.
   */
  waitForWindow(slice: Slice): void {
    assert(slice.behindAt !== undefined, "a slice waits without a position");
    if (this.#waiting.has(slice)) return;
    this.#due.add(slice);
    this.#latest?.requestLater();
  }

  /** Runs the first turn now, unless one is running or scheduled. */
  startTurns(): void {
    if (!this.#isTurnScheduled && this.#waiting.size > 0) this.#runTurn();
  }

  /** Cancels all timers. */
  close(): void {
    this.#gather.close();
    this.#latest?.close();
    this.#turnTimer?.cancel();
  }

  #beginWindow(): void {
    const due = this.#due;
    this.#due = new Set();
    for (const slice of due) this.#waiting.add(slice);
    this.startTurns();
  }

  #runTurn(): void {
    this.#isTurnScheduled = true;
    try {
      this.#serveTurn();
    } finally {
      this.#isTurnScheduled = this.#waiting.size > 0;
      if (this.#isTurnScheduled) {
        this.#turnTimer = this.#deps.clock.after("watch.flush", 0, () => this.#runTurn());
      }
    }
  }

  #serveTurn(): void {
    let left = this.#policy.turns.cursorsPerTurn;
    let lookups = lookupsPerTurn;
    for (const slice of this.#waiting) {
      if (left <= 0 || lookups <= 0) return;
      this.#waiting.delete(slice);
      left -= slice.cursors.size;
      lookups -= this.#deps.serve(slice, lookups);
      // The slice needs more look-ups than this turn has left: it moves to the end of the order.
      if (lookups <= 0 && slice.behindAt !== undefined) this.#waiting.add(slice);
    }
  }
}

/** Runs at most once per window: at once after a quiet window, otherwise when the window ends. */
class Throttle {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #run: () => void;
  #beganMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, windowMs: number, run: () => void) {
    assert(windowMs >= 0, "a window has a length", { windowMs });
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#run = run;
  }

  request(): void {
    if (this.#leftMs() <= 0) this.run();
    else this.requestLater();
  }

  /** As `request`, but never before this call returns. */
  requestLater(): void {
    if (this.#timer !== undefined) return;
    const delayMs = Math.max(0, this.#leftMs());
    this.#timer = this.#clock.after("watch.flush", delayMs, () => this.run());
  }

  run(): void {
    this.close();
    this.#beganMs = this.#clock.monotonicMs();
    this.#run();
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #leftMs(): number {
    return this.#beganMs + this.#windowMs - this.#clock.monotonicMs();
  }
}
