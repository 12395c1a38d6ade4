/**
 * Answers of the upstream about people (who is this token, may they), kept for a short while.
 *
 * Holds  one question is asked once at a time, however many wait for it; a yes counts `allowedMs`, a
 *        no `deniedMs`. While the upstream cannot be asked, a yes it gave earlier counts up to
 *        `graceMs`: an outage must not close every stream. Nothing else is ever assumed.
 * Outage a yes that has run out waits `reviewWaitMs` for its question, not for as long as a transport may
 *        take to give up; for a second after a question failed nobody waits. An answer that comes later
 *        counts from then on.
 * Ahead  a yes that is still being used is asked about again before it runs out, each at another time of
 *        its second half: who polls never waits, and a crowd that came at once is not asked about at once.
 * Bounds `reviewsMax` answers, the one used longest ago goes.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { RelayLimits } from "../limits.ts";

/** A cached answer. It is renewed in place, so that its holders see the renewal. */
interface Entry<V> {
  value: V;
  askedMs: number;
  /** Time from which the first use starts a renewal. */
  renewMs: number;
  /** Earliest time of the next question after a failed one. */
  retryMs: number;
}

/** Share of an answer's lifetime after which it is renewed: between `renewFrom` and `renewTo`. */
const renewFrom = 0.5;
const renewTo = 0.9;
/** Multiples of this number modulo 1 spread evenly over [0, 1), for any count of them. */
const goldenRatio = (Math.sqrt(5) - 1) / 2;
/** Retry interval of each question while the upstream cannot be asked. */
const retryMs = 1000;
/** Status codes by which the upstream refuses the relay's own credential: a verdict, not an outage. */
const ownRefusals: ReadonlySet<number> = new Set([401, 403]);

interface Asking<V> {
  readonly answer: Promise<V>;
  readonly sinceMs: number;
}

export interface ReviewCounts {
  asked: number;
  kept: number;
  /** Number of uses of an expired answer because the upstream could not be asked. */
  graced: number;
}

export class ReviewCache<V> {
  readonly counts: ReviewCounts = { asked: 0, kept: 0, graced: 0 };
  readonly #clock: Clock;
  readonly #limits: RelayLimits;
  readonly #isYes: (value: V) => boolean;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #asking = new Map<string, Asking<V>>();
  #renewals = 0;

  constructor(deps: { clock: Clock }, limits: RelayLimits, isYes: (value: V) => boolean) {
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#isYes = isYes;
  }

  /** Whether `get` would answer from memory, join a question in flight, or renew an answer that was a yes. */
  isKnown(key: string): boolean {
    const known = this.#entries.get(key);
    if (this.#asking.has(key)) return true;
    return known !== undefined && (this.#isYes(known.value) || this.#isFresh(known));
  }

  /** Rejects when the upstream cannot be asked and no earlier answer may be used instead. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known === undefined) return this.#asked(key, ask).answer;
    if (!this.#isFresh(known)) return this.#getAnew(key, known, ask);
    this.counts.kept++;
    this.#renewIfDue(key, known, ask);
    return Promise.resolve(known.value);
  }

  /** Returns a new answer in place of an expired one, or the expired one while the upstream cannot be asked. */
  #getAnew(key: string, known: Entry<V>, ask: () => Promise<V>): Promise<V> {
    if (!this.#mayStandIn(known)) return this.#asked(key, ask).answer;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#asking.has(key) && nowMs < known.retryMs) return this.#standIn(known);
    const { answer, sinceMs } = this.#asked(key, ask);
    const kept = answer.catch((error: unknown) => {
      if (!isOutage(error) || !this.#mayStandIn(known)) throw error;
      return this.#standIn(known);
    });
    return this.#orStandIn(kept, known, sinceMs + this.#limits.reviewWaitMs - nowMs);
  }

  /** Returns the new answer, or the earlier one when the new one takes longer than `waitMs`. */
  #orStandIn(answer: Promise<V>, known: Entry<V>, waitMs: number): Promise<V> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after("relay.review", Math.max(waitMs, 0), () => {
        if (this.#mayStandIn(known)) resolve(this.#standIn(known));
      });
      answer.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #mayStandIn(known: Entry<V>): boolean {
    return this.#isYes(known.value) && this.#age(known) <= this.#limits.graceMs;
  }

  #standIn(known: Entry<V>): Promise<V> {
    this.counts.graced++;
    return Promise.resolve(known.value);
  }

  /** Starts a renewal of a yes when it is due. A no is not renewed: its lifetime is short. */
  #renewIfDue(key: string, entry: Entry<V>, ask: () => Promise<V>): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < entry.renewMs || !this.#isYes(entry.value) || this.#asking.has(key)) return;
    entry.renewMs = nowMs + retryMs;
    // The next use of the answer sees the outcome.
    this.#asked(key, ask).answer.catch(() => undefined);
  }

  /** Returns the question in flight, or starts a new one. */
  #asked(key: string, ask: () => Promise<V>): Asking<V> {
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    const asking = { answer: this.#answer(key, ask), sinceMs: this.#clock.monotonicMs() };
    this.#asking.set(key, asking);
    return asking;
  }

  async #answer(key: string, ask: () => Promise<V>): Promise<V> {
    this.counts.asked++;
    try {
      const value = await ask();
      this.#keep(key, value);
      return value;
    } catch (error) {
      const known = this.#entries.get(key);
      if (known !== undefined && isOutage(error))
        known.retryMs = this.#clock.monotonicMs() + retryMs;
      throw error;
    } finally {
      this.#asking.delete(key);
    }
  }

  /** Returns a check whether `get` would give this same answer now, without waiting for a question. */
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
    const entry = this.#entries.get(key) ?? { value, askedMs, renewMs, retryMs: 0 };
    // An equal answer keeps the same object, so that `recall` recognises it.
    if (JSON.stringify(entry.value) !== JSON.stringify(value)) entry.value = value;
    entry.askedMs = askedMs;
    entry.renewMs = renewMs;
    entry.retryMs = 0;
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

/**
 * Whether the upstream gave no verdict: it is away, overloaded, or starting and does not serve reviews
 * yet (404). A verdict about the relay itself is one.
 */
function isOutage(error: unknown): boolean {
  return !isOwnRefusal(error);
}

/** Whether the error says that the upstream refuses the relay's own credential. */
export function isOwnRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && ownRefusals.has(error.code);
}
