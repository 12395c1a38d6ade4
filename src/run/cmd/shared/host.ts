/** What a role takes from the machine it runs on; a test or a simulation passes its own. */
import type { Clock } from "#platform/clock.ts";
import type { Disk } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Supervisor } from "#platform/supervisor.ts";
import type { TurnRest } from "#platform/turn-rest.ts";

export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  readonly log: Log;
  /** Of the requests that this process serves. */
  readonly requests?: TurnRest;
  /** Absent: one of its own, on `clock`; a bug is then thrown for the embedding program to see. */
  readonly supervisor?: Supervisor;
}

/** A host whose clock is its supervisor's. */
export type SupervisedHost = Host & { readonly supervisor: Supervisor };
