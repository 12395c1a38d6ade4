/**
 * Reads that must not be older than something: a named resourceVersion, or this very moment.
 *
 *   latest   ask the upstream for its newest resourceVersion (a list of one object), then atLeast.
 *   atLeast  have it, or wait for the stream, or list the resource once and take the difference.
 *
 * A stream alone cannot prove that no event is in flight (a quiet resource gets one bookmark a minute); a
 * list can. Holds: a list that began before a read does not prove anything for it, so for any number of
 * readers at most one list is under way and one is next. Lists of one resource start `verifyEveryMs` apart.
 */
import { assert } from "#base/assert.ts";
import { failure } from "#api/status.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import { unconfirmedError } from "./shrink-guard.ts";
import type { RelayLimits } from "../limits.ts";
import type { Mirror } from "./mirror.ts";
import type { Upstream } from "./upstream.ts";

export class Freshness {
  readonly #clock: Clock;
  readonly #mirror: Mirror;
  readonly #limits: RelayLimits;
  readonly #signal: AbortSignal;
  readonly #newest: Shared<number>;
  readonly #verified: Shared<void>;
  #verifiedMs = Number.NEGATIVE_INFINITY;

  constructor(
    deps: { clock: Clock; upstream: Upstream; signal: AbortSignal },
    limits: RelayLimits,
  ) {
    const { clock, upstream, signal } = deps;
    this.#clock = clock;
    this.#mirror = upstream.mirror;
    this.#limits = limits;
    this.#signal = signal;
    this.#newest = new Shared(() => this.#askNewest(upstream));
    this.#verified = new Shared(() => this.#verify(upstream));
  }

  /** Waits until the mirror has the upstream's newest revision. Rejects with the error of the transport or the upstream. */
  async latest(): Promise<void> {
    await this.atLeast(await this.#newest.get());
  }

  /** An upstream without an answer in time counts as unreachable: waiting reads get the known state, and the next read asks anew. */
  async #askNewest(upstream: Upstream): Promise<number> {
    const late = new AbortController();
    const timer = this.#clock.after("relay.fresh", this.#limits.newestWaitMs, () => late.abort());
    try {
      return await upstream.newestRevision(AbortSignal.any([this.#signal, late.signal]));
    } finally {
      timer.cancel();
    }
  }

  /** Rejects with 504 ResourceVersionTooLarge when the upstream itself has not reached `revision`. */
  async atLeast(revision: number): Promise<void> {
    if (this.#mirror.proven >= revision) return;
    if (await this.#reached(revision, this.#limits.streamWaitMs)) return;
    await Promise.race([this.#verified.get(), this.#reached(revision, this.#limits.freshWaitMs)]);
    if (this.#mirror.proven < revision) throw this.#tooLarge(revision);
  }

  #reached(revision: number, waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const forget = this.#mirror.whenReached(revision, () => {
        timer.cancel();
        resolve(true);
      });
      const timer = this.#clock.after("relay.fresh", waitMs, () => {
        forget();
        resolve(this.#mirror.proven >= revision);
      });
    });
  }

  async #verify(upstream: Upstream): Promise<void> {
    const waitMs = this.#verifiedMs + this.#limits.verifyEveryMs - this.#clock.monotonicMs();
    if (waitMs > 0) await sleep(this.#clock, "relay.fresh", waitMs, this.#signal);
    this.#verifiedMs = this.#clock.monotonicMs();
    const listing = await upstream.list(this.#signal);
    const suspect = listing.revision > this.#mirror.proven ? upstream.judge(listing) : undefined;
    if (suspect !== undefined) throw unconfirmedError(suspect);
    await this.#mirror.verify(listing.objects, listing.revision);
  }

  #tooLarge(revision: number): Error {
    const text = `Timeout: Too large resource version: ${revision}, current: ${this.#mirror.proven}`;
    return failure(504, "Timeout", text, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    });
  }
}

/** Shares one call among all callers that arrived before it started. */
class Shared<T> {
  readonly #call: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(call: () => Promise<T>) {
    this.#call = call;
  }

  get(): Promise<T> {
    // The next call starts in a microtask; all callers before that share it.
    if (this.#running === undefined) return this.#next ?? this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<T> {
    assert(this.#running === undefined, "two calls at once");
    this.#next = undefined;
    const running = this.#call().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
