/**
 * Work that needs a sink's Lease once, and refuses while an instance holds it. An instance that died is told from one
 * that runs as the election does it: its Lease does not change for the Lease's duration.
 */
import { hostname } from "node:os";
import type { Lease } from "#api/gen/types.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import { leaseResource, runElected } from "#client/election.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { LeaseFlags } from "../shared/role-flags.ts";
import { UsageError } from "../shared/usage-error.ts";

interface LeaseDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** Runs the work once. Rejects with its error, and with UsageError when an instance holds the Lease or takes it. */
export async function withLease(
  deps: LeaseDeps,
  flags: LeaseFlags,
  work: (signal: AbortSignal) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  await new LeaseHolder(deps, flags).run(work, stopping);
}

class LeaseHolder {
  readonly #deps: LeaseDeps;
  readonly #flags: LeaseFlags;
  readonly #identity: string;
  readonly #ended = new AbortController();
  #hasLed = false;
  #failure: unknown;

  constructor(deps: LeaseDeps, flags: LeaseFlags) {
    this.#deps = deps;
    this.#flags = flags;
    this.#identity = `${hostname()}_replay_${deps.random.uuid()}`;
  }

  async run(work: (signal: AbortSignal) => Promise<void>, stopping: AbortSignal): Promise<void> {
    const until = AbortSignal.any([stopping, this.#ended.signal]);
    const options = {
      namespace: this.#flags.leaderElectResourceNamespace,
      name: this.#flags.leaderElectResourceName,
      identity: this.#identity,
      leaseDurationMs: this.#flags.leaderElectLeaseDuration,
      renewDeadlineMs: this.#flags.leaderElectRenewDeadline,
      retryPeriodMs: this.#flags.leaderElectRetryPeriod,
    };
    const lead = (term: AbortSignal): Promise<void> => this.#lead(work, term, stopping);
    await Promise.all([runElected(this.#deps, options, lead, until), this.#refuseWhileHeld(until)]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #lead(
    work: (signal: AbortSignal) => Promise<void>,
    term: AbortSignal,
    stopping: AbortSignal,
  ): Promise<void> {
    this.#hasLed = true;
    try {
      await work(term);
      term.throwIfAborted();
    } catch (error) {
      const lost = new UsageError(`lost Lease ${this.#lease}: the replay is incomplete`);
      if (!stopping.aborted) this.#failure = term.aborted ? lost : error;
    } finally {
      this.#ended.abort();
    }
  }

  get #lease(): string {
    const { leaderElectResourceNamespace: namespace, leaderElectResourceName: name } = this.#flags;
    return `${namespace}/${name}`;
  }

  /** Ends the election when the Lease cannot be taken. */
  async #refuseWhileHeld(signal: AbortSignal): Promise<void> {
    try {
      const why = await this.#whyNot(signal);
      if (why === undefined || this.#hasLed) return;
      this.#failure = new UsageError(why);
    } catch (error) {
      if (this.#hasLed || signal.aborted) return;
      this.#failure = error;
    }
    this.#ended.abort();
  }

  /** Looks until the Lease is held here (undefined), or another holder is seen to renew it. */
  async #whyNot(signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#deps;
    const { leaderElectRetryPeriod: periodMs, leaderElectLeaseDuration: durationMs } = this.#flags;
    const startedMs = clock.monotonicMs();
    let seen: string | undefined;
    while (!signal.aborted && !this.#hasLed) {
      const lease = await this.#read(signal);
      const { holderIdentity: holder = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
      const version = lease?.metadata?.resourceVersion ?? "";
      const isOther = holder !== "" && holder !== this.#identity;
      if (isOther && seen !== undefined && version !== seen) {
        return `${holder} holds Lease ${this.#lease} and runs: stop it first`;
      }
      seen = version;
      const mostMs = Math.max(durationMs, leaseDurationSeconds * 1000) + 3 * periodMs;
      if (clock.monotonicMs() - startedMs > mostMs) return `Lease ${this.#lease} was not obtained`;
      await sleep(clock, "client.election", periodMs, signal);
    }
    return undefined;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { leaderElectResourceNamespace: namespace, leaderElectResourceName: name } = this.#flags;
    try {
      return await this.#deps.client.get<Lease>(leaseResource, namespace, name, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
