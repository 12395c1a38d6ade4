/**
 * A range of numbers (addresses, ports) of which each is held by at most one owner.
 *
 * Holds  a number is held while its owner, as the cache shows it, has it; or while an attempt that
 *        reserved it is under way. Deletions are not reported to the pool: it checks whether an entry is
 *        still valid when its number is requested, so the map only ever errs towards "check again".
 * Ends   an attempt ends when it is given back, or when an update or a deletion of its object begins; one
 *        that was never ended counts as over after `attemptMs`: the longest a write can take.
 * Cost   one look-up per wanted number; the map holds at most one entry per number of the range.
 * Random picks come from above `reservedCount` first, so that small numbers stay for those who ask by name.
 */
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";

export interface Owner {
  readonly namespace: string;
  /** "" while the name is still to be generated. */
  readonly name: string;
}

export interface Claim {
  readonly owner: Owner;
  readonly attempt: object;
  /** Looks, takes nothing. */
  readonly dryRun: boolean;
}

interface Entry {
  readonly owner: Owner;
  /** Undefined: found in the cache. */
  readonly attempt: object | undefined;
  readonly sinceMs: number;
}

interface NumberPoolOptions {
  readonly first: number;
  readonly last: number;
  /** How many at the start of the range are picked only when the rest is full. */
  readonly reservedCount: number;
}

/** More than the 34 seconds the server gives a write. */
const attemptMs = 60_000;
/** Random picks before the range is walked. */
const picksMax = 32;

export class NumberPool {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Does the cache show `owner` (any object of its namespace, when it has no name) with `number`? */
  readonly #holds: (owner: Owner, number: number) => boolean;
  readonly #options: NumberPoolOptions;
  readonly #entries = new Map<number, Entry>();

  constructor(
    deps: {
      readonly clock: Clock;
      readonly random: Random;
      readonly holds: (owner: Owner, number: number) => boolean;
    },
    options: NumberPoolOptions,
  ) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#holds = deps.holds;
    this.#options = options;
  }

  contains(number: number): boolean {
    return number >= this.#options.first && number <= this.#options.last;
  }

  /** Records a holder found in the cache; numbers outside of the range are ignored. */
  note(number: number, owner: Owner): void {
    if (!this.contains(number)) return;
    this.#entries.set(number, { owner, attempt: undefined, sinceMs: 0 });
  }

  reserve(number: number, claim: Claim): "reserved" | "taken" {
    if (this.#isTaken(number, claim)) return "taken";
    this.#take(number, claim);
    return "reserved";
  }

  /** Any free number, or undefined when the range is full. */
  next(claim: Claim): number | undefined {
    const { first, last, reservedCount } = this.#options;
    const middle = first + reservedCount;
    const free = this.#pick(middle, last, claim) ?? this.#pick(first, middle - 1, claim);
    if (free !== undefined) this.#take(free, claim);
    return free;
  }

  /** The cache shows `owner` with it: the attempt that reserved it is over. */
  settle(number: number, owner: Owner): void {
    const entry = this.#entries.get(number);
    if (entry?.attempt !== undefined && this.#holds(owner, number)) this.note(number, owner);
  }

  /** Frees `number` if it is still this attempt that holds it. */
  giveBack(number: number, attempt: object): void {
    if (this.#entries.get(number)?.attempt === attempt) this.#entries.delete(number);
  }

  #pick(first: number, last: number, claim: Claim): number | undefined {
    const count = last - first + 1;
    if (count <= 0) return undefined;
    for (let i = 0; i < picksMax; i++) {
      const number = first + this.#random.below(count);
      if (!this.#isTaken(number, claim)) return number;
    }
    for (let number = first; number <= last; number++) {
      if (!this.#isTaken(number, claim)) return number;
    }
    return undefined;
  }

  #take(number: number, { owner, attempt, dryRun }: Claim): void {
    if (!dryRun) this.#entries.set(number, { owner, attempt, sinceMs: this.#clock.monotonicMs() });
  }

  #isTaken(number: number, claim: Claim): boolean {
    const entry = this.#entries.get(number);
    if (entry === undefined) return false;
    if (this.#holds(entry.owner, number)) return true;
    const age = this.#clock.monotonicMs() - entry.sinceMs;
    if (entry.attempt === undefined || age > attemptMs) {
      this.#entries.delete(number);
      return false;
    }
    return !isSameWrite(entry, claim);
  }
}

/** The same attempt, or another attempt at the same object: only one of the two can succeed. */
function isSameWrite(entry: Entry, claim: Claim): boolean {
  if (entry.attempt === claim.attempt) return true;
  const { namespace, name } = claim.owner;
  return name !== "" && entry.owner.namespace === namespace && entry.owner.name === name;
}
