/**
 * The automatic behaviour of a replica: it reads the log as it grows, checks whether the holder responds, and takes the
 * log over when it does not.
 *
 *   follow ─▶ holder known ─▶ asked each `askMs` ─▶ silent for `silentMs`, or its connection broke twice ─▶ take over
 *                                   └─ never heard: silent for `strangerMs`, unless no process listens at its address
 *
 * Every decision here is safe: a takeover counts only if no other replica took the log over first, and no action of
 * a deposed holder counts. Time decides only how soon writes continue.
 */
import type { Clock, Timer, TimerName } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { FellBehindError, FencedError, type LogHolder } from "#store/engines/engine.ts";
import type { Replica } from "#store/replica.ts";
import type { HolderLink } from "./holder-link.ts";
import type { ReplicaCalls } from "./replica-methods.ts";
import { etcdError } from "./rpc-error.ts";

interface ReplicaTimes {
  /** Interval at which the log is read, in addition to what the watch delivers. */
  readonly pollMs: number;
  readonly askMs: number;
  /** A holder that has been silent for this long is deposed. */
  readonly silentMs: number;
  /** The same for a holder that never answered: it may be running and refuse the connection because of its certificate. */
  readonly strangerMs: number;
  /** Maximum time that a call waits for a holder. */
  readonly patienceMs: number;
}

export const recommendedReplicaTimes = {
  pollMs: 100,
  askMs: 200,
  silentMs: 1000,
  strangerMs: 5000,
  // Like etcd: the request timeout of 5 s includes an election.
  patienceMs: 5000,
} as const satisfies ReplicaTimes;

interface RoleDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly replica: Replica;
  /** Starts a connection to the named replica; `gone` is called once when it has ended. */
  readonly connect: (name: string, gone: () => void) => HolderLink;
}

export class ReplicaRole implements ReplicaCalls {
  /** Resolves, never rejects, when the process must be restarted. */
  readonly failed: Promise<Error>;
  readonly #deps: RoleDeps;
  readonly #name: string;
  readonly #times: ReplicaTimes;
  readonly #fail: (error: Error) => void;
  readonly #timers = new Set<Timer>();
  readonly #waiting = new Set<() => void>();
  #link: HolderLink | undefined;
  /** Name of a holder whose connection broke before. */
  #broken = "";
  #isTaking = false;
  #isSilent = false;
  /** Time when the holder was last asked, or should have been. */
  #askedMs = 0;
  /** Time of the holder's last answer, or of the first contact. */
  #heardMs = 0;
  #wasHeard = false;
  #stopped = false;

  constructor(deps: RoleDeps, options: ReplicaTimes & { readonly name: string }) {
    this.#deps = deps;
    this.#name = options.name;
    this.#times = options;
    const failed = Promise.withResolvers<Error>();
    this.failed = failed.promise;
    this.#fail = failed.resolve;
  }

  get isOwner(): boolean {
    return this.#deps.replica.isOwner;
  }

  /** Name of the process that holds the log, as far as this one knows. */
  get holder(): string {
    return this.isOwner ? this.#name : this.#deps.replica.holder.name;
  }

  start(): void {
    this.#meet();
    this.#deps.replica.listen((error) => this.#followFailed(error as Error));
    this.#again("etcd.replica-follow", this.#times.pollMs, () => this.#follow());
    this.#again("etcd.replica-ask", this.#times.askMs, () => this.#ask());
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#link?.close();
    this.#tellWaiting();
  }

  async forward(path: string, request: Buffer): Promise<Buffer | "own"> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonicMs() + this.#times.patienceMs;
    for (;;) {
      if (this.isOwner) return "own";
      const link = this.#link;
      try {
        if (link !== undefined) return await link.call(path, request);
      } catch (error) {
        // The call was refused before it had any effect.
        if ((error as Error).message !== noLeader) throw error;
      }
      if (this.#stopped || clock.monotonicMs() >= untilMs) throw etcdError("noLeader");
      await this.#change();
    }
  }

  /** Takes the log over from a holder that gives it to this replica. */
  async take(): Promise<void> {
    if (this.isOwner) return;
    await this.#deps.replica.catchUp();
    await this.#takeOver("its holder gives it away");
    if (!this.isOwner) throw etcdError("leaderChanged");
  }

  /** Another replica holds the log, so this process must be restarted. */
  retire(): void {
    this.#fail(new FencedError("the log was given to another replica"));
  }

  /** Resolves when another holder is or may soon be known. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#deps.clock.after("etcd.replica-wait", this.#times.pollMs, () => tell());
      const tell = (): void => {
        timer.cancel();
        this.#waiting.delete(tell);
        resolve();
      };
      this.#waiting.add(tell);
    });
  }

  #tellWaiting(): void {
    for (const tell of this.#waiting) tell();
  }

  async #follow(): Promise<void> {
    if (this.isOwner || this.#stopped) return;
    try {
      await this.#deps.replica.catchUp();
      this.#isSilent = false;
    } catch (error) {
      this.#followFailed(error as Error);
    }
    this.#meet();
  }

  #followFailed(error: Error): void {
    if (error instanceof FellBehindError || error.name === "CorruptionError") this.#fail(error);
    if (!this.#isSilent) this.#deps.log.warn("the log cannot be read", { error: String(error) });
    this.#isSilent = true;
  }

  /** Connects to the holder named by the log. Takes the log over if it has no holder, or if the holder is this process's previous run. */
  #meet(): void {
    const { replica, connect, log } = this.#deps;
    if (replica.isOwner || this.#stopped) return;
    const { epoch, name } = replica.holder;
    if (epoch === 0 || name === "" || name === this.#name)
      return void this.#takeOver("nobody holds it");
    if (this.#link?.url === name && !this.#link.isGone) return;
    if (this.#link?.url !== name) {
      log.info("another process holds the log", { holder: name, epoch });
      this.#heardMs = this.#deps.clock.monotonicMs();
      this.#wasHeard = false;
    }
    this.#link?.close();
    this.#link = connect(name, () => this.#gone(name));
    this.#tellWaiting();
  }

  /** A single break may be a network problem; a second one, or a failure to connect, means that the process has ended. */
  #gone(name: string): void {
    const link = this.#link;
    if (link?.url !== name || this.#stopped || this.isOwner) return;
    this.#hear(link);
    if (link.isRefused) return void this.#takeOver("nobody listens at its address");
    // A holder that never answered may refuse this process's certificate; `#follow` connects again.
    if (!this.#wasHeard) return;
    if (this.#broken === name) return void this.#takeOver("its connection broke");
    this.#broken = name;
    this.#meet();
  }

  #hear({ heardMs }: HolderLink): void {
    if (heardMs === undefined) return;
    this.#wasHeard = true;
    this.#heardMs = Math.max(this.#heardMs, heardMs);
  }

  #ask(): Promise<void> {
    const link = this.#link;
    if (this.isOwner || link === undefined) return Promise.resolve();
    const nowMs = this.#deps.clock.monotonicMs();
    const { askMs, silentMs, strangerMs } = this.#times;
    this.#hear(link);
    // This process itself was paused, so the holder's silence during that time means nothing.
    if (nowMs - this.#askedMs > silentMs / 2) this.#heardMs = nowMs;
    this.#askedMs = nowMs;
    const quietMs = nowMs - this.#heardMs;
    if (this.#wasHeard && quietMs < askMs * 2) this.#broken = "";
    if (quietMs > (this.#wasHeard ? silentMs : strangerMs))
      void this.#takeOver(this.#whySilent(link));
    else link.ask();
    return Promise.resolve();
  }

  #whySilent({ url }: HolderLink): string {
    if (this.#wasHeard) return "it says nothing";
    const hint = "check its --replica-url, the certificates of both, and its --allow-cn";
    this.#deps.log.warn("the holder of the log could never be reached", { holder: url, hint });
    return "it could never be reached";
  }

  /** Resolves once the outcome is known; never rejects. */
  async #takeOver(why: string): Promise<void> {
    const { replica, log } = this.#deps;
    if (this.#isTaking || this.#stopped) return;
    this.#isTaking = true;
    const after: LogHolder = replica.holder;
    log.info("taking the log over", { from: after.name, epoch: after.epoch, why });
    await replica
      .takeOver(after)
      .then((isTaken) => {
        if (isTaken) this.#link?.close();
        else log.info("the log was not taken over", {});
      }, this.#fail)
      .finally(() => {
        this.#isTaking = false;
        this.#tellWaiting();
        // The log names its current holder.
        void this.#follow();
      });
  }

  /** Repeats `run`, each time after the previous run has ended. */
  #again(name: TimerName, everyMs: number, run: () => Promise<void>): void {
    const timer = this.#deps.clock.after(name, everyMs, () => {
      this.#timers.delete(timer);
      void run().finally(() => {
        if (!this.#stopped) this.#again(name, everyMs, run);
      });
    });
    this.#timers.add(timer);
  }
}

const noLeader = etcdError("noLeader").message;
