/** The dependencies of a role on its machine. A test or a simulation passes its own. */
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
  /** Delays a commit until all requests of the event loop's turn have begun. Absent: commits do not wait for them. */
  readonly requests?: TurnRest;
  /** Absent: an own supervisor on `clock`, which throws a bug to the embedding program. */
  readonly supervisor?: Supervisor;
}

/** A host with the clock of its supervisor. */
export type SupervisedHost = Host & { readonly supervisor: Supervisor };
