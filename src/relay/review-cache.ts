/**
 * Answers of the upstream about people (who is this token, may they), kept for a short while.
 *
 * Holds  one question is asked once at a time, however many wait for it; a yes counts `allowedMs`, a
 *        no `deniedMs`. While the upstream cannot be asked, a yes it gave earlier counts up to
 *        `graceMs`: an outage must not close every stream. Nothing else is ever assumed.
 * Ahead  a yes that is still being used is asked about again before it runs out, each at another time of
 *        its second half: who polls never waits, and a crowd that came at once is not asked about at once.
 * Bounds `reviewsMax` answers, the one used longest ago goes.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { RelayLimits } from "./limits.ts";

/** An answer; renewed in place, so that who holds it sees it renewed. */
interface Entry<V> {
  value: V;
  askedMs: number;
  /** Whoever uses it from then on sets off the next question. */
  renewMs: number;
}

/** Of its life, before an answer is asked about again. */
const renewFrom = 0.5;
const renewTo = 0.9;
/** Its multiples spread evenly over [0, 1), however many there are. */
const goldenRatio = (Math.sqrt(5) - 1) / 2;
/** While the upstream cannot be asked, each is tried this often. */
const retryMs = 1000;

export interface ReviewCounts {
  asked: number;
  kept: number;
  /** Answered from before, because the upstream was away. */
  graced: number;
}

export class ReviewCache<V> {
  readonly counts: ReviewCounts = { asked: 0, kept: 0, graced: 0 };
  readonly #clock: Clock;
  readonly #limits: RelayLimits;
  readonly #isYes: (value: V) => boolean;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #asking = new Map<string, Promise<V>>();
  #renewals = 0;

  constructor(deps: { clock: Clock }, limits: RelayLimits, isYes: (value: V) => boolean) {
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#isYes = isYes;
  }

  /** Whether `get` would answer from memory, wait for a question under way, or ask again about a yes. */
  isKnown(key: string): boolean {
    const known = this.#entries.get(key);
    if (this.#asking.has(key)) return true;
    return known !== undefined && (this.#isYes(known.value) || this.#isFresh(known));
  }

  /** Rejects when the upstream cannot be asked and there is no answer to stand in. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known === undefined || !this.#isFresh(known)) {
      const answer = this.#asking.get(key) ?? this.#ask(key, ask);
      return answer.catch((error: unknown) => this.#standIn(key, error));
    }
    this.counts.kept++;
    this.#renewIfDue(key, known, ask);
    return Promise.resolve(known.value);
  }

  /** A no is not: it is over soon enough. */
  #renewIfDue(key: string, entry: Entry<V>, ask: () => Promise<V>): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < entry.renewMs || !this.#isYes(entry.value) || this.#asking.has(key)) return;
    entry.renewMs = nowMs + retryMs;
    // What became of it is seen by whoever uses the answer next.
    this.#ask(key, ask).catch(() => undefined);
  }

  #ask(key: string, ask: () => Promise<V>): Promise<V> {
    const asking = this.#answer(key, ask);
    this.#asking.set(key, asking);
    return asking;
  }

  async #answer(key: string, ask: () => Promise<V>): Promise<V> {
    this.counts.asked++;
    try {
      const value = await ask();
      this.#keep(key, value);
      return value;
    } finally {
      this.#asking.delete(key);
    }
  }

  #standIn(key: string, error: unknown): V {
    const known = this.#entries.get(key);
    const away = !(error instanceof ApiError) || error.code >= 500 || error.code === 429;
    if (!away || known === undefined || !this.#isYes(known.value)) throw error;
    if (this.#age(known) > this.#limits.graceMs) throw error;
    this.counts.graced++;
    return known.value;
  }

  /** Whether the answer given now would be this one again, without waiting for a question. */
  recall(key: string, ask: () => Promise<V>): () => boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return () => false;
    const { value } = entry;
    const isThis = (): boolean => entry.value === value && this.#isYes(value);
    return () => {
      if (!isThis() || this.#age(entry) >= this.#limits.allowedMs) return false;
      this.#renewIfDue(key, entry, ask);
      return true;
    };
  }

  #keep(key: string, value: V): void {
    const askedMs = this.#clock.monotonicMs();
    const place = (this.#renewals++ * goldenRatio) % 1;
    const renewMs = askedMs + this.#lifeMs(value) * (renewFrom + (renewTo - renewFrom) * place);
    const entry = this.#entries.get(key) ?? { value, askedMs, renewMs };
    // The same answer stays the same object.
    if (JSON.stringify(entry.value) !== JSON.stringify(value)) entry.value = value;
    entry.askedMs = askedMs;
    entry.renewMs = renewMs;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#limits.reviewsMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  #isFresh(entry: Entry<V>): boolean {
    return this.#age(entry) < this.#lifeMs(entry.value);
  }

  #age(entry: Entry<V>): number {
    return this.#clock.monotonicMs() - entry.askedMs;
  }

  #lifeMs(value: V): number {
    return this.#isYes(value) ? this.#limits.allowedMs : this.#limits.deniedMs;
  }
}
