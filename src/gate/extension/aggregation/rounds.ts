/**
 * Runs jobs by key: after a change, again periodically, and again soon after a failure.
 *
 * Holds  one run of a key at a time. A key that becomes due during its run runs once more afterwards. At most
 *        `atOnceMax` concurrent runs in total; a server that does not answer occupies only one of these places.
 * Bounds one entry per key, and one key per remote APIService.
 */
import type { Clock, Timer, TimerName } from "#platform/clock.ts";

interface RoundsDeps {
  readonly clock: Clock;
  /** Runs the check of a key. @returns false if it must be retried soon. Never rejects. */
  readonly run: (key: string, signal: AbortSignal) => Promise<boolean>;
}

interface RoundsOptions {
  readonly timer: TimerName;
  readonly atOnceMax: number;
  readonly everyMs: number;
  /** Delay of the first retry. Doubled with each consecutive failure, up to `retryMsMax`. */
  readonly retryMs: number;
  readonly retryMsMax: number;
}

interface Entry {
  state: "idle" | "waiting" | "running";
  isDueAgain: boolean;
  failures: number;
  timer: Timer | undefined;
}

export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #options: RoundsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(deps: RoundsDeps, options: RoundsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  due(key: string): void {
    if (this.#ending.signal.aborted) return;
    const entry = this.#entryOf(key);
    entry.timer?.cancel();
    if (entry.state === "running") entry.isDueAgain = true;
    if (entry.state !== "idle") return;
    entry.state = "waiting";
    this.#waiting.add(key);
    this.#start();
  }

  /** Forgets a key, which is not run again. A run that has started ends by itself. */
  forget(key: string): void {
    this.#entries.get(key)?.timer?.cancel();
    this.#entries.delete(key);
    this.#waiting.delete(key);
  }

  /** Stops all runs. Resolves when the last one has ended. */
  async close(): Promise<void> {
    this.#ending.abort();
    for (const key of this.#entries.keys()) this.forget(key);
    await Promise.all(this.#running);
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made: Entry = { state: "idle", isDueAgain: false, failures: 0, timer: undefined };
    this.#entries.set(key, made);
    return made;
  }

  #start(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.atOnceMax) return;
      this.#waiting.delete(key);
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      const run = this.#runOne(key, entry).finally(() => {
        this.#running.delete(run);
        this.#start();
      });
      this.#running.add(run);
    }
  }

  async #runOne(key: string, entry: Entry): Promise<void> {
    entry.state = "running";
    entry.isDueAgain = false;
    const isDone = await this.#deps.run(key, this.#ending.signal);
    entry.state = "idle";
    entry.failures = isDone ? 0 : entry.failures + 1;
    if (this.#entries.get(key) !== entry) return;
    if (entry.isDueAgain) this.due(key);
    else this.#arm(key, entry);
  }

  #arm(key: string, entry: Entry): void {
    const { timer, everyMs, retryMs, retryMsMax } = this.#options;
    const retry = Math.min(retryMs * 2 ** Math.min(entry.failures - 1, 30), retryMsMax);
    const delayMs = entry.failures === 0 ? everyMs : retry;
    entry.timer = this.#deps.clock.after(timer, delayMs, () => this.due(key));
  }
}
