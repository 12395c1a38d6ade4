/**
 * Moves the log on purpose from one running replica to another:
 *
 *   MoveLeader at the holder ──────────────────┐
 *   a replica that prefers to hold ─▶ Yield ───┴▶ the holder settles its writes ─▶ Take at the other one, which reads
 *     the log up to its end and takes it over ─▶ the former holder restarts as a follower
 *
 * Holds  no acknowledged write is lost, as at every takeover: writes that arrive in between are refused or uncertain.
 *        A holder that prefers to hold yields to no replica, so two such replicas do not take it from each other.
 * Bounds one change at a time; a replica asks again after `preferMs` at the earliest.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import type { Members } from "./cluster.ts";
import { HolderLink, takePath, yieldPath } from "./holder-link.ts";
import { etcdError } from "./rpc-error.ts";

interface HandoverDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly role: {
    readonly isOwner: boolean;
    /** The name of the replica that holds the log. */
    readonly holder: string;
    /** Ends this process's time as the holder, because another one has taken the log over. */
    retire(): void;
  };
  readonly replica: {
    settled(): Promise<void>;
    /** Why this replica should not become the holder now; undefined: it may. */
    problem(): string | undefined;
  };
  readonly members: Pick<Members, "list">;
  readonly connect: (url: string, gone: () => void) => HolderLink;
}

interface HandoverOptions {
  readonly name: string;
  /** Whether this replica takes the log from a holder without this preference, after following for `preferMs`. */
  readonly prefers: boolean;
  readonly preferMs: number;
}

const empty = Buffer.alloc(0);
/** Delay after which the answer to the caller has been sent. */
const retireMs = 20;
const looksPerWait = 10;

export class Handover {
  readonly #deps: HandoverDeps;
  readonly #options: HandoverOptions;
  #isUnderWay = false;
  #timer: Timer | undefined;
  /** The holder that this replica follows, and since when. Undefined: it is the holder, or could not become it. */
  #followed: { readonly holder: string; readonly sinceMs: number } | undefined;

  constructor(deps: HandoverDeps, options: HandoverOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  start(): void {
    if (this.#options.prefers) this.#lookLater();
  }

  stop(): void {
    this.#timer?.cancel();
    // Cleared, so that a running check does not schedule another one.
    this.#timer = undefined;
  }

  /** etcd's MoveLeader with its errors. */
  async moveLeader(targetId: bigint): Promise<void> {
    if (!this.#deps.role.isOwner) throw etcdError("notLeader");
    const members = await this.#deps.members.list();
    const target = members.find(({ id }) => id === targetId);
    if (target === undefined) throw etcdError("badLeaderTransferee");
    await this.#giveTo(target.name);
  }

  /** Gives the log to another replica that prefers to hold it. The replica must be a registered member. */
  async yieldTo(url: string): Promise<void> {
    if (this.#options.prefers) {
      throw new GrpcError(Code.failedPrecondition, "this replica prefers to hold the log, too");
    }
    const members = await this.#deps.members.list();
    if (!members.some(({ name }) => name === url)) throw etcdError("badLeaderTransferee");
    await this.#giveTo(url);
  }

  async #giveTo(url: string): Promise<void> {
    const { clock, log, replica, role } = this.#deps;
    if (url === this.#options.name) return;
    if (this.#isUnderWay) throw etcdError("leaderChanged");
    this.#isUnderWay = true;
    try {
      log.info("the log is given to another replica", { to: url });
      await replica.settled();
      await this.#call(url, takePath, empty);
      clock.after("etcd.replica-wait", retireMs, () => role.retire());
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #call(url: string, path: string, request: Buffer): Promise<void> {
    const link = this.#deps.connect(url, () => undefined);
    try {
      await link.call(path, request);
    } finally {
      link.close();
    }
  }

  #lookLater(): void {
    const { clock } = this.#deps;
    const everyMs = this.#options.preferMs / looksPerWait;
    this.#timer = clock.after("etcd.replica-prefer", everyMs, () => {
      void this.#look().finally(() => {
        if (this.#timer !== undefined) this.#lookLater();
      });
    });
  }

  async #look(): Promise<void> {
    const { clock, log, replica, role } = this.#deps;
    const { holder } = role;
    const nowMs = clock.monotonicMs();
    if (role.isOwner || replica.problem() !== undefined) return void (this.#followed = undefined);
    if (this.#followed?.holder !== holder) this.#followed = { holder, sinceMs: nowMs };
    if (holder === "" || nowMs - this.#followed.sinceMs < this.#options.preferMs) return;
    this.#followed = undefined;
    try {
      await this.#call(holder, yieldPath, Buffer.from(this.#options.name));
    } catch (error) {
      log.info("the holder of the log keeps it", { holder, why: String(error) });
    }
  }
}
