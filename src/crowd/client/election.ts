/**
 * Leader election over a Lease: at most one holder acts at a time, as long as clocks run at the same speed.
 *
 *   follower ──(lease free or not renewed for its duration)──► leader ──(renewal fails for
 *      ▲                                                          │       renewDeadline, or taken)
 *      └──────────────────────────────────────────────────────────┘
 *
 * Holds  a follower measures a holder's silence on its own monotonic clock from the moment it saw the
 *        lease change, so wall clocks need not agree.
 * Holds  renewDeadline < leaseDuration: a leader stops before another may start.
 * Holds  `isHeld` reads the clock each time, so a process that was paused knows at once that its lease
 *        has expired, before any of its timers fires (`fence.ts` asks before each write).
 * After  client-go tools/leaderelection; differs in that a leader that lost its lease becomes a follower again
 *        instead of ending the process.
 */
import type { Lease, LeaseSpec } from "#api/gen/types.ts";
import { formatMicroTime } from "#api/values/time.ts";
import { assert } from "#base/assert.ts";
import { sleep } from "#platform/clock.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Client } from "./client.ts";
import { isConflict, isNotFound } from "./api-errors.ts";

export const leaseResource = {
  group: "coordination.k8s.io",
  version: "v1",
  resource: "leases",
} as const;

interface ElectionDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

interface ElectionOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique per candidate: host name plus a random part. */
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** Upstream's times for scheduler and controller manager. */
export const electionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
} as const;

/** The current lease, from the leader's point of view. */
export interface LeaderTerm {
  /** False as soon as another candidate may have taken the lease. */
  isHeld(): boolean;
}

/**
 * Takes part in the election until `signal` aborts. While leading it runs `lead`, whose signal aborts
 * when the lease is lost; it waits for the end of `lead` before it follows again. If `lead` returns by itself, the
 * lease is released and the election continues. On abort the lease is released, so that a successor can start quickly.
 */
export async function runElected(
  deps: ElectionDeps,
  options: ElectionOptions,
  lead: (signal: AbortSignal, term: LeaderTerm) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  assert(options.renewDeadlineMs < options.leaseDurationMs, "a leader must stop in time");
  const candidate = new Candidate(deps, options);
  while (!signal.aborted) {
    if (await candidate.tryHold()) await candidate.lead(lead, signal);
    else await candidate.pause(signal);
  }
}

class Candidate implements LeaderTerm {
  readonly #deps: ElectionDeps;
  readonly #options: ElectionOptions;
  #seen: Lease | undefined;
  /** Monotonic time when `#seen` last changed. */
  #seenMs = 0;
  /** Monotonic time before which no other candidate takes the lease. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ElectionDeps, options: ElectionOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    // Adds up to 20 %, so that followers do not ask simultaneously.
    const jitterMs = random.below(Math.ceil(this.#options.retryPeriodMs / 5));
    return sleep(clock, "client.election", this.#options.retryPeriodMs + jitterMs, signal);
  }

  isHeld(): boolean {
    return this.#deps.clock.monotonicMs() < this.#heldUntilMs;
  }

  async lead(
    run: (signal: AbortSignal, term: LeaderTerm) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#deps;
    log.info("became leader", { lease: this.#options.name, identity: this.#options.identity });
    const term = new AbortController();
    const stop = (): void => term.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const running = run(term.signal, this).finally(stop);
    const lost = await this.#renew(term.signal);
    if (lost) this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    term.abort();
    signal.removeEventListener("abort", stop);
    try {
      await running;
    } finally {
      if (!lost) await this.#release();
    }
    if (lost) log.warn("lost the lease", { lease: this.#options.name });
  }

  /** Renews until the signal aborts (false) or the lease is lost (true). */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps;
    let renewedMs = clock.monotonicMs();
    for (;;) {
      await sleep(clock, "client.election", this.#options.retryPeriodMs, signal);
      if (signal.aborted) return false;
      const held = await this.#tryInTime(signal, renewedMs + this.#options.renewDeadlineMs);
      if (held) renewedMs = clock.monotonicMs();
      else if (this.#heldByOther()) return true;
      if (clock.monotonicMs() - renewedMs >= this.#options.renewDeadlineMs) return true;
    }
  }

  /** A renewal that hangs after the deadline counts as "not held". */
  async #tryInTime(signal: AbortSignal, deadlineMs: number): Promise<boolean> {
    const { clock } = this.#deps;
    const attempt = new AbortController();
    const leftMs = Math.max(0, deadlineMs - clock.monotonicMs());
    const timer = clock.after("client.election", leftMs, () => attempt.abort());
    const given = new Promise<boolean>((resolve) => {
      attempt.signal.addEventListener("abort", () => resolve(false), { once: true });
    });
    const stop = (): void => attempt.abort();
    signal.addEventListener("abort", stop, { once: true });
    const held = await Promise.race([this.tryHold(attempt.signal), given]);
    timer.cancel();
    signal.removeEventListener("abort", stop);
    return held;
  }

  /** Tries once to take or renew the lease. Never throws. */
  async tryHold(signal?: AbortSignal): Promise<boolean> {
    try {
      return await this.#hold(signal === undefined ? {} : { signal });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // The loser of a race gets a conflict, which is normal.
      const level = isConflict(error) ? "debug" : "warn";
      this.#deps.log[level]("lease was not taken", { lease: this.#options.name, error: message });
      return false;
    }
  }

  async #hold(call: { signal?: AbortSignal }): Promise<boolean> {
    const { client } = this.#deps;
    const { namespace, name } = this.#options;
    const askedMs = this.#deps.clock.monotonicMs();
    let lease: Lease;
    try {
      lease = await client.get<Lease>(leaseResource, namespace, name, call);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const metadata = { name, namespace };
      const kind = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
      const made = { ...kind, metadata, spec: this.#spec(undefined) };
      this.#observe(await client.create<Lease>(leaseResource, namespace, made, call));
      this.#extend(askedMs);
      return true;
    }
    this.#observe(lease);
    if (!this.#mayTake(lease.spec)) return false;
    const next = { ...lease, spec: { ...lease.spec, ...this.#spec(lease.spec) } };
    this.#observe(await client.update<Lease>(leaseResource, namespace, next, call));
    this.#extend(askedMs);
    return true;
  }

  /** Others count from the moment they see the renewal, which is later than the request. */
  #extend(askedMs: number): void {
    this.#heldUntilMs = askedMs + this.#options.leaseDurationMs;
  }

  #observe(lease: Lease): void {
    const version = lease.metadata?.resourceVersion;
    if (this.#seen?.metadata?.resourceVersion === version) return;
    this.#seen = lease;
    this.#seenMs = this.#deps.clock.monotonicMs();
  }

  #mayTake(spec: LeaseSpec | undefined): boolean {
    const holder = spec?.holderIdentity ?? "";
    if (holder === "" || holder === this.#options.identity) return true;
    const durationMs = (spec?.leaseDurationSeconds ?? 0) * 1_000;
    return this.#deps.clock.monotonicMs() - this.#seenMs > durationMs;
  }

  #heldByOther(): boolean {
    const holder = this.#seen?.spec?.holderIdentity ?? "";
    return holder !== "" && holder !== this.#options.identity;
  }

  #spec(old: LeaseSpec | undefined): LeaseSpec {
    const now = formatMicroTime(this.#deps.clock.nowMs());
    const { identity, leaseDurationMs } = this.#options;
    const same = old?.holderIdentity === identity;
    const transitions = old?.leaseTransitions ?? 0;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
      acquireTime: same ? (old.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: old === undefined || same ? transitions : transitions + 1,
    };
  }

  /** Releases the lease, so that a successor need not wait. Best effort. */
  async #release(): Promise<void> {
    const lease = this.#seen;
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    if (lease === undefined || this.#heldByOther()) return;
    const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    try {
      const next = { ...lease, spec };
      this.#observe(await this.#deps.client.update(leaseResource, this.#options.namespace, next));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.debug("lease was not released", { error: message });
    }
  }
}
