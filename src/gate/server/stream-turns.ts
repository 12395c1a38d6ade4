/**
 * Limits the time for writing to watch streams in one turn of the event loop. An event is encoded once, but encrypted
 *        and copied for each of its watchers: for 450 watchers, an object of 1 MB takes half a second.
 *
 *   batch ──(the turn has time)──► is sent
 *     └──► refused; its stream waits by caller ──(the next turn, before others)──► asks for it again
 *
 * Holds  a turn starts no batch after `turnMs`, so it exceeds this by at most one batch (1 MiB and a revision). Waiting
 *        streams are served first in the next turn, for `firstMs`; the caller that has used least is next.
 * Bounds each stream waits at most once; it reads the events that it has not received from the ring (watch/cursor.ts).
 * Cost   reads the clock once per batch, and the CPU time once per turn and after `turnMs`. 500 batches to plain
 *        sockets take 5 ms, so they never wait.
 */
import type { Clock } from "#platform/clock.ts";
import type { TurnTimes } from "#platform/turn-log.ts";
import { Rotation, TurnQueue } from "#platform/turn-queue.ts";

const turnMs = 10;
/** Time for waiting streams in a turn. The rest is for new events, so that streams without backlog do not wait. */
const firstMs = 6;

export class StreamTurns {
  readonly #clock: Clock;
  readonly #cpuMs: () => number;
  readonly #queue = new TurnQueue(() => new Rotation());
  /** Start of the turn in which a batch was sent. Undefined: none was. */
  #startedMs: number | undefined;
  #startedCpuMs = 0;

  /** `times`: CPU time of this process. Absent: all time counts, including time that other processes took. */
  constructor(clock: Clock, times?: Pick<TurnTimes, "cpuMs">) {
    this.#clock = clock;
    this.#cpuMs = () => times?.cpuMs() ?? clock.monotonicMs();
  }

  /** Whether a batch may be sent in this turn. */
  hasTime(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#startedMs === undefined) this.#begin(nowMs);
    if (nowMs - (this.#startedMs ?? nowMs) < turnMs) return true;
    return this.#cpuMs() - this.#startedCpuMs < turnMs;
  }

  /** Calls `f` in a turn that has time. A stream has at most one waiting `f`. */
  later(stream: object, caller: string, f: () => void): void {
    this.#queue.add(caller, stream, f);
    if (this.#startedMs === undefined) this.#begin(this.#clock.monotonicMs());
  }

  #begin(nowMs: number): void {
    this.#startedMs = nowMs;
    this.#startedCpuMs = this.#cpuMs();
    this.#clock.after("request.turn", 0, () => this.#next());
  }

  #next(): void {
    this.#startedMs = undefined;
    if (this.#queue.isEmpty) return;
    const startedMs = this.#clock.monotonicMs();
    this.#begin(startedMs);
    for (let beganMs = startedMs; beganMs - startedMs < firstMs;) {
      const flow = this.#queue.next();
      if (flow === undefined) return;
      flow();
      const endedMs = this.#clock.monotonicMs();
      this.#queue.used(endedMs - beganMs);
      beganMs = endedMs;
    }
  }
}
