/** Asks at a steady pace, whether or not earlier questions were answered, and keeps how long each took. */
const unansweredMax = 200;

export class Bystander {
  readonly #ask: () => Promise<unknown>;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #unanswered = 0;
  /** Of the second that runs. */
  #second: number[] = [];
  readonly all: number[] = [];
  failures = 0;

  constructor(everyMs: number, ask: () => Promise<unknown>) {
    this.#everyMs = everyMs;
    this.#ask = ask;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#once(), this.#everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #once(): Promise<void> {
    if (this.#unanswered >= unansweredMax) return void this.failures++;
    this.#unanswered++;
    const beganMs = performance.now();
    try {
      await this.#ask();
    } catch {
      this.failures++;
    }
    this.#unanswered--;
    const tookMs = performance.now() - beganMs;
    this.#second.push(tookMs);
    this.all.push(tookMs);
  }

  /** The slowest answer since the last look; 0 where none came. */
  worstMs(): number {
    const worst = Math.max(0, ...this.#second);
    this.#second = [];
    return worst;
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
