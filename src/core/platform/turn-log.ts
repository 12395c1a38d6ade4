/**
 * Which request held a turn of the loop for long, and at which stage: marks that requests set as they go on.
 *
 *   mark(a, stage) ─ mark(a, stage) ─ mark(b, stage) ─ ... ─ settled: nothing goes on without the host
 *   └──────────────────── one run; its longest span is blamed ────────┘
 *
 * Holds  a run is reported once, when it took more than `longMs` of the thread's CPU, with the request and the
 *        stage of its longest span; without, where no span was `blamedMs` long: many requests together.
 * Limits what a request does after it waited for the host is seen from its next mark on.
 * Cost   a look at the clock per mark, a microtask per run, one at the CPU's time in `cpuEveryMs`: what was used
 *        before the run, that long at most, counts with it.
 */
export interface TurnTimes {
  nowMs(): number;
  /** CPU time of this thread. */
  cpuMs(): number;
  /** Calls `f` when the callbacks of all settled promises have run. */
  settled(f: () => void): void;
}

export interface LongTurn<Request> {
  /** Undefined: no single request took most of the run. */
  readonly request: Request | undefined;
  readonly stage: string;
  /** Duration of the run, not of the longest span alone. */
  readonly ms: number;
}

/** Runs longer than this are reported: several in a row delay the answers to uninvolved clients. */
const longMs = 20;
const blamedMs = 10;
const cpuEveryMs = 4;

interface Span<Request> {
  readonly request: Request;
  readonly stage: string;
  readonly ms: number;
}

export class TurnLog<Request> {
  readonly #times: TurnTimes;
  readonly #report: (turn: LongTurn<Request>) => void;
  #isOpen = false;
  #startedMs = 0;
  #cpuReadMs = Number.NEGATIVE_INFINITY;
  #cpuMs = 0;
  #spanMs = 0;
  #request: Request | undefined;
  #stage = "";
  #longest: Span<Request> | undefined;

  constructor(times: TurnTimes, report: (turn: LongTurn<Request>) => void) {
    this.#times = times;
    this.#report = report;
  }

  mark(request: Request, stage: string): void {
    const nowMs = this.#times.nowMs();
    if (this.#isOpen) this.#endSpan(nowMs);
    else this.#open(nowMs);
    this.#spanMs = nowMs;
    this.#request = request;
    this.#stage = stage;
  }

  #open(nowMs: number): void {
    this.#isOpen = true;
    this.#startedMs = nowMs;
    if (nowMs - this.#cpuReadMs > cpuEveryMs) {
      this.#cpuReadMs = nowMs;
      this.#cpuMs = this.#times.cpuMs();
    }
    this.#times.settled(this.#close);
  }

  #endSpan(nowMs: number): void {
    const ms = nowMs - this.#spanMs;
    if (this.#request === undefined || ms <= (this.#longest?.ms ?? 0)) return;
    this.#longest = { request: this.#request, stage: this.#stage, ms };
  }

  readonly #close = (): void => {
    const nowMs = this.#times.nowMs();
    this.#endSpan(nowMs);
    const longest = this.#longest;
    this.#isOpen = false;
    this.#request = undefined;
    this.#longest = undefined;
    const wallMs = nowMs - this.#startedMs;
    if (wallMs > longMs) this.#reportIfUsed(wallMs, longest);
  };

  #reportIfUsed(wallMs: number, longest: Span<Request> | undefined): void {
    const ms = Math.min(wallMs, this.#times.cpuMs() - this.#cpuMs);
    if (ms <= longMs) return;
    if (longest === undefined || longest.ms < blamedMs)
      this.#report({ request: undefined, stage: "many", ms });
    else this.#report({ request: longest.request, stage: longest.stage, ms });
  }
}
