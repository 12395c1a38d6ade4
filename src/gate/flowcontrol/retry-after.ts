/**
 * The Retry-After value for rejected requests: 1 to 32 seconds. It doubles while a level keeps rejecting and shrinks by
 * one second when rejections stop (apiserver dropped_requests_tracker.go).
 */
const secondsMax = 32;

interface SecondCount {
  readonly second: number;
  count: number;
}

export class RetryAfter {
  #seconds = 1;
  #raisedAt = 0;
  /** Refusals by second: at most `secondsMax` entries, oldest first. */
  #history: SecondCount[] = [];

  get seconds(): number {
    return this.#seconds;
  }

  /** Counts a refusal at this time. */
  note(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const last = this.#history.at(-1);
    if (last?.second === second) {
      last.count += 1;
      return;
    }
    this.#adapt(second);
    this.#history = this.#history.filter((entry) => second - entry.second <= secondsMax);
    this.#history.push({ second, count: 1 });
  }

  #adapt(second: number): void {
    const recent = this.#history.filter((entry) => second - entry.second <= this.#seconds);
    const refused = recent.reduce((total, entry) => total + entry.count, 0);
    if (second - this.#raisedAt >= this.#seconds && refused >= 3 * this.#seconds) {
      this.#seconds = Math.min(this.#seconds * 2, secondsMax);
      this.#raisedAt = second;
    } else if (refused < this.#seconds && this.#seconds > 1) {
      this.#seconds -= 1;
    }
  }
}
