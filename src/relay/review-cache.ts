/**
 * Answers of the upstream about people (who is this token, may they), kept for a short while.
 *
 * Holds  one question is asked once at a time, however many wait for it; a yes counts `allowedMs`, a
 *        no `deniedMs`. While the upstream cannot be asked, a yes it gave earlier counts up to
 *        `graceMs`: an outage must not close every stream. Nothing else is ever assumed.
 * Bounds `reviewsMax` answers, the one used longest ago goes.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { RelayLimits } from "./limits.ts";

/** An answer; renewed in place, so that who holds it sees it renewed. */
interface Entry<V> {
  value: V;
  askedMs: number;
}

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

  constructor(deps: { clock: Clock }, limits: RelayLimits, isYes: (value: V) => boolean) {
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#isYes = isYes;
  }

  /** Rejects when the upstream cannot be asked and there is no answer to stand in. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#age(known) < this.#lifeMs(known.value)) {
      this.counts.kept++;
      return Promise.resolve(known.value);
    }
    const asking = this.#asking.get(key) ?? this.#ask(key, ask);
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(key: string, ask: () => Promise<V>): Promise<V> {
    this.counts.asked++;
    try {
      const value = await ask();
      this.#keep(key, { value, askedMs: this.#clock.monotonicMs() });
      return value;
    } catch (error) {
      return this.#standIn(key, error);
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

  /** Whether the answer given now would be this one again, without a question. */
  recall(key: string): () => boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return () => false;
    const { value } = entry;
    const isThis = (): boolean => entry.value === value && this.#isYes(value);
    return () => isThis() && this.#age(entry) < this.#limits.allowedMs;
  }

  #keep(key: string, { value, askedMs }: Entry<V>): void {
    const known = this.#entries.get(key);
    const entry = known ?? { value, askedMs };
    // The same answer stays the same object.
    if (JSON.stringify(entry.value) !== JSON.stringify(value)) entry.value = value;
    entry.askedMs = askedMs;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#limits.reviewsMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  #age(entry: Entry<V>): number {
    return this.#clock.monotonicMs() - entry.askedMs;
  }

  #lifeMs(value: V): number {
    return this.#isYes(value) ? this.#limits.allowedMs : this.#limits.deniedMs;
  }
}
