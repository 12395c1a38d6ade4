/**
 * What a replica does by itself: it reads the log as it grows, asks the holder whether it is there, and takes the log
 * over when it is not.
 *
 *   follow ─▶ holder known ─▶ asked each `askMs` ─▶ silent for `silentMs`, or its connection broke twice ─▶ take over
 *                                   └─ never heard: silent for `strangerMs`, unless nobody listens at its address
 *
 * Safe whatever is decided here: a takeover counts only if nobody else took the log over first, and nothing that
 * a deposed holder does counts. Time decides only how soon writes go on.
 */
import type { Clock, Timer, TimerName } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { FellBehindError, FencedError, type LogHolder } from "#store/engines/engine.ts";
import type { Replica } from "#store/replica.ts";
import type { HolderLink } from "./holder-link.ts";
import type { ReplicaCalls } from "./replica-methods.ts";
import { etcdError } from "./rpc-error.ts";

interface ReplicaTimes {
  /** The log is read so often, beside what it sends by itself. */
  readonly pollMs: number;
  readonly askMs: number;
  /** A holder that says nothing for so long is deposed. */
  readonly silentMs: number;
  /** The same of a holder that this one never heard: it may be up, and refuse the connection for its certificate. */
  readonly strangerMs: number;
  /** A call waits so long for a holder. */
  readonly patienceMs: number;
}

export const recommendedReplicaTimes = {
  pollMs: 100,
  askMs: 200,
  silentMs: 1000,
  strangerMs: 5000,
  // etcd's own: its request timeout is 5 s and an election.
  patienceMs: 5000,
} as const satisfies ReplicaTimes;

interface RoleDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly replica: Replica;
  /** Begins a connection to the replica of that name; `gone` is called once when it is over. */
  readonly connect: (name: string, gone: () => void) => HolderLink;
}

export class ReplicaRole implements ReplicaCalls {
  /** Resolves, never rejects, when this process must begin anew. */
  readonly failed: Promise<Error>;
  readonly #deps: RoleDeps;
  readonly #name: string;
  readonly #times: ReplicaTimes;
  readonly #fail: (error: Error) => void;
  readonly #timers = new Set<Timer>();
  readonly #waiting = new Set<() => void>();
  #link: HolderLink | undefined;
  /** Of this holder the connection broke before. */
  #broken = "";
  #isTaking = false;
  #isSilent = false;
  /** When the holder was last asked, or would have been. */
  #askedMs = 0;
  /** When it was last heard, or first met. */
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

  /** The name of the process that holds the log, as far as this one knows. */
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
        // It was refused before anything was done.
        if ((error as Error).message !== noLeader) throw error;
      }
      if (this.#stopped || clock.monotonicMs() >= untilMs) throw etcdError("noLeader");
      await this.#change();
    }
  }

  /** The holder gives the log away, to this one. */
  async take(): Promise<void> {
    if (this.isOwner) return;
    await this.#deps.replica.catchUp();
    await this.#takeOver("its holder gives it away");
    if (!this.isOwner) throw etcdError("leaderChanged");
  }

  /** Another replica has the log: this process must begin anew. */
  retire(): void {
    this.#fail(new FencedError("the log was given to another replica"));
  }

  /** Resolves when another holder may be known, or soon. */
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

  /** Connects to the holder that the log names; one that nobody holds, or this process's former self, is taken. */
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

  /** Once may be a hiccup of the network; a connection that breaks again, or cannot be made, is the process's end. */
  #gone(name: string): void {
    const link = this.#link;
    if (link?.url !== name || this.#stopped || this.isOwner) return;
    this.#hear(link);
    if (link.isRefused) return void this.#takeOver("nobody listens at its address");
    // One that was never heard may refuse this process for its certificate; `#follow` connects again.
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
    // This process was paused itself: the holder's silence of that time says nothing.
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

  /** Resolves once it is known whether that worked; never rejects. */
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
        // Who holds it now is in the log.
        void this.#follow();
      });
  }

  /** Runs it again and again, each time after the one before has ended. */
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
