/**
 * Gives memory back once a busy time is over. V8 collects when a heap has grown, and glibc trims its
 * heap from the top only: a process that has become quiet does neither, and keeps what it had at its peak.
 *
 *   look, every `lookMs` ─▶ busy                                                ─▶ nothing, yet
 *                           quiet, at most a quarter of an hour after a busy time ─▶ trim, collect in steps
 *                           quiet, more resident than `growthMax` x base + slack  ─▶ the same
 *                           else                                                  ─▶ nothing
 *   a collection that took off nothing                                            ─▶ a compacting one
 *   two that took off nothing                                                     ─▶ rest, try again later
 *   ... a quarter of an hour after the busy time                                  ─▶ this is the base now
 *
 * Why not only what is above the base: the base is what a process has when it has just started, with the
 * garbage of the start, and what comes and goes lies on top. After a busy time 1.7 x of a fresh process were below it.
 * Holds  a process that was never busy and never had more than its base is left alone: an idle one pays for a
 *        look, 0.05 ms.
 * Cost   a collection is V8's own incremental one, a few milliseconds a step and some tens at its end; a
 *        trim holds the loop for 1 ms per 4 MB or so that it gives back. Both only after a busy time, and at
 *        most once a look.
 */
import type { Clock, Timer } from "./clock.ts";

/** Memory figures of the host, and its means to give memory back. */
export interface MemoryHost {
  residentBytes(): number;
  /** Part of `residentBytes` that V8's objects take. */
  heapBytes(): number;
  /** User and system time of the process. */
  cpuMs(): number;
  /**
   * Collects all garbage in steps; `compact` moves what is left together, which is only short when little
   * is. Resolves when it is done; never rejects.
   */
  collectInSteps(compact: boolean): Promise<void>;
  /** Approximate bytes of freed memory that the allocator keeps. The figure is too high, because it includes code. */
  freeBytes(): number;
  /** Gives the allocator's free memory back to the host. */
  trim(): void;
}

export const spareMemoryDefaults = {
  /** Time between looks. A collection begins 10 s after its request, and V8 keeps freed pages for 8 s more. */
  lookMs: 30_000,
  /** Share of one core since the last look: with a larger share the time counts as busy. */
  busyShare: 0.3,
  /** Factor by which the memory held at the start grows until the process is warm. */
  warmFactor: 1.2,
  growthMax: 1.1,
  /** V8's young generation at its largest: its size varies, and a collection of it frees memory for seconds only. */
  slackBytes: 64 * 2 ** 20,
  /** A step that frees a smaller share of the memory was in vain. */
  worthMin: 0.03,
  /** After this many steps in vain in a row the collecting stops. */
  vainMax: 2,
  /** Pause after the collecting has stopped. */
  restMs: 120_000,
  /** Collecting is tried again until this time after the busy time, because history is kept for some minutes. */
  retryMs: 900_000,
  /** With more free memory than this there is no trim, which would hold the loop for above 250 ms. The next busy time uses that memory. */
  trimBytesMax: 1024 * 2 ** 20,
  /**
   * A plane at rest has 55 to 70 MB, and up to 90 after an hour of churn, before what is garbage of it goes. Compacting
   * all pages of 130 MB held the loop for half a second on a busy core.
   */
  compactHeapBytesMax: 100 * 2 ** 20,
} as const;

type SpareMemoryOptions = {
  readonly [Name in keyof typeof spareMemoryDefaults]: number;
};

export class SpareMemory {
  readonly #clock: Clock;
  readonly #host: MemoryHost;
  readonly #options: SpareMemoryOptions;
  #timer: Timer | undefined;
  /** Memory held when there is nothing to give back. */
  #baseBytes: number;
  /** Memory held before the last step; 0 when this quiet time had no step yet. */
  #beforeBytes = 0;
  /** Number of steps in a row that were in vain, in this quiet time. */
  #vainSteps = 0;
  #restUntilMs = 0;
  /** The start does not count as a busy time: a fresh process holds the same memory. */
  #wasEverBusy = false;
  #busyAtMs: number;
  #cpuMs: number;
  #lookedMs: number;
  #collecting = false;

  constructor(
    deps: { readonly clock: Clock; readonly host: MemoryHost },
    options: SpareMemoryOptions,
  ) {
    this.#clock = deps.clock;
    this.#host = deps.host;
    this.#options = options;
    this.#baseBytes = deps.host.residentBytes() * options.warmFactor;
    this.#cpuMs = deps.host.cpuMs();
    this.#lookedMs = this.#busyAtMs = deps.clock.monotonicMs();
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#clock.after("memory.look", this.#options.lookMs, () => {
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const busy = this.#wasBusy();
    if (busy) {
      this.#wasEverBusy = true;
      this.#busyAtMs = this.#lookedMs;
      this.#restUntilMs = this.#vainSteps = 0;
    }
    if (this.#collecting) return;
    // Trims at each look: V8 collects by itself as well, and frees array buffers in the background afterwards.
    if (!busy && this.#hasSpare() && this.#host.freeBytes() <= this.#options.trimBytesMax) {
      this.#host.trim();
    }
    const held = this.#host.residentBytes();
    if (busy || !this.#hasSpare() || this.#lookedMs < this.#restUntilMs) this.#beforeBytes = 0;
    else if (this.#vain(held)) this.#rest(held);
    else this.#step(held);
  }

  #hasSpare(): boolean {
    const { growthMax, slackBytes, retryMs } = this.#options;
    if (this.#wasEverBusy && this.#lookedMs - this.#busyAtMs <= retryMs) return true;
    return this.#host.residentBytes() > this.#baseBytes * growthMax + slackBytes;
  }

  /** Accepts that the memory is needed: for now, or for good once the busy time's history must have been dropped. */
  #rest(held: number): void {
    const { restMs, retryMs } = this.#options;
    this.#beforeBytes = 0;
    this.#vainSteps = 0;
    this.#restUntilMs = this.#lookedMs + restMs;
    if (this.#lookedMs - this.#busyAtMs > retryMs) this.#baseBytes = held;
  }

  #wasBusy(): boolean {
    const cpuMs = this.#host.cpuMs();
    const nowMs = this.#clock.monotonicMs();
    const share = (cpuMs - this.#cpuMs) / (nowMs - this.#lookedMs);
    this.#cpuMs = cpuMs;
    this.#lookedMs = nowMs;
    return share > this.#options.busyShare;
  }

  /** Whether the last steps freed no considerable amount of memory. */
  #vain(held: number): boolean {
    const { worthMin, vainMax } = this.#options;
    const wasVain = this.#beforeBytes > 0 && held > this.#beforeBytes * (1 - worthMin);
    this.#vainSteps = wasVain ? this.#vainSteps + 1 : 0;
    return this.#vainSteps >= vainMax;
  }

  #step(held: number): void {
    const { vainMax, compactHeapBytesMax } = this.#options;
    // The last step before a rest compacts: few objects are left to move, and only half-empty pages are left to free.
    const isLast = this.#vainSteps === vainMax - 1;
    const compact = isLast && this.#host.heapBytes() <= compactHeapBytesMax;
    this.#beforeBytes = held;
    this.#collecting = true;
    void this.#host.collectInSteps(compact).then(() => (this.#collecting = false));
  }
}
