/**
 * A role that works while it leads: the election by Lease, and what ends when the lease is lost.
 *
 * Each term begins with informers and queues of its own, so that nothing of an earlier term is acted on.
 * SIGTERM ends the loops first and gives the lease back then: a successor begins at once, and finds
 * nobody else at work.
 */
import { hostname } from "node:os";
import { runElected, type LeaderTerm } from "#client/election.ts";
import type { Client } from "#client/client.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { SupervisedHost } from "./host.ts";
import { UsageError } from "./usage-error.ts";
import type { ElectionFlags, LeaseFlags } from "./role-flags.ts";

/** The work of a role in one term, until `signal` aborts. `term` is undefined without an election. */
export type Work = (signal: AbortSignal, term: LeaderTerm | undefined) => Promise<void>;

export class Election {
  readonly #host: SupervisedHost;
  readonly #flags: ElectionFlags;
  #isLeading = false;

  /** Throws UsageError for times with which two processes could lead at once. */
  constructor(host: SupervisedHost, flags: ElectionFlags, metrics: MetricSet) {
    if (flags.leaderElect) checkElectionTimes(flags);
    this.#host = host;
    this.#flags = flags;
    metrics.gaugeOf(
      "leader_election_master_status",
      "[ALPHA] 1 while this process holds the lease, 0 while it follows.",
      ["name"],
      () => [[[flags.leaderElectResourceName], this.#isLeading ? 1 : 0]],
    );
  }

  /** Resolves once `signal` has aborted and the work has ended. */
  async run(client: Client, work: Work, signal: AbortSignal): Promise<void> {
    if (!this.#flags.leaderElect) return this.#lead(work, signal, undefined);
    const { random } = this.#host;
    const options = {
      namespace: this.#flags.leaderElectResourceNamespace,
      name: this.#flags.leaderElectResourceName,
      identity: `${hostname()}_${random.uuid()}`,
      leaseDurationMs: this.#flags.leaderElectLeaseDuration,
      renewDeadlineMs: this.#flags.leaderElectRenewDeadline,
      retryPeriodMs: this.#flags.leaderElectRetryPeriod,
    };
    const lead = (ended: AbortSignal, term: LeaderTerm) => this.#lead(work, ended, term);
    await runElected({ ...this.#host, client }, options, lead, signal);
  }

  async #lead(work: Work, signal: AbortSignal, term: LeaderTerm | undefined): Promise<void> {
    this.#isLeading = true;
    try {
      await work(signal, term);
    } finally {
      this.#isLeading = false;
    }
  }
}

/** Checks client-go's rule: a failed renewal must have time for another attempt before the lease ends. */
export function checkElectionTimes(flags: LeaseFlags): void {
  const { leaderElectLeaseDuration: lease, leaderElectRenewDeadline: renew } = flags;
  if (lease <= renew) {
    throw new UsageError(
      "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline",
    );
  }
  if (renew <= 1.2 * flags.leaderElectRetryPeriod) {
    throw new UsageError(
      "--leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period",
    );
  }
}
