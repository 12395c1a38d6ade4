/**
 * The costs of one connection's peer: streams, running requests, incomplete messages, unread answers,
 * frames that carry nothing. Each is checked against its limit (`h2-limits.ts`), and reported to
 * the sums over all connections (`server-load.ts`).
 *
 * A1  Everything reported to the load is taken back by `close`, and by the calls that still run then.
 * A2  A deferred call is run once there is room, or once the connection is closed.
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
  /** Bytes of data that the socket has taken. */
  readonly takenBytes: number;
  /** Called when `isRunningFull` may have changed. */
  runningChanged(): void;
  /** Ends the connection with ENHANCE_YOUR_CALM. */
  endUnread(): void;
}

/** Bytes of sent data that earn one idle frame, because peers send window updates and pings as they read. */
const earningBytes = 4096;

export class PeerAccount implements Reader {
  readonly #clock: Clock;
  readonly #load: ServerLoad;
  readonly #limits: H2Limits;
  readonly #connection: Connection;
  readonly #idleFrames: FrameBudget;
  readonly #resets: FrameBudget;
  /** Streams that are open, or whose call still runs. */
  #streams = 0;
  /** Bytes of unanswered requests. */
  #runningBytes = 0;
  /** Memory of incomplete messages. */
  #roomBytes = 0;
  /** Bytes waiting for windows: of paced streams, and of others. */
  #pacedBytes = 0;
  #answerBytes = 0;
  #pacedWaiting = 0;
  /** Unread bytes reported so far. */
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

  // --- frames ---

  /** Charges frames that advance no request. Throws ProtocolError when the budget is used up. */
  idle(count: number): void {
    if (this.#idleFrames.spend(count)) return;
    throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many frames that carry nothing");
  }

  /** Charges a reset of a young stream. Throws ProtocolError when the budget is used up. */
  spendReset(): void {
    if (this.#resets.spend(1)) return;
    throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many resets");
  }

  /** Credits a complete request or message. */
  earn(): void {
    this.#idleFrames.earn(1);
  }

  earnData(bytes: number): void {
    this.#idleFrames.earn(bytes / earningBytes);
  }

  // --- streams and running requests ---

  get hasStream(): boolean {
    const { streamsPerConnectionMax, streamsMax, streamsReserved } = this.#limits;
    if (this.#streams >= streamsPerConnectionMax) return false;
    return this.#streams < streamsReserved || this.#load.streams < streamsMax;
  }

  streamOpened(): void {
    this.#streams++;
    this.#load.streams++;
  }

  /** A stream has ended and its call does not run any more. */
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

  /** Whether the requests of all connections have reached their limit and this connection has some of them. */
  get isServerBusy(): boolean {
    const { runningTotalBytesMax } = this.#limits;
    return this.#runningBytes > 0 && this.#load.runningBytes > runningTotalBytesMax;
  }

  /** @returns false when incomplete messages exceed their limit. */
  takeMessageRoom(change: number): boolean {
    this.#roomBytes += change;
    return this.#roomBytes <= this.#limits.messageRoomBytesMax;
  }

  // --- answers ---

  /** Number of paced streams with bytes that wait for windows. */
  get pacedWaiting(): number {
    return this.#pacedWaiting;
  }

  get isServerFull(): boolean {
    return this.#load.isUnreadFull;
  }

  /** Whether the peer's unread answers have reached the limit, so that new calls wait in `postpone`. */
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

  /** Changes the bytes that wait for windows. `turned`: the stream began or stopped waiting. */
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

  /** The peer has taken some of its answers. */
  taken(): void {
    if (this.#reported > 0) this.#takenMs = this.#clock.monotonicMs();
  }

  /** Reports a change of the unread bytes; this may end the connection. */
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
    // Each postponed call finds its stream closed and releases what it holds.
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
