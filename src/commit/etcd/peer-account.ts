/**
 * What one connection's peer costs: streams, requests that run, messages that are not whole, answers that
 * are not read, frames that carry nothing. Each against its limit (`h2-limits.ts`), and reported to
 * what all connections hold together (`server-load.ts`).
 *
 * A1  What was reported to the load is taken back by `close`, and by the calls that still run then.
 * A2  A call that was put off is run once there is room, or once the connection is closed.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import { ErrorCode } from "#wire/grpc-frames.ts";
import { FrameBudget } from "./frame-budget.ts";
import type { H2Limits } from "./h2-limits.ts";
import { ProtocolError } from "./h2-reader.ts";
import type { Reader, ServerLoad } from "./server-load.ts";

interface Connection {
  /** Bytes that the socket has not taken yet. */
  readonly unsentBytes: number;
  /** Bytes of data that it has. */
  readonly takenBytes: number;
  /** `isRunningFull` may have changed. */
  runningChanged(): void;
  /** Ends it with ENHANCE_YOUR_CALM. */
  endUnread(): void;
}

/** Data sent earns an idle frame for each of these: peers send updates and pings as they read. */
const earningBytes = 4096;

export class PeerAccount implements Reader {
  readonly #clock: Clock;
  readonly #load: ServerLoad;
  readonly #limits: H2Limits;
  readonly #connection: Connection;
  readonly #idleFrames: FrameBudget;
  readonly #resets: FrameBudget;
  /** Open, or over while their call still runs. */
  #streams = 0;
  /** Bytes of requests that wait for their answers. */
  #runningBytes = 0;
  /** Memory of messages that are not whole yet. */
  #roomBytes = 0;
  /** Bytes that wait for windows: of streams that look at their backlog, and of others. */
  #pacedBytes = 0;
  #answerBytes = 0;
  #pacedWaiting = 0;
  /** What was reported as unread. */
  #reported = 0;
  #takenMs = 0;
  readonly #postponed: (() => void)[] = [];
  #serving = false;
  #stallTimer: Timer | undefined;
  #closed = false;

  constructor(
    deps: { readonly clock: Clock; readonly load: ServerLoad; readonly connection: Connection },
    limits: H2Limits,
  ) {
    this.#clock = deps.clock;
    this.#load = deps.load;
    this.#limits = limits;
    this.#connection = deps.connection;
    this.#idleFrames = new FrameBudget(deps.clock, limits.idleFrames);
    this.#resets = new FrameBudget(deps.clock, limits.resets);
    deps.load.open(this);
  }

  // Frames.

  /** So many frames carried nothing forward. Throws ProtocolError when there were too many. */
  idle(count: number): void {
    if (this.#idleFrames.spend(count)) return;
    throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many frames that carry nothing");
  }

  /** A stream was reset soon after it began. Throws ProtocolError when there were too many. */
  spendReset(): void {
    if (this.#resets.spend(1)) return;
    throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many resets");
  }

  /** A request or a message is whole. */
  earn(): void {
    this.#idleFrames.earn(1);
  }

  earnData(bytes: number): void {
    this.#idleFrames.earn(bytes / earningBytes);
  }

  // Streams, and requests that run.

  get hasStream(): boolean {
    const { streamsPerConnectionMax, streamsMax, streamsReserved } = this.#limits;
    if (this.#streams >= streamsPerConnectionMax) return false;
    return this.#streams < streamsReserved || this.#load.streams < streamsMax;
  }

  streamOpened(): void {
    this.#streams++;
    this.#load.streams++;
  }

  /** Nothing holds it any more. */
  streamGone(): void {
    this.#streams--;
    this.#load.streams--;
  }

  run(bytes: number): void {
    this.#runningBytes += bytes;
    this.#load.runningBytes += bytes;
    if (this.isRunningFull) this.#connection.runningChanged();
  }

  rest(bytes: number): void {
    const wasFull = this.isRunningFull;
    this.#runningBytes -= bytes;
    this.#load.runningBytes -= bytes;
    if (wasFull) this.#connection.runningChanged();
  }

  get isRunningFull(): boolean {
    return this.#runningBytes > this.#limits.runningBytesMax;
  }

  /** All connections' requests take as much as they may, and this one's are among them. */
  get isServerBusy(): boolean {
    const { runningTotalBytesMax } = this.#limits;
    return this.#runningBytes > 0 && this.#load.runningBytes > runningTotalBytesMax;
  }

  /** @returns false when the unfinished messages have more room than they may. */
  takeMessageRoom(change: number): boolean {
    this.#roomBytes += change;
    return this.#roomBytes <= this.#limits.messageRoomBytesMax;
  }

  // Answers.

  /** Paced streams with bytes that wait for windows. */
  get pacedWaiting(): number {
    return this.#pacedWaiting;
  }

  get isServerFull(): boolean {
    return this.#load.isUnreadFull;
  }

  /** Answers wait for the peer, as many as may: new calls wait for `postpone`. */
  get isUnreadFull(): boolean {
    return this.#answerBytes + this.#connection.unsentBytes > this.#limits.unreadBytesMax;
  }

  get unreadBytes(): number {
    return this.#answerBytes + this.#pacedBytes + this.#connection.unsentBytes;
  }

  get takenMs(): number {
    return this.#takenMs;
  }

  endUnread(): void {
    this.#connection.endUnread();
  }

  /** So many bytes more, or less, wait for windows; `turned`: a stream began or ceased to wait. */
  waiting(change: number, paced: boolean, turned: boolean): void {
    if (!paced) this.#answerBytes += change;
    else {
      this.#pacedBytes += change;
      if (turned) this.#pacedWaiting += change > 0 ? 1 : -1;
    }
    this.report();
  }

  postpone(call: () => void): void {
    this.#postponed.push(call);
  }

  /** The peer has taken some of what waits for it. */
  taken(): void {
    if (this.#reported > 0) this.#takenMs = this.#clock.monotonicMs();
  }

  /** What waits for the peer has changed. May end the connection. */
  report(): void {
    if (this.#closed) return;
    const unread = this.unreadBytes;
    const change = unread - this.#reported;
    if (change === 0) return;
    if (this.#reported === 0) this.#takenMs = this.#clock.monotonicMs();
    this.#reported = unread;
    this.#load.unread(change);
    if (this.isUnreadFull) this.#armStall();
    else if (this.#postponed.length > 0 && !this.#serving) {
      this.#serving = true;
      setImmediate(() => this.#serve());
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stallTimer?.cancel();
    this.#load.close(this);
    this.#load.unread(-this.#reported);
    // Each finds its stream closed, and gives back what it holds.
    for (const call of this.#postponed.splice(0)) call();
  }

  #serve(): void {
    this.#serving = false;
    while (!this.isUnreadFull) {
      const call = this.#postponed.shift();
      if (call === undefined) return;
      call();
    }
  }

  #armStall(): void {
    if (this.#stallTimer !== undefined || this.#closed) return;
    const { stallMs, stallBytesMin } = this.#limits;
    const before = this.#connection.takenBytes;
    this.#stallTimer = this.#clock.after("etcd.stall", stallMs, () => {
      this.#stallTimer = undefined;
      if (!this.isUnreadFull) return;
      if (this.#connection.takenBytes - before < stallBytesMin) this.endUnread();
      else this.#armStall();
    });
  }
}
